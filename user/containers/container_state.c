/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_state.c - tries the usual places first, which only root can write. Then it
 * uses the process that manages the container, its first process's parent: a containerd-shim's
 * working folder is the bundle, a conmon has name and bundle in its command line. It opens only
 * regular files of limited size that belong to root or to the owner of the container's user
 * slice. */
#include "containers/container_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "proc/opener.h"
#include "proc/pid_namespace.h"
#include "proc/status.h"
#include "client/inquiry.h"
#include "client/state.h"

#define NAMESPACES_MAX 64
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
	const char *container; /* its id */
	struct state_facts *facts;
	bool late;
};

static void count_unread(struct reading *r, int err)
{
	int reason = opener_reason(err);

	if (reason >= 0)
		r->state->stats.unread[reason]++;
}

/* The user's whose container it is, else root's: a user may name a cgroup of his own after root's
 * container. */
static int check_owner(const struct reading *r, int fd)
{
	const struct cgroup_identity *id = r->query->identity;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != (id->has_user ? id->user : 0))
		return -EPERM;
	return (uint64_t)st.st_size > STATE_BYTES_MAX ? -EFBIG : 0;
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
		if (opener_in_root(r->state->root_fd, further.path, &fd) < 0 ||
			check_owner(r, fd) < 0 || !ask(r, fd, &further, facts))
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
	int err = opener_in_root(root_fd, path, &fd);

	if (err == 0)
		err = check_owner(r, fd);
	if (err == 0)
		return read_fd(r, fd, place);
	count_unread(r, err);
	return false;
}

/* ---- the usual places ------------------------------------------------------------------------ */

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static DIR *open_folder(int root_fd, const char *path)
{
	_cleanup_fd_ int fd = -1;
	DIR *dir = opener_folder(root_fd, path, &fd) == 0 ? fdopendir(fd) : NULL;

	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

static bool read_namespaces(struct reading *r, struct state_path *place)
{
	_cleanup_(close_dir) DIR *dir = open_folder(r->state->root_fd, place->path);
	int root_fd = dir ? dirfd(dir) : -1;
	struct dirent *entry;

	for (int i = 0; dir && i < NAMESPACES_MAX && (entry = readdir(dir)); i++) {
		char path[sizeof(place->below) + sizeof(entry->d_name) + 1];

		snprintf(path, sizeof(path), "%s/%s", entry->d_name, place->below);
		place->runtime = state_path_of_namespace(entry->d_name);
		if (entry->d_name[0] != '.' && read_path(r, root_fd, path, place))
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
static bool read_bundle(struct reading *r, int shim_fd)
{
	struct state_path place = { .kind = STATE_OCI };
	_cleanup_fd_ int cwd_fd = openat(shim_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int above_fd =
		cwd_fd < 0 ? -1 : openat(cwd_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char cwd[PATH_MAX], path[STATE_ID_MAX + 16];
	ssize_t len = readlinkat(shim_fd, "cwd", cwd, sizeof(cwd) - 1);
	char *slash;

	if (above_fd < 0 || len <= 0 || !state_path_is_id(r->container))
		return false;
	cwd[len] = '\0';
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

	if (process.pid <= 1 || opener_process(&process, &proc_fd) < 0 || !user_of(proc_fd, &user))
		return false;
	if (user == 0 && is_called(proc_fd, "containerd-shim"))
		return read_bundle(r, proc_fd);
	if (!is_called(proc_fd, "conmon"))
		return false;
	fd = openat(proc_fd, "cmdline", O_RDONLY | O_CLOEXEC);
	if (user != 0)
		return fd >= 0 && read_users_watcher(r, fd, user);
	return fd >= 0 && read_fd(r, fd, &conmon);
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
