/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container.c - looks for a container's state files at once, because a runtime writes
 * them before it makes the cgroup, and then at growing intervals. */
#include "containers/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "cgroup/state_path.h"
#include "cgroup/tree.h"
#include "proc/status.h"

#define RETRY_FIRST_NS (5 * NSEC_PER_MSEC)
#define RETRY_MAX_NS (4 * NSEC_PER_SEC)
#define RETRY_LATE_NS (100 * NSEC_PER_MSEC) /* where it is the worker's fault */
#define RETRIES_MAX 9
#define PROC_BYTES_MAX 65536
#define ID_DIGITS 64
#define SHORT_ID 12
#define UNIFIED "0::" /* the hierarchy of cgroup v2, which samples are of */

size_t container_part(const char *path, const struct cgroup_identity *id)
{
	struct state_path place;
	char name[CGROUP_NAME_MAX];

	if (cgroup_is_container(id->kind))
		return id->container_len;
	return id->kind == CGROUP_OTHER && state_path_of_other(path, name, &place) ? strlen(path)
										   : 0;
}

static bool is_container(const struct cgroup_identity *id)
{
	return cgroup_is_container(id->kind);
}

size_t container_outermost(const char *path, struct cgroup_identity *id)
{
	return cgroup_identify_until(path, is_container, id);
}

const char *container_short_id(const char *id, char out[CGROUP_NAME_MAX])
{
	size_t len = strlen(id);

	snprintf(out, CGROUP_NAME_MAX, "%.*s",
		len == ID_DIGITS && strspn(id, "0123456789abcdef") == len ? SHORT_ID : (int)len,
		id);
	return out;
}

/* Does the end of this path pay for all below it? */
static bool pays(const struct cgroup_identity *id)
{
	return id->has_user || cgroup_is_container(id->kind) || id->kind == CGROUP_SERVICE ||
		id->kind == CGROUP_SCOPE || id->kind == CGROUP_SESSION;
}

/* Length of the part of the path that pays for all below it, and who it is. *known: it does; else
 * nobody knows what is below, and it is the first part. */
static size_t find_payer(const char *path, struct cgroup_identity *id, bool *known)
{
	size_t len = cgroup_identify_until(path, pays, id);

	*known = len > 0;
	return len > 0 || !path[0] ? len : 1 + strcspn(path + 1, "/");
}

static uint64_t find_account(const char *path, bool *known)
{
	struct cgroup_identity id = { 0 };
	size_t len = find_payer(path, &id, known);

	return *known && id.has_user ? hash_mix(id.user + 1) : hash_bytes(path, len);
}

bool container_is_outermost(const char *path)
{
	struct cgroup_identity id;
	bool known = false;
	size_t len = find_payer(path, &id, &known);

	return len > 0 && !path[len];
}

uint64_t container_account(const char *path)
{
	bool known = false;

	return find_account(path, &known);
}

/* A process in another cgroup namespace: the path leads up to ours. */
static char *without_dots(char *path)
{
	while (strncmp(path, "/..", 3) == 0)
		path += 3;
	return path;
}

uint64_t container_account_in(char *text)
{
	uint64_t account = container_account("/");
	char *save = NULL;
	bool any = false;

	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		char *path = strstr(at, ":/"); /* NUMBER:CONTROLLERS:PATH */
		uint64_t found;
		bool known = false;

		path = path ? without_dots(path + 1) : NULL;
		if (!path || path[0] != '/' || !path[1])
			continue;
		found = find_account(path, &known);
		if (known)
			return found;
		account = any && strncmp(at, UNIFIED, strlen(UNIFIED)) != 0 ? account : found;
		any = true;
	}
	return account;
}

uint64_t container_account_of(pid_t process)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", process);
	err = fd_read_path(path, PROC_BYTES_MAX, &text);
	if (err == 0)
		err = buf_putc(&text, '\0');
	return err < 0 ? 0 : container_account_in(text.data);
}

/* A pod below a container or a user is another than the host's of the same uid. */
uint64_t container_pod(const struct container *c)
{
	struct cgroup_identity id;
	uint64_t pod;

	cgroup_identify(c->path, &id);
	if (id.pod_uid[0] == '\0')
		return 0;
	pod = hash_bytes(id.pod_uid, strlen(id.pod_uid));
	return id.pod_nested ? hash_mix(pod ^ c->account) : pod;
}

struct container *container_new(const char *path, size_t len, uint64_t serial)
{
	struct container *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->path = strndup(path, len);
	c->serial = serial;
	if (!c->path) {
		free(c);
		return NULL;
	}
	c->account = container_account(c->path);
	return c;
}

void container_free(struct container *c)
{
	if (!c)
		return;
	free(c->path);
	free(c->name);
	free(c->image);
	free(c->pod);
	free(c->namespace_);
	free(c->labels);
	free(c);
}

static char *copy_text(const char *text)
{
	return text[0] ? strdup(text) : NULL;
}

static void take_facts(struct container *c, const struct state_facts *facts)
{
	c->found = true;
	c->pause = facts->pause;
	c->name = copy_text(facts->name);
	c->image = copy_text(facts->image);
	c->pod = copy_text(facts->pod);
	c->namespace_ = copy_text(facts->namespace_);
	c->labels = facts->labels_len ? malloc(facts->labels_len) : NULL;
	if (c->labels) {
		memcpy(c->labels, facts->labels, facts->labels_len);
		c->labels_len = facts->labels_len;
	}
}

bool container_find_name(struct container *c, struct container_state *state,
	const struct cgroup_tree *tree, uint64_t now_ns, uint64_t until_ns)
{
	_cleanup_fd_ int cgroup_fd = -1;
	struct cgroup_identity id;
	struct state_facts facts;
	uint64_t pause_ns = RETRY_FIRST_NS << (2 * (c->tries < 5 ? c->tries : 5));
	struct container_state_query query = {
		.id = c->serial,
		.identity = &id,
		.path = c->path,
		.cgroup_fd = -1,
		.until_ns = until_ns,
	};
	enum container_state_result result;

	if (tree && cgroup_tree_open_id(tree, c->cgroup, &cgroup_fd) == 0)
		query.cgroup_fd = cgroup_fd;
	cgroup_identify(c->path, &id);
	result = container_state_read(state, &query, &facts);
	if (result == CONTAINER_STATE_FOUND)
		take_facts(c, &facts);
	if (result == CONTAINER_STATE_LATER) {
		c->next_ns = now_ns + RETRY_LATE_NS;
		return true;
	}
	/* A cgroup that may be no container is looked up twice only. */
	c->tries += id.kind == CGROUP_OTHER ? (RETRIES_MAX + 1) / 2 : 1;
	c->next_ns = now_ns + (pause_ns < RETRY_MAX_NS ? pause_ns : RETRY_MAX_NS);
	return result != CONTAINER_STATE_FOUND && c->tries < RETRIES_MAX;
}

static void set_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

const struct state_facts *container_facts(const struct container *c, struct state_facts *f)
{
	if (!c || !c->found)
		return NULL;
	*f = (struct state_facts){ .pause = c->pause, .labels_len = c->labels_len };
	set_text(f->name, sizeof(f->name), c->name);
	set_text(f->image, sizeof(f->image), c->image);
	set_text(f->pod, sizeof(f->pod), c->pod);
	set_text(f->namespace_, sizeof(f->namespace_), c->namespace_);
	if (c->labels)
		memcpy(f->labels, c->labels, c->labels_len);
	return f;
}

int container_path_by_process(uint64_t cgroup, uint32_t tgid, char path[CGROUP_TREE_PATH_MAX])
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char file[64];
	char *up;
	int err;

	if (cgroup >> CGROUP_HIERARCHY_SHIFT != 0)
		return -ENOENT;
	snprintf(file, sizeof(file), "/proc/%u/cgroup", tgid);
	err = fd_read_path(file, PROC_BYTES_MAX, &text);
	if (err == 0)
		err = buf_putc(&text, '\0');
	if (err == 0)
		err = status_parse_cgroup(text.data, path, CGROUP_TREE_PATH_MAX);
	if (err < 0)
		return err;
	up = without_dots(path);
	memmove(path, up, strlen(up) + 1);
	return path[0] == '/' && path[1] ? 0 : -ENOENT;
}
