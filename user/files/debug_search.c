/* SPDX-License-Identifier: Apache-2.0 */
/* files/debug_search.c - a root is searched once for an object, and only by its build ID if the
 * object's path leads to another file there: the path is that of who mapped it first, who may have
 * chosen it. */
#include "files/debug_search.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "client/opener_call.h"
#include "files/views.h"
#include "wire/status.h"
#include "sampler/file_key.h"

#define ROOTS_MAX (2 + DEBUG_DIRS_MAX)
#define SETS_MAX 32   /* of an object */
#define SEEN_MAX 1024 /* roots of an object; at more it forgets where it was searched */

int debug_search_open_dirs(
	struct debug_search *search, const char *const *dirs, size_t dirs_len, struct why *why)
{
	return debug_files_open_dirs(dirs, dirs_len, search->dir_fds, &search->dirs_len, why);
}

void debug_search_done(struct debug_search *search)
{
	for (size_t i = 0; i < search->dirs_len; i++)
		fd_close(&search->dir_fds[i]);
	search->dirs_len = 0;
	share_done(&search->searched);
}

/* ---- for everybody -------------------------------------------------------------------------- */

static size_t list_common(const struct debug_search *search, struct debug_root out[ROOTS_MAX])
{
	size_t len = 0;

	out[len++] = (struct debug_root){ .kind = DEBUG_ROOT_OWN,
		.fd = views_root(search->views, VIEWS_OWN),
		.blamed = views_blamed(search->views, VIEWS_OWN) };
	for (size_t i = 0; i < search->dirs_len; i++)
		out[len++] = (struct debug_root){ .kind = DEBUG_ROOT_DIR,
			.fd = search->dir_fds[i],
			.blamed = (uint64_t)search->dir_fds[i] };
	return len;
}

static const char *path_of(const struct object *object)
{
	return object->path ? object->path : "";
}

static struct debug_file_query query_of(const struct object *object, const char *path)
{
	struct debug_file_query query = {
		.path = path,
		.build_id = object->build_id,
	};

	if (object->link)
		strncpy(query.link.name, object->link, sizeof(query.link.name) - 1);
	return query;
}

void debug_search_common(struct debug_search *search, struct object *object)
{
	const struct debug_file_query query = query_of(object, path_of(object));
	struct debug_root roots[ROOTS_MAX];

	if (object->debug_files.len == 0)
		debug_files_open(&object->debug_files, search->call, &query, roots,
			list_common(search, roots));
}

bool debug_search_needs(const struct debug_search *search, const struct object *object)
{
	uint32_t enough = search->lines ? WORKER_HAS_LINES : WORKER_HAS_SYMBOLS;

	for (size_t i = 0; i < object->debug_files.len; i++)
		if (object->debug_files.fates[i] <= WORKER_DEBUG_USED)
			return false;
	return !(object->contents & enough) && object->id != OBJECT_VDSO;
}

/* ---- for those with one root ---------------------------------------------------------------- */

/* Lines may be in further files, whose places the object names. */
static bool has_parts(const struct debug_search *search, const struct object *object)
{
	return search->lines && (object->contents & WORKER_HAS_LINES);
}

static bool wants_search(const struct debug_search *search, const struct object *object)
{
	return object->known && (has_parts(search, object) || debug_search_needs(search, object));
}

bool debug_search_by_view(const struct debug_search *search, const struct object *object)
{
	return object->sets.len > 0 || wants_search(search, object);
}

/* The object's path below this root. In a chroot it is known as it is seen from our root. */
static const char *path_below(int root_fd, const struct object *object)
{
	char link[64], root[PATH_MAX];
	const char *path = path_of(object);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", root_fd);
	len = readlink(link, root, sizeof(root));
	if (len > 1 && strncmp(path, root, (size_t)len) == 0 && path[len] == '/')
		return path + len;
	return path;
}

/* The root, for a search by all that is allowed in it. */
static struct debug_root root_of(
	const struct debug_search *search, const struct object *object, uint32_t view)
{
	struct debug_root root = {
		.kind = DEBUG_ROOT_BUILD_ID,
		.fd = views_root(search->views, view),
		.blamed = views_blamed(search->views, view),
	};
	/* Who may put a link to the object into a folder could put a debug file beside it. */
	struct opener_place place = { .rule = OPENING_ITSELF, .blamed = root.blamed };
	struct opener_paths paths = { .len = 0 };
	struct opener_found there;
	uint32_t at = 0;

	if (root.fd < 0 || path_of(object)[0] != '/' || object->fd < 0)
		return root;
	root.uid = place.uid = object->uid;
	place.fd = root.fd;
	opener_paths_add(&paths, path_below(root.fd, object));
	if (opener_call_files(search->call, &place, &paths, &at, &there) < 0)
		return root;
	if (file_key_compare(search->sampler, there.fd, &object->key) == 0)
		root.kind = DEBUG_ROOT_TARGET;
	fd_close(&there.fd);
	return root;
}

/* By the kernel's inodes: layers that containers share have other numbers in each of them. */
static uint64_t key_of(const struct debug_search *search, const struct debug_files *files)
{
	struct object_key keys[DEBUG_FILES_MAX] = { 0 };

	for (size_t i = 0; i < files->len; i++)
		if (file_key_read(search->sampler, files->fds[i], &keys[i]) < 0)
			return 0;
	return hash_bytes(keys, files->len * sizeof(*keys));
}

static struct object_set *find_set(struct object *object, uint64_t key)
{
	vec_each (&object->sets, set)
		if (key && set->key == key)
			return set;
	return NULL;
}

static bool has_room(const struct debug_search *search, const struct object *object,
	const struct object_set *new)
{
	return object->sets.len < SETS_MAX && search->fds + new->files.len <= search->fds_max;
}

/* Takes the files. The set's number, or 0. */
static uint32_t keep(struct debug_search *search, struct object *object, struct object_set *new)
{
	struct object_set *set = find_set(object, new->key);

	if (set) {
		debug_files_close(&new->files);
		return (uint32_t)(set - object->sets.data) + 1;
	}
	set = has_room(search, object, new) ? vec_add(&object->sets) : NULL;
	if (!set) {
		object->debug_files.unread[FILE_LIMIT] += (uint32_t) new->files.len;
		debug_files_close(&new->files);
		return 0;
	}
	search->fds += new->files.len;
	*set = *new;
	return (uint32_t)object->sets.len;
}

static uint32_t search_root(struct debug_search *search, struct object *object, uint32_t view)
{
	const struct debug_root root = root_of(search, object, view);
	const struct debug_file_query query = query_of(object, path_below(root.fd, object));
	struct object_set set = { .view = view };

	if (root.fd < 0)
		return 0;
	debug_files_open(&set.files, search->call, &query, &root, 1);
	debug_files_drop_known(&set.files, &object->debug_files);
	for (size_t i = 0; i < FILE_REASONS_LEN; i++)
		object->debug_files.unread[i] += set.files.unread[i];
	if (set.files.len > 0)
		set.key = key_of(search, &set.files);
	return set.files.len > 0 || has_parts(search, object) ? keep(search, object, &set) : 0;
}

void debug_search_meet(struct debug_search *search, struct object *object, uint32_t view)
{
	if (view == VIEWS_NONE || hash_find(&object->seen, view))
		return;
	if (object->seen.len >= SEEN_MAX)
		hash_clear(&object->seen);
	hash_put(&object->seen, view, search_root(search, object, view));
}

/* False: it has to wait for the next interval. */
static bool has_turn(struct debug_search *search, struct object *object, uint32_t view)
{
	uint64_t account = views_blamed(search->views, view);
	bool yes = !share_refuses(&search->searched, account, 1, DEBUG_SEARCHES_MAX) &&
		share_charge(&search->searched, account, 1) == 0;

	object->debug_files.unread[FILE_LATE] += !yes;
	return yes;
}

uint32_t debug_search_set(struct debug_search *search, struct object *object, uint32_t view)
{
	uint64_t *known = view == VIEWS_NONE ? NULL : hash_find(&object->seen, view);

	if (known)
		return (uint32_t)*known;
	if (view == VIEWS_NONE || !wants_search(search, object) ||
		!has_turn(search, object, view))
		return 0;
	debug_search_meet(search, object, view);
	known = hash_find(&object->seen, view);
	return known ? (uint32_t)*known : 0;
}

int debug_search_part(struct debug_search *search, const struct object *object, uint32_t set,
	const struct debug_part *part)
{
	struct debug_root roots[ROOTS_MAX];
	size_t len = list_common(search, roots);

	if (set > 0 && set <= object->sets.len)
		roots[len++] = root_of(search, object, object->sets.data[set - 1].view);
	return debug_files_open_part(search->call, part, path_of(object), roots, len);
}

void debug_search_forget(struct debug_search *search, struct object *object)
{
	vec_each (&object->sets, set)
		search->fds -= set->files.len;
	object_drop_debug_files(object);
}
