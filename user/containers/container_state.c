/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_state.c - tries the usual places first, which only root can write. Then it
 * uses the process that manages the container, its first process's parent: a containerd-shim's
 * working folder is the bundle, a conmon has name and bundle in its command line. An opener copies
 * regular files of limited size, which must belong to root or to the owner of the container's user
 * slice. It also looks at working folder and command line: a process chooses the one, and may keep
 * the lock of the other. Files of /proc that only the kernel answers are read here. */
#include "containers/container_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "proc/opener.h"
#include "proc/pid_namespace.h"
#include "proc/status.h"
#include "client/client.h"
#include "containers/inquiry.h"
#include "client/opener_call.h"
#include "client/state.h"
#include "containers/container.h"

#define NAMES_BYTES_MAX 4096 /* of namespaces; further ones are not looked into */
#define PROC_BYTES_MAX 65536
#define INQUIRY_NS (500 * NSEC_PER_MSEC)

int container_state_init(struct container_state *state, struct worker_client *worker)
{
	const struct opener_process init = { .pid = 1 };
	int err;

	*state = (struct container_state){ .worker = worker, .root_fd = -1 };
	/* In a pid namespace of its own, as in a container, process 1 is nobody to be believed. */
	err = pid_namespace_is_host() ? opener_root(&init, &state->root_fd) : -EPERM;
	if (err == 0)
		return 0;
	state->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return state->root_fd < 0 ? -errno : 0;
}

void container_state_done(struct container_state *state)
{
	fd_close(&state->root_fd);
}

/* ---- one file -------------------------------------------------------------------------------- */

struct reading {
	struct container_state *state;
	const struct container_state_query *query;
	const char *container; /* id of the container */
	struct state_facts *facts;
	bool late;
};

static void count_unread(struct reading *r, int err)
{
	int reason = opener_reason(err);

	if (reason >= 0)
		r->state->stats.unread[reason]++;
}

static uid_t owner_of(const struct reading *r)
{
	const struct cgroup_identity *id = r->query->identity;

	return id->has_user ? id->user : 0;
}

static struct opener_call *opener_of(const struct reading *r)
{
	return worker_client_call(r->state->worker);
}

/* The file system may be of who is blamed. */
static struct opener_place place_at(const struct reading *r, int folder_fd)
{
	return (struct opener_place){
		.fd = folder_fd,
		.rule = OPENING_ANY,
		.how = OPENING_COPY,
		.bytes_max = STATE_BYTES_MAX,
		.blamed = container_account(r->query->path),
		.blamed_uid = owner_of(r),
	};
}

/* A copy of a file of the user whose container it is, else of root: a user may name a cgroup of his
 * own after root's container. */
static int open_copy(struct reading *r, int folder_fd, const char *path, int *fd)
{
	const struct opener_place place = place_at(r, folder_fd);
	struct opener_paths paths = { .len = 0 };
	struct opener_found found = { .fd = -1 };
	uint32_t at = 0;
	int err = opener_paths_add(&paths, path);

	if (err == 0)
		err = opener_call_files(opener_of(r), &place, &paths, &at, &found);
	r->late |= err == -EAGAIN;
	if (err == 0 && found.uid != owner_of(r)) {
		fd_close(&found.fd);
		return -EPERM;
	}
	if (err == 0)
		*fd = found.fd;
	return err == -EAGAIN ? -ENOENT : err;
}

/* True: it said something; facts are what it said. */
static bool ask(
	struct reading *r, int fd, const struct state_path *place, struct state_facts *facts)
{
	struct state_query query = { .kind = place->kind, .runtime = place->runtime };
	const struct worker_state state = {
		.id = r->query->id,
		.fd = fd,
		.query = &query,
		.until_ns = r->query->until_ns,
	};
	enum worker_status status;

	snprintf(query.container, sizeof(query.container), "%s", r->container);
	snprintf(query.pod_uid, sizeof(query.pod_uid), "%s", r->query->identity->pod_uid);
	status = worker_client_state(r->state->worker, &state, facts);
	switch (status) {
	case WORKER_OK:
		r->state->stats.read++;
		r->state->stats.other_pod += facts->other_pod;
		return true;
	case WORKER_UNKNOWN: /* of others, or not yet of this one */
		return false;
	case WORKER_LATE:
	case WORKER_DOWN:
		r->late = true;
		r->state->stats.failed++;
		return false;
	case WORKER_REFUSED:
	case WORKER_MEMORY:
		r->state->stats.failed++;
		return false;
	case WORKER_TOO_LARGE:
		count_unread(r, -EFBIG);
		return false;
	default:
		r->state->stats.damaged++;
		return false;
	}
}

/* The file that one that was read leads to, if there is one. */
static bool read_further(struct reading *r, struct state_path *place, struct state_facts *facts)
{
	const struct state_facts from = *facts;
	struct state_path further;

	for (unsigned int i = 0; state_path_further(&from, place->kind, i, &further); i++) {
		_cleanup_fd_ int fd = -1;

		if (further.kind == STATE_OCI)
			further.runtime = state_path_of_storage(r->query->identity->kind);
		if (open_copy(r, r->state->root_fd, further.path, &fd) < 0 ||
			!ask(r, fd, &further, facts))
			continue;
		*place = further;
		return true;
	}
	return false;
}

/* Only kind and runtime of the place are used. */
static bool read_fd(struct reading *r, int fd, const struct state_path *first)
{
	struct state_path place = *first;
	struct state_facts facts;

	if (!ask(r, fd, &place, &facts))
		return false;
	/* Each kind leads to others only: there is an end. */
	do
		state_facts_merge(r->facts, &facts);
	while (read_further(r, &place, &facts));
	return true;
}

static bool read_path(
	struct reading *r, int root_fd, const char *path, const struct state_path *place)
{
	_cleanup_fd_ int fd = -1;
	int err = open_copy(r, root_fd, path, &fd);

	if (err == 0)
		return read_fd(r, fd, place);
	count_unread(r, err);
	return false;
}

/* ---- the usual places ------------------------------------------------------------------------ */

static bool read_namespaces(struct reading *r, struct state_path *place)
{
	struct opener_place folder = place_at(r, r->state->root_fd);
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	int err;

	folder.bytes_max = NAMES_BYTES_MAX;
	err = opener_call_list(opener_of(r), &folder, place->path, &names);
	r->late |= err == -EAGAIN;
	for (size_t at = 0; err == 0 && at < names.len; at += strlen(names.data + at) + 1) {
		const char *name = names.data + at;
		char path[PATH_MAX];

		place->runtime = state_path_of_namespace(name);
		if (name[0] != '.' &&
			snprintf(path, sizeof(path), "%s/%s/%s", place->path, name, place->below) <
				(int)sizeof(path) &&
			read_path(r, r->state->root_fd, path, place))
			return true;
	}
	return false;
}

static bool read_places(struct reading *r)
{
	const struct container_state_query *q = r->query;
	struct state_path place;

	for (unsigned int i = 0; state_path_candidate(q->identity, i, &place); i++)
		if (place.below[0] ? read_namespaces(r, &place)
				   : read_path(r, r->state->root_fd, place.path, &place))
			return true;
	return false;
}

/* ---- by the process that watches over it ------------------------------------------------------
 */

static int read_at(int dir_fd, const char *name, struct buf *out)
{
	_cleanup_fd_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : fd_read_all(fd, PROC_BYTES_MAX, out);

	return err < 0 ? err : buf_putc(out, '\0');
}

/* The first process of the cgroup, or 0. */
static pid_t first_process(int cgroup_fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	return read_at(cgroup_fd, "cgroup.procs", &text) < 0 ? 0
							     : (pid_t)strtol(text.data, NULL, 10);
}

static pid_t parent_of(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	pid_t parent;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return fd_read_path(path, PROC_BYTES_MAX, &text) == 0 && buf_putc(&text, '\0') == 0 &&
			status_parse_parent(text.data, &parent) == 0
		? parent
		: 0;
}

/* Not by the owner of its files in /proc, which may be root though it is not. */
static bool user_of(int proc_fd, uid_t *user)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct status status;

	if (read_at(proc_fd, "status", &text) < 0 || status_parse(text.data, &status) < 0)
		return false;
	*user = status.euid;
	return true;
}

/* So that an opener looks at the same process. */
static bool start_of(int proc_fd, uint64_t *start_ns)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t ticks;

	if (read_at(proc_fd, "stat", &text) < 0 || status_parse_start(text.data, &ticks) < 0)
		return false;
	*start_ns = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

/* A parent with another name is no monitor of a container: it is not read. */
static bool is_called(int proc_fd, const char *name)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	return read_at(proc_fd, "comm", &text) == 0 && strncmp(text.data, name, strlen(name)) == 0;
}

static const struct state_path conmon = { .kind = STATE_CONMON };

/* Only the command line of a user's process is read: files that it names are that user's, too. */
static bool read_users_watcher(struct reading *r, int cmdline_fd, uid_t user)
{
	const struct cgroup_identity *id = r->query->identity;
	struct state_facts facts;

	if (!id->has_user || user != id->user || !ask(r, cmdline_fd, &conmon, &facts))
		return false;
	facts.dir[0] = '\0';
	state_facts_merge(r->facts, &facts);
	return true;
}

/* A shim's working folder is the bundle of its first container, NAMESPACE/ID, also where it watches
 * over all containers of a pod: the bundle of ours is beside it. */
static bool read_bundle(struct reading *r, const struct opener_process *shim)
{
	struct state_path place = { .kind = STATE_OCI };
	_cleanup_fd_ int above_fd = -1;
	char cwd[PATH_MAX], path[STATE_ID_MAX + 16];
	char *slash;

	if (!state_path_is_id(r->container) ||
		opener_call_above_cwd(opener_of(r), shim, &above_fd, cwd) < 0)
		return false;
	slash = strrchr(cwd, '/');
	if (slash)
		*slash = '\0';
	slash = strrchr(cwd, '/');
	place.runtime = slash ? state_path_of_namespace(slash + 1) : STATE_UNKNOWN;
	snprintf(path, sizeof(path), "%s/config.json", r->container);
	return read_path(r, above_fd, path, &place);
}

static bool read_watcher(struct reading *r)
{
	pid_t first = r->query->cgroup_fd >= 0 ? first_process(r->query->cgroup_fd) : 0;
	struct opener_process process = { .pid = first > 1 ? parent_of(first) : 0 };
	_cleanup_fd_ int proc_fd = -1, fd = -1;
	uid_t user;

	if (process.pid <= 1 || opener_process(&process, &proc_fd) < 0 ||
		!user_of(proc_fd, &user) || !start_of(proc_fd, &process.start_ns))
		return false;
	if (user == 0 && is_called(proc_fd, "containerd-shim"))
		return read_bundle(r, &process);
	if (!is_called(proc_fd, "conmon") ||
		opener_call_copy(opener_of(r), &process, "cmdline", PROC_BYTES_MAX, &fd) < 0)
		return false;
	return user != 0 ? read_users_watcher(r, fd, user) : read_fd(r, fd, &conmon);
}

/* As a last resort, of what is there; it may not keep others waiting for long. */
static bool read_answer(struct reading *r)
{
	static const struct state_path answer = { .kind = STATE_DOCKER, .runtime = STATE_KUBELET };
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + INQUIRY_NS;
	_cleanup_fd_ int fd = -1;

	return r->state->inquiry && cgroup_is_container(r->query->identity->kind) &&
		!r->query->identity->nested &&
		inquiry_ask(r->state->inquiry, r->container, until_ns, &fd) == 0 &&
		read_fd(r, fd, &answer);
}

enum container_state_result container_state_read(struct container_state *state,
	const struct container_state_query *query, struct state_facts *out)
{
	struct state_facts facts = { 0 };
	struct reading r = {
		.state = state,
		.query = query,
		.container = query->identity->container,
		.facts = &facts,
	};
	char id[CGROUP_NAME_MAX];
	struct state_path place;
	bool found = false;

	if (!state->worker)
		return CONTAINER_STATE_NONE;
	if (query->identity->kind == CGROUP_OTHER) {
		if (state_path_of_other(query->path, id, &place)) {
			r.container = id;
			found = read_path(&r, state->root_fd, place.path, &place);
		}
	} else {
		/* The host's runtimes do not know a container inside a container: files that name
		 * it would be forged. */
		found = (!query->identity->nested && read_places(&r)) || read_watcher(&r) ||
			read_answer(&r);
	}
	if (found)
		*out = facts;
	return found     ? CONTAINER_STATE_FOUND
		: r.late ? CONTAINER_STATE_LATER
			 : CONTAINER_STATE_NONE;
}
