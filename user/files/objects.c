/* SPDX-License-Identifier: Apache-2.0 */
/* files/objects.c - object id → descriptors. They stay open as long as the object exists: after the
 * loss of a worker, or of rows for lack of room, everything is rebuilt from them. */
#include "files/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/languages.h"
#include "files/row_wishes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/vec.h"
#include "client/openers.h"
#include "files/debug_search.h"
#include "files/file_time.h"
#include "files/object_shares.h"
#include "files/vdso.h"
#include "files/views.h"
#include "proc/opener.h"
#include "sampler/object_ids.h"
#include "sampler/sampler.h"
#include "unwind/publish.h"

#define FETCH_WAIT_NS (10 * NSEC_PER_SEC)
#define BUILD_ID_FETCHED_MIN 8 /* bytes; builds may share a shorter one */

struct objects {
	VEC(struct object *) all;
	struct hash by_id;
	struct hash by_file; /* hash of a file's key → index */
	struct objects_options options;
	struct openers *openers;
	struct views *views;
	struct debug_search search;
	uint64_t table_ns, eh_frame_bytes;
	size_t max;       /* at a time, as far as descriptors go */
	size_t forgotten; /* objects that are still in all */
	struct share places;
	struct file_time time;
	uint32_t hung; /* id of the latest; OBJECT_NONE: it was asked for */
	uint64_t buried, evicted;
	uint32_t second, next_retired; /* of the last objects_trim; when unused ones are sought */
};

DEFINE_CLEANUP(struct objects, objects_free)

static int put_object(struct objects *objects, struct object *object)
{
	struct object **slot = vec_add(&objects->all);

	if (!slot)
		return -ENOMEM;
	if (hash_put(&objects->by_id, object->id, objects->all.len - 1) < 0) {
		objects->all.len--;
		return -ENOMEM;
	}
	*slot = object;
	return 0;
}

struct object *objects_find(struct objects *objects, uint32_t id)
{
	uint64_t *at = hash_find(&objects->by_id, id);

	return at ? objects->all.data[*at] : NULL;
}

const struct object *objects_hung(struct objects *objects)
{
	const struct object *hung = objects->hung ? objects_find(objects, objects->hung) : NULL;

	objects->hung = OBJECT_NONE;
	return hung;
}

struct file_time *objects_time(struct objects *objects)
{
	return &objects->time;
}

struct object *objects_at(const struct objects *objects, size_t i)
{
	return i < objects->all.len ? objects->all.data[i] : NULL;
}

int objects_compile(struct objects *objects, uint32_t id)
{
	struct object *object = objects_find(objects, id);
	int err = -ENODATA;

	if (!object || object_is_forgotten(object))
		return -ENOENT;
	if (object->state == OBJECT_ASKED || object_may_come_again(object))
		return 0;
	if (object->state == OBJECT_OPENED)
		err = row_wishes_file(objects->options.worker, object);
	if (err == 0 && object->samples > 0)
		worker_client_want(objects->options.worker, object->id, object->samples,
			object->account);
	object->samples = 0;
	return err < 0 ? publish_none(objects->options.publish, &object->key, object->id) : 0;
}

/* The object of this very file, if it was met before; a key that collides is another file. */
static struct object *find_file(struct objects *objects, const struct object_key *key)
{
	const uint64_t *at = hash_find(&objects->by_file, hash_bytes(key, sizeof(*key)));
	struct object *object = at ? objects->all.data[*at] : NULL;

	return object && memcmp(&object->key, key, sizeof(*key)) == 0 ? object : NULL;
}

/* BPF sends the file again when somebody maps it. */
static void drop_published(struct objects *objects, const struct object_key *key, uint32_t id)
{
	const struct publish_object gone = { *key, id };

	publish_drop(objects->options.publish, &gone, 1);
}

static void on_root(void *ctx, uint64_t id, struct openers_answer *answer)
{
	struct objects *objects = ctx;
	struct object *object = objects_find(objects, (uint32_t)id);

	if (object)
		object->view = views_take(objects->views, TAKE_FD(answer->fd), 0);
}

/* When it fails because of this process, whoever else maps the file has BPF send it again. */
static void on_opened(void *ctx, uint64_t id, struct openers_answer *answer)
{
	struct objects *objects = ctx;
	struct object *object = objects_find(objects, (uint32_t)id);

	if (!object || object->state != OBJECT_ASKED) {
		openers_drop_copy(objects->openers, answer->account, answer->copied);
		return;
	}
	object_take(object, objects->openers, answer);
	objects->hung = object_is_hung(object) ? object->id : objects->hung;
	if (object_is_refused(object))
		object_shares_return(&objects->places, object);
	if (object_may_come_again(object) || objects_compile(objects, object->id) < 0)
		drop_published(objects, &object->key, object->id);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

#define CROWDED(max) ((max) - (max) / 8)
#define ROOMY(max) ((max) - (max) / 4)
#define IDLE_SECONDS 6     /* what was used later is in use: BPF notes it every few seconds */
#define UNUSED_SECONDS 300 /* whoever maps files not met for so long meets them again */
#define RETIRE_SECONDS 30
#define GIVEN_AT_ONCE(max) ((max) / 64 + 1)
#define TIGHT(max) ((max) - (max) / 20)

static void forget(struct objects *objects, struct object *object)
{
	uint64_t file = hash_bytes(&object->key, sizeof(object->key));
	uint64_t *at = hash_find(&objects->by_file, file);

	if (at && objects->all.data[*at] == object)
		hash_del(&objects->by_file, file);
	worker_client_drop(objects->options.worker, object->id);
	for (uint32_t set = 1; set <= object->sets.len; set++)
		worker_client_drop_names(objects->options.worker, objects_names_id(object, set));
	object_fail(object, OBJECT_FORGOTTEN);
	object_shares_return(&objects->places, object);
	debug_search_forget(&objects->search, object);
	objects->forgotten++;
}

/* Of those that are chosen, the first, so many at most. Their number. */
static size_t forget_some(
	struct objects *objects, object_choice_fn choose, uint32_t seconds, size_t max)
{
	_cleanup_(freep) struct object_idle *idle = calloc(objects->all.len + 1, sizeof(*idle));
	_cleanup_(freep) struct publish_object *gone = calloc(objects->all.len + 1, sizeof(*gone));
	const struct object_list list = { objects->all.data, objects->all.len, objects->second,
		seconds, objects->options.publish, &objects->places };
	size_t len;

	if (!idle || !gone)
		return 0;
	len = choose(&list, idle);
	len = len < max ? len : max;
	for (size_t i = 0; i < len; i++) {
		gone[i] = (struct publish_object){ idle[i].object->key, idle[i].object->id };
		forget(objects, idle[i].object);
	}
	if (len > 0)
		publish_drop(objects->options.publish, gone, len);
	return len;
}

/* Files without a place stay known to BPF only while it has room for those that have one. */
static void keep_room_in_bpf(struct objects *objects)
{
	if (objects->all.len - objects->forgotten > TIGHT(SAMPLER_OBJECTS_MAX))
		forget_some(objects, object_shares_refused, 0, SAMPLER_OBJECTS_MAX);
}

/* ---- files that are met ---------------------------------------------------------------------- */

static bool has_place(struct objects *objects, uint64_t account)
{
	if (objects->places.used < share_room(objects->max))
		return true;
	if (!share_may_take(&objects->places, account))
		return false;
	objects->evicted += forget_some(
		objects, object_shares_givers, 0, GIVEN_AT_ONCE(objects->max));
	return objects->places.used < objects->max;
}

/* OBJECT_REASONS_LEN: it has a place. */
static enum object_reason refusal_of(
	struct objects *objects, struct object *object, uint64_t account)
{
	if (file_time_refuses(&objects->time, account, clock_ns(CLOCK_MONOTONIC)))
		return OBJECT_TIME;
	return object->placed ||
			(has_place(objects, account) &&
				object_shares_charge(&objects->places, object, account) == 0)
		? OBJECT_REASONS_LEN
		: OBJECT_LIMIT;
}

/* Has the file opened where this process maps it. */
static void open_file(struct objects *objects, struct object *object,
	const struct event_object *event, uint64_t account)
{
	const struct opener_process process = { (pid_t)event->tgid, event->start_ns };
	const enum object_reason refusal = refusal_of(objects, object, account);

	if (refusal != OBJECT_REASONS_LEN) {
		object_fail(object, refusal);
		object_ids_refuse(objects->options.sampler, event->cgroup,
			refusal == OBJECT_TIME ? FILE_TIME_REFUSED_SECONDS : 1);
		return;
	}
	file_time_charge(&objects->time, account, FILE_TIME_OPEN_NS);
	object->state = OBJECT_ASKED;
	openers_root(
		objects->openers, &process, event, account, on_root, objects, object->id);
	openers_mapped(objects->openers, event, account, on_opened, objects, object->id);
}

static int add_new(struct objects *objects, const struct event_object *event, uint64_t account)
{
	_cleanup_(object_freep) struct object *object = object_meet(event, objects->second);
	int err = object ? put_object(objects, object) : -ENOMEM;
	struct object *new;

	if (err < 0)
		return err;
	new = TAKE_PTR(object);
	err = hash_put(&objects->by_file, hash_bytes(&event->key, sizeof(event->key)),
		objects->all.len - 1);
	if (err < 0)
		object_fail(new, OBJECT_LIMIT);
	else
		open_file(objects, new, event, account);
	return err;
}

static bool is_same_file(struct objects *objects, const struct event_object *event)
{
	const struct object *object = objects_find(objects, event->id);

	return memcmp(&object->key, &event->key, sizeof(event->key)) == 0;
}

/* BPF gives no id again that was not given back; should it be in use, whoever has it keeps it. */
static int refuse_id(struct objects *objects, const struct event_object *event)
{
	drop_published(objects, &event->key, OBJECT_NONE);
	return -EEXIST;
}

int objects_add(struct objects *objects, const struct event_object *event, uint64_t account)
{
	struct object *object;
	int err;

	keep_room_in_bpf(objects);
	object = find_file(objects, &event->key);
	if (hash_find(&objects->by_id, event->id))
		return is_same_file(objects, event) ? 0 : refuse_id(objects, event);
	if (!object) {
		err = add_new(objects, event, account);
	} else {
		/* Sent again: both ids are this file. */
		object_meet_again(object, event, objects->second);
		err = hash_put(&objects->by_id, event->id, *hash_find(&objects->by_id, object->id));
		if (err == 0 && object->state == OBJECT_FAILED)
			open_file(objects, object, event, account);
	}
	if (err == 0)
		return objects_compile(objects, event->id);
	drop_published(objects, &event->key, event->id);
	return err;
}

/* ---- what a worker found ------------------------------------------------------------------- */

static void consider_fetching(struct objects *objects, struct object *object)
{
	if (!objects->options.fetch || !object->wanted || !object->known || object->fetching ||
		object->build_id.len < BUILD_ID_FETCHED_MIN || object->sets.len > 0 ||
		!debug_search_needs(&objects->search, object))
		return;
	object->fetching = true;
	fetch_ask(objects->options.fetch, object->id, &object->build_id);
}

static void learn(struct objects *objects, struct object *object, const struct worker_rows *rows)
{
	if (rows->pages_len > 0) /* the file was identified before */
		return;
	object_learn(object, rows);
	languages_describe(objects->options.languages, object, rows);
	debug_search_common(&objects->search, object);
	debug_search_meet(&objects->search, object, object->view);
	consider_fetching(objects, object);
}

void objects_sampled(struct objects *objects, const uint64_t *frames, size_t len)
{
	for (size_t i = 0; objects->options.fetch && i < len; i++) {
		uint64_t payload = frames[i] & FRAME_PAYLOAD_MASK;
		struct object *object = FRAME_KIND(frames[i]) == FRAME_FILE
			? objects_find(objects, (uint32_t)(payload >> FRAME_OBJECT_SHIFT))
			: NULL;

		if (!object || object->wanted)
			continue;
		object->wanted = true;
		consider_fetching(objects, object);
	}
}

void objects_await_fetched(struct objects *objects)
{
	if (objects->options.fetch)
		fetch_await(objects->options.fetch, clock_ns(CLOCK_MONOTONIC) + FETCH_WAIT_NS);
}

static void on_fetched(void *ctx, uint64_t id, int fd, enum fetch_reason reason, const char *url)
{
	struct objects *objects = ctx;
	struct object *object = objects_find(objects, (uint32_t)id);
	_cleanup_fd_ int owned = fd;

	(void)reason;
	if (fd < 0 || !object)
		return;
	debug_files_add(&object->debug_files, url, TAKE_FD(owned));
	for (uint32_t set = 0; set <= object->sets.len; set++)
		worker_client_drop_names(objects->options.worker, objects_names_id(object, set));
}

bool objects_meet_view(struct objects *objects, const struct event_task *event, uint64_t account)
{
	const struct opener_process process = { (pid_t)event->key.tgid, event->key.start_ns };

	return views_meet(objects->views, &event->view, &process, account);
}

uint32_t objects_view(struct objects *objects, const struct file_view *view)
{
	return views_find(objects->views, view);
}

bool objects_by_view(const struct objects *objects, const struct object *object)
{
	return debug_search_by_view(&objects->search, object);
}

uint32_t objects_set(struct objects *objects, struct object *object, uint32_t view)
{
	return debug_search_set(&objects->search, object, view);
}

int objects_open_part(struct objects *objects, const struct object *object, uint32_t set,
	const struct debug_part *part)
{
	return debug_search_part(&objects->search, object, set, part);
}

void objects_want(struct objects *objects, uint32_t id, uint64_t account)
{
	struct object *object = objects_find(objects, id);

	if (!object)
		return;
	if (object->state == OBJECT_ASKED) {
		object->samples++;
		object->account = account;
		openers_want(objects->openers, objects, object->id);
	} else {
		worker_client_want(objects->options.worker, object->id, 1, account);
	}
}

static void take_rows(
	struct objects *objects, struct object *object, const struct worker_rows *rows)
{
	if (rows->status == WORKER_OK)
		learn(objects, object, rows);
	else
		object_refuse(object, rows->status);
	if (!rows->rows)
		publish_none(objects->options.publish, &object->key, object->id);
	else if (publish_rows(objects->options.publish, &object->key, object->id, rows->rows) == 0)
		row_wishes_few(objects->options.worker, object, rows->rows);
}

void objects_on_rows(struct objects *objects, const struct worker_rows *rows)
{
	struct object *object = objects_find(objects, (uint32_t)rows->id);
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!object || object_is_forgotten(object))
		return;
	objects->table_ns += rows->ns;
	objects->eh_frame_bytes += rows->eh_frame_bytes;
	if (!row_wishes_table(objects->options.worker, object, rows))
		take_rows(objects, object, rows);
	file_time_charge(&objects->time, object->payer,
		rows->ns + clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
}

/* ---- room for others ----------------------------------------------------------------------- */

bool objects_lack_descriptors(const struct objects *objects)
{
	return objects->max < SAMPLER_OBJECTS_MAX &&
		object_shares_count(objects->all.data, objects->all.len, object_lacks_place) > 0;
}

bool objects_trim(struct objects *objects, uint32_t second)
{
	size_t refused = object_shares_count(objects->all.data, objects->all.len, object_waits),
	       live = objects->all.len - objects->forgotten - refused;

	objects->second = second;
	if (live >= CROWDED(objects->max))
		forget_some(objects, object_shares_idle, IDLE_SECONDS, live - ROOMY(objects->max));
	else if (refused > 0)
		forget_some(objects, object_shares_refused, 0, CROWDED(objects->max) - live);
	keep_room_in_bpf(objects);
	return live >= CROWDED(objects->max) || refused > 0;
}

/* Both tables anew, since the places in objects->all change. */
static int move_down(struct objects *objects)
{
	_cleanup_(hash_done) struct hash by_id = HASH_INIT, by_file = HASH_INIT;
	_cleanup_(freep) size_t *places = calloc(objects->all.len, sizeof(*places));
	size_t len = 0;
	int err = places ? 0 : -ENOMEM;

	for (size_t i = 0; i < objects->all.len && places; i++)
		places[i] = object_is_forgotten(objects->all.data[i]) ? SIZE_MAX : len++;
	hash_each (&objects->by_id, slot)
		if (err == 0 && places[slot->value] != SIZE_MAX)
			err = hash_put(&by_id, slot->key, places[slot->value]);
	hash_each (&objects->by_file, slot)
		if (err == 0 && places[slot->value] != SIZE_MAX)
			err = hash_put(&by_file, slot->key, places[slot->value]);
	if (err < 0)
		return err;
	hash_each (&objects->by_id, slot)
		if (places[slot->value] == SIZE_MAX)
			object_ids_give(objects->options.sampler, (uint32_t)slot->key);
	for (size_t i = 0; i < objects->all.len; i++) {
		if (places[i] == SIZE_MAX)
			object_free(objects->all.data[i]);
		else
			objects->all.data[places[i]] = objects->all.data[i];
	}
	objects->all.len = len;
	hash_done(&objects->by_id);
	objects->by_id = by_id;
	by_id = (struct hash)HASH_INIT;
	hash_done(&objects->by_file);
	objects->by_file = by_file;
	by_file = (struct hash)HASH_INIT;
	return 0;
}

static void retire(struct objects *objects)
{
	if (objects->second < objects->next_retired)
		return;
	objects->next_retired = objects->second + RETIRE_SECONDS;
	forget_some(objects, object_shares_unused, UNUSED_SECONDS, SIZE_MAX);
}

void objects_bury(struct objects *objects)
{
	if (objects->forgotten > 0) {
		if (move_down(objects) < 0)
			return;
		objects->buried += objects->forgotten;
		objects->forgotten = 0;
	}
	retire(objects);
	share_clear(&objects->search.searched);
	views_next(objects->views);
}

/* ---- life ---------------------------------------------------------------------------------- */

static int add_vdso(struct objects *objects)
{
	_cleanup_(object_freep) struct object *vdso = object_new(OBJECT_VDSO, "[vdso]");
	int err = vdso ? put_object(objects, vdso) : -ENOMEM;

	if (err < 0)
		return err;
	if (vdso_copy(&vdso->fd) < 0)
		object_fail(vdso, OBJECT_GONE);
	return objects_compile(objects, TAKE_PTR(vdso)->id);
}

int objects_new(const struct objects_options *options, struct objects **out, struct why *why)
{
	_cleanup_(objects_freep) struct objects *objects = calloc(1, sizeof(*objects));
	int err;

	if (!objects)
		return why_set(why, -ENOMEM, "out of memory");
	objects->options = *options;
	objects->max = object_places();
	objects->openers = worker_client_openers(options->worker);
	openers_compare(objects->openers, options->sampler);
	err = views_new(options->sampler, objects->openers, &objects->views);
	if (err < 0)
		return why_set(why, err, "cannot open the root folder: %s", err_text(err));
	objects->search = (struct debug_search){ .sampler = options->sampler,
		.views = objects->views,
		.call = worker_client_call(options->worker),
		.lines = options->lines,
		.fds_max = objects->max };
	if (options->fetch)
		fetch_listen(options->fetch, on_fetched, objects);
	err = debug_search_open_dirs(
		&objects->search, options->debug_dirs, options->debug_dirs_len, why);
	if (err < 0)
		return err;
	err = add_vdso(objects);
	if (err < 0)
		return why_set(why, err, "out of memory");
	*out = TAKE_PTR(objects);
	return 0;
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	vec_each (&objects->all, object)
		object_free(*object);
	vec_done(&objects->all);
	hash_done(&objects->by_id);
	hash_done(&objects->by_file);
	share_done(&objects->places);
	file_time_done(&objects->time);
	debug_search_done(&objects->search);
	views_free(objects->views);
	free(objects);
}

void objects_stats(const struct objects *objects, struct objects_stats *out)
{
	*out = (struct objects_stats){
		.met = objects->buried,
		.forgotten = objects->buried + objects->forgotten,
		.evicted = objects->evicted,
		.late = objects->time.refused,
		.table_ns = objects->table_ns,
		.eh_frame_bytes = objects->eh_frame_bytes,
	};
	if (objects->options.fetch)
		fetch_stats(objects->options.fetch, &out->fetch);
	out->debug_unread[FILE_LIMIT] += views_refused(objects->views);
	vec_each (&objects->all, object) {
		out->met += (*object)->id != OBJECT_VDSO;
		if ((*object)->state == OBJECT_FAILED)
			out->failed[(*object)->reason]++;
		object_count_debug_files(*object, &out->debug_found, &out->debug_used,
			out->debug_refused, out->debug_unread);
	}
}
