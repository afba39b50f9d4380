/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jvm_attach.c - opens the directories, then starts a child that takes the JVM's user and does
 * the rest: HotSpot obeys only its own user, in its own user namespace. The child sends the reply
 * through a socket, after an error number. Processes of that user may stop the child or speak for
 * it, so the parent limits time and bytes, too. The child makes only system calls: no locks, and no
 * allocation that matters. The caller interprets commands and replies. */
#include "jit/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jit/unix_client.h"

#define NAME_BYTES 48
#define LISTEN_TIMEOUT_NS (6 * NSEC_PER_SEC)
/* Compiler.perfmap writes a line a method before it answers. */
#define REPLY_TIMEOUT_NS (10 * NSEC_PER_SEC)
/* The child keeps to the other two, so it ends before this. */
#define CHILD_TIMEOUT_NS (LISTEN_TIMEOUT_NS + REPLY_TIMEOUT_NS + 2 * NSEC_PER_SEC)
#define CHUNK_BYTES 4096
#define CHILD_END_MS 2000
#define POLL_MIN_MS 20
#define POLL_MAX_MS 250

struct attach {
	const struct jit_target *target;
	int tmp_fd; /* the JVM's /tmp */
	int cwd_fd; /* and its working directory, or -1 */
	bool may_signal;
	const char *command;
};

/* ---- may it be attached to ------------------------------------------------------------------ */

bool jvm_attach_is_hotspot(const struct jit_target *target)
{
	/* OpenJ9 has a libjvm.so too, in front of its own */
	return jit_target_maps(target, "libjvm.so") && !jit_target_maps(target, "libj9");
}

static bool has_option(const struct jit_target *target, const char *option)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	if (jit_target_read(target, "cmdline", &text) < 0)
		return false;
	for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
		if (strcmp(text.data + at, option) == 0)
			return true;
	buf_clear(&text);
	return jit_target_environ(target, "JAVA_TOOL_OPTIONS", &text) == 0 && text.data &&
		strstr(text.data, option);
}

static int check(const struct jit_target *target, struct why *why)
{
	if (!jvm_attach_is_hotspot(target))
		return why_set(why, -ENOTSUP, "process %d is not a HotSpot JVM", target->pid);
	if (has_option(target, "-XX:+DisableAttachMechanism"))
		return why_set(why, -ENOTSUP,
			"the JVM of process %d runs with -XX:+DisableAttachMechanism and accepts "
			"no commands",
			target->pid);
	return 0;
}

/* ---- the child ------------------------------------------------------------------------------ */

/* Of this thread alone, past libc, which would try to do it to all threads. */
static int become(uid_t uid, gid_t gid)
{
	if (geteuid() == uid && getegid() == gid)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0 && geteuid() == 0)
		return -errno;
	if (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
		return -errno;
	return 0;
}

static int connect_jvm(const struct attach *a, uint64_t deadline_ns, int *fd)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), ".java_pid%d", a->target->ns_pid);
	return unix_client_connect(
		a->tmp_fd, name, a->target->uid, a->target->pid, deadline_ns, fd);
}

/* Makes the file without which SIGQUIT only prints the threads' stacks. Where the working directory
 * does not take it, the JVM looks in its /tmp. */
static int make_trigger(const struct attach *a, int *dir_fd, bool *is_ours)
{
	const int dirs[] = { a->cwd_fd, a->tmp_fd };
	char name[NAME_BYTES];
	int err = -ENOENT;

	snprintf(name, sizeof(name), ".attach_pid%d", a->target->ns_pid);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_fd_ int fd = -1;

		if (dirs[i] < 0)
			continue;
		fd = openat(
			dirs[i], name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
		err = fd < 0 ? -errno : 0;
		if (err == 0 || err == -EEXIST) {
			*dir_fd = dirs[i];
			*is_ours = err == 0;
			return 0;
		}
	}
	return err;
}

static void remove_trigger(const struct attach *a, int dir_fd)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), ".attach_pid%d", a->target->ns_pid);
	unlinkat(dir_fd, name, 0);
}

/* Until the JVM listens, or dies, or the time is over. */
static int wait_for_listener(const struct attach *a, uint64_t deadline_ns, int *fd)
{
	struct pollfd pfd = { .fd = a->target->pidfd, .events = POLLIN };
	int pause_ms = POLL_MIN_MS, err = -ENOENT;

	while (err == -ENOENT || err == -ECONNREFUSED) {
		if (clock_ns(CLOCK_MONOTONIC) > deadline_ns)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, pause_ms) > 0)
			return -ESRCH;
		pause_ms = 2 * pause_ms < POLL_MAX_MS ? 2 * pause_ms : POLL_MAX_MS;
		err = connect_jvm(a, deadline_ns, fd);
	}
	return err;
}

static int wake_listener(const struct attach *a, int *fd)
{
	bool is_ours = false;
	int dir_fd = -1, err = make_trigger(a, &dir_fd, &is_ours);

	if (err < 0)
		return err;
	if (syscall(SYS_pidfd_send_signal, a->target->pidfd, SIGQUIT, NULL, 0) < 0)
		err = -errno;
	if (err == 0)
		err = wait_for_listener(a, clock_ns(CLOCK_MONOTONIC) + LISTEN_TIMEOUT_NS, fd);
	if (is_ours)
		remove_trigger(a, dir_fd);
	return err;
}

/* Version 1 of the protocol, the command, and always three arguments, each with its NUL. */
static int send_command(int fd, const char *command, uint64_t deadline_ns)
{
	static const char start[] = "1\0jcmd", end[] = "\0";
	int err = unix_client_send(fd, start, sizeof(start), deadline_ns);

	if (err == 0)
		err = unix_client_send(fd, command, strlen(command) + 1, deadline_ns);
	if (err == 0)
		err = unix_client_send(fd, end, sizeof(end), deadline_ns);
	return err;
}

static int pass_reply(int fd, int socket, uint64_t deadline_ns)
{
	size_t sum = 0, got = 0;
	char chunk[CHUNK_BYTES];
	int err = 0;

	do {
		sum += got;
		err = unix_client_receive(fd, chunk, sizeof(chunk), deadline_ns, &got);
		if (err == 0)
			err = fd_write_all(socket, chunk, got);
	} while (err == 0 && got > 0 && sum < JVM_ATTACH_REPLY_MAX);
	return err;
}

static int begin(const struct attach *a, uint64_t deadline_ns, int *fd)
{
	int err = become(a->target->uid, a->target->gid);

	if (err == 0)
		err = connect_jvm(a, deadline_ns, fd);
	if ((err == -ENOENT || err == -ECONNREFUSED) && a->may_signal)
		err = wake_listener(a, fd);
	return err < 0 ? err : send_command(*fd, a->command, deadline_ns);
}

/* Sends the verdict, then the reply. The exit status is 1 when the reply is not whole. */
static int talk(void *ctx, int socket)
{
	const struct attach *a = ctx;
	uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + REPLY_TIMEOUT_NS;
	_cleanup_fd_ int fd = -1;
	int verdict = begin(a, deadline_ns, &fd);
	int err = fd_write_all(socket, &verdict, sizeof(verdict));

	if (err == 0 && verdict == 0)
		err = pass_reply(fd, socket, deadline_ns);
	return err < 0;
}

/* ---- the parent ----------------------------------------------------------------------------- */

static int take_reply(int socket, uint64_t deadline_ns, struct buf *out)
{
	char chunk[CHUNK_BYTES];
	size_t got = 0;
	int verdict = 0, err;

	err = unix_client_receive(socket, &verdict, sizeof(verdict), deadline_ns, &got);
	if (err < 0 || got < sizeof(verdict))
		return err < 0 ? err : -EPIPE;
	if (verdict != 0)
		return verdict < 0 ? verdict : -EPROTO;
	do {
		err = unix_client_receive(socket, chunk, sizeof(chunk), deadline_ns, &got);
		if (err < 0 || out->len + got > JVM_ATTACH_REPLY_MAX + CHUNK_BYTES)
			return err < 0 ? err : -EFBIG;
		err = buf_put(out, chunk, got);
	} while (err == 0 && got > 0);
	return err < 0 ? err : buf_putc(out, '\0');
}

static int run_child(const struct attach *a, struct buf *out)
{
	const struct child_plan plan = { .run = talk, .ctx = (void *)a, .socket = true };
	struct child_end end;
	struct child child;
	int err = child_start(&plan, &child);

	if (err < 0)
		return err;
	err = take_reply(child.fd, clock_ns(CLOCK_MONOTONIC) + CHILD_TIMEOUT_NS, out);
	if (err < 0)
		child_signal(&child, SIGKILL);
	fd_close(&child.fd);
	/* A folder of the process may not answer, and no signal ends who waits for it. */
	if (child_wait(&child, CHILD_END_MS, &end) == -EAGAIN) {
		child_signal(&child, SIGKILL);
		fd_close(&child.pidfd);
		return -ETIMEDOUT;
	}
	return err == 0 && end.status != 0 ? -ETIMEDOUT : err;
}

static int explain(const struct jit_target *target, int err, struct why *why)
{
	switch (err) {
	case -ENOENT:
		return why_set(why, err, "the JVM of process %d has not been attached to yet",
			target->pid);
	case -ETIMEDOUT:
		return why_set(why, err,
			"the JVM of process %d does not answer: it may be stopped, or too busy to "
			"reach a safepoint",
			target->pid);
	case -EFBIG:
		return why_set(why, err, "the JVM of process %d sent more than %u bytes",
			target->pid, JVM_ATTACH_REPLY_MAX);
	case -ESRCH:
		return why_set(why, err, "process %d ended", target->pid);
	case -EPERM:
	case -EACCES:
		return why_set(why, -EACCES,
			"not allowed to attach to the JVM of process %d: run as root or as user %u",
			target->pid, target->uid);
	case -EXDEV:
		return why_set(
			why, err, "another process answers for the JVM of process %d", target->pid);
	default:
		return why_set(why, err, "cannot attach to the JVM of process %d: %s", target->pid,
			err_text(err));
	}
}

/* The first line is a number, 0 for success; the text follows. */
static int parse_reply(const struct jit_target *target, const char *command,
	const struct buf *answer, struct buf *out, struct why *why)
{
	const char *line = answer->data ? strchr(answer->data, '\n') : NULL;

	if (!line)
		return why_set(
			why, -EPROTO, "the JVM of process %d sent a malformed answer", target->pid);
	line++;
	if (strtol(answer->data, NULL, 10) == 0)
		return buf_put(out, line, strlen(line) + 1);
	if (strstr(line, "Unknown diagnostic command"))
		return why_set(why, -ENOSYS, "the JVM of process %d does not support %s",
			target->pid, command);
	return why_set(why, -EREMOTEIO, "the JVM of process %d refused %s: %.*s", target->pid,
		command, (int)strcspn(line, "\n"), line);
}

static int run(const struct jit_target *target, const char *command, bool may_signal,
	struct buf *reply, struct why *why)
{
	_cleanup_(buf_done) struct buf answer = BUF_INIT;
	_cleanup_fd_ int tmp_fd = -1;
	_cleanup_fd_ int cwd_fd = -1;
	struct attach a = { .target = target, .command = command, .may_signal = may_signal };
	char path[NAME_BYTES];
	int err = check(target, why);

	if (err < 0)
		return err;
	err = jit_target_open_dir(target, "/tmp", &tmp_fd);
	snprintf(path, sizeof(path), "/proc/%d/cwd", target->pid);
	cwd_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	a.tmp_fd = tmp_fd;
	a.cwd_fd = cwd_fd;
	if (err == 0 && may_signal && !target->catches_quit) {
		a.may_signal = false;
		err = run_child(&a, &answer);
		if (err == -ENOENT)
			return why_set(why, -ENOTSUP,
				"the JVM of process %d does not catch SIGQUIT (it runs with -Xrs "
				"or has just started), so stoker cannot attach to it",
				target->pid);
	} else if (err == 0) {
		err = run_child(&a, &answer);
	}
	return err < 0 ? explain(target, err, why)
		       : parse_reply(target, command, &answer, reply, why);
}

int jvm_attach_command(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why)
{
	return run(target, command, true, reply, why);
}

int jvm_attach_command_quietly(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why)
{
	return run(target, command, false, reply, why);
}
