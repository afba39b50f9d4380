/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_target.c - the pidfd is opened first and checked last: if the process is still alive, all
 * that was read under its pid in between was about it. Paths of the target are resolved in its
 * root, because its symbolic links are relative to that. */
#include "jit/jit_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "proc/maps.h"
#include "proc/opener.h"
#include "proc/status.h"

#define TEXT_BYTES_MAX (64UL << 20)
#define PATH_BYTES 64

static int read_proc(pid_t pid, const char *name, struct buf *out)
{
	char path[PATH_BYTES];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	err = fd_read_path(path, TEXT_BYTES_MAX, out);
	return err < 0 ? err : buf_putc(out, '\0');
}

bool jit_target_ended(const struct jit_target *target)
{
	struct pollfd pfd = { .fd = target->pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

static int read_status(struct jit_target *t)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *gid, *caught;
	struct status status = { 0 };
	char *end;
	int err = read_proc(t->pid, "status", &text);

	if (err == 0)
		err = status_parse(text.data, &status);
	if (err < 0)
		return err;
	gid = strstr(text.data, "\nGid:");
	caught = strstr(text.data, "\nSigCgt:");
	if (!gid || !caught || status.ns_pids_len == 0)
		return -EBADMSG;
	strtoul(gid + strlen("\nGid:"), &end, 10); /* the real one */
	t->gid = (gid_t)strtoul(end, NULL, 10);
	t->uid = status.euid;
	t->ns_pid = status.ns_pids[status.ns_pids_len - 1];
	t->catches_quit = strtoull(caught + strlen("\nSigCgt:"), NULL, 16) >> (SIGQUIT - 1) & 1;
	return 0;
}

static int read_start(struct jit_target *t)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = read_proc(t->pid, "stat", &text);

	if (err == 0)
		err = status_parse_start(text.data, &t->start_ticks);
	t->start_ns = t->start_ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return err;
}

static int open_target(struct jit_target *t)
{
	const struct opener_process process = { .pid = t->pid };
	int err;

	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0)
		return errno == EINVAL ? -ESRCH : -errno; /* EINVAL: a thread */
	err = read_status(t);
	if (err == 0)
		err = read_start(t);
	if (err < 0)
		return err;
	err = opener_root(&process, &t->root_fd);
	return err < 0 ? err : !jit_target_ended(t) ? 0 : -ESRCH;
}

int jit_target_open(pid_t pid, struct jit_target *out, struct why *why)
{
	_cleanup_(jit_target_close) struct jit_target t = JIT_TARGET_INIT;
	int err;

	t.pid = pid;
	err = open_target(&t);
	if (err == -ESRCH || err == -ENOENT)
		return why_set(why, -ESRCH, "no such process: %d", pid);
	if (err == -EACCES || err == -EPERM)
		return why_set(why, -EACCES,
			geteuid() == 0 ? "the kernel refuses access to process %d: it has a "
					 "capability that stoker lacks, or a security module "
					 "forbids it (ptrace(2))"
				       : "process %d belongs to another user: run as root or as "
					 "its user",
			pid);
	if (err < 0)
		return why_set(why, err, "cannot inspect process %d: %s", pid, err_text(err));
	*out = t;
	t = (struct jit_target)JIT_TARGET_INIT;
	return 0;
}

void jit_target_close(struct jit_target *target)
{
	fd_close(&target->pidfd);
	fd_close(&target->root_fd);
}

int jit_target_read(const struct jit_target *target, const char *name, struct buf *out)
{
	int err = read_proc(target->pid, name, out);

	return err == 0 && jit_target_ended(target) ? -ESRCH : err;
}

int jit_target_environ(const struct jit_target *target, const char *name, struct buf *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	size_t len = strlen(name);
	int err = jit_target_read(target, "environ", &text);

	if (err < 0)
		return err;
	for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1) {
		const char *entry = text.data + at;

		if (strncmp(entry, name, len) == 0 && entry[len] == '=')
			return buf_puts(out, entry + len + 1);
	}
	return -ENOENT;
}

int jit_target_open_dir(const struct jit_target *target, const char *path, int *fd)
{
	return opener_folder(target->root_fd, path, fd);
}

struct search {
	const char *start;
	bool is_there;
};

static void compare(void *ctx, const struct maps_entry *entry)
{
	struct search *search = ctx;
	const char *slash = strrchr(entry->path, '/');

	search->is_there |= slash && strncmp(slash + 1, search->start, strlen(search->start)) == 0;
}

bool jit_target_maps(const struct jit_target *target, const char *start)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct search search = { .start = start };

	if (jit_target_read(target, "maps", &text) < 0)
		return false;
	maps_parse(text.data, compare, &search);
	return search.is_there;
}

void jit_target_exe(const struct jit_target *target, char *name, size_t size)
{
	const struct opener_process process = { .pid = target->pid };

	if (opener_program(&process, name, size) < 0)
		*name = '\0';
}

