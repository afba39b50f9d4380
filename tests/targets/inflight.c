/* SPDX-License-Identifier: Apache-2.0 */
/* inflight.c - inflight COUNT UID...: as each of these users, keeps about COUNT descriptors in
 * flight: they were sent over a unix socket, and nobody reads them. The kernel counts them by user.
 * Prints "ready" when all are, and waits to be killed. Root may pass every limit. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#define MESSAGE_FDS 253 /* SCM_MAX_FD */

static void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

/* False: the socket has no room. */
static int send_some(int socket)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec part = { "x", 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int fds[MESSAGE_FDS] = { 0 };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(socket, &message, MSG_DONTWAIT) == 1;
}

static void raise_limit(void)
{
	struct rlimit files;

	must(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
}

static void flood(uid_t uid, long count, int ready)
{
	long sent = 0;

	must(uid == 0 || setresuid(uid, uid, uid) == 0, "setresuid");
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after it: it would be undone */
	while (sent < count) {
		int pair[2];
		long before = sent;

		must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
		while (sent < count && send_some(pair[0]))
			sent += MESSAGE_FDS;
		must(sent > before, "sendmsg");
	}
	must(write(ready, "x", 1) == 1, "write");
	pause();
}

int main(int argc, char **argv)
{
	int ready[2];
	char byte;

	if (argc < 3)
		return 2;
	raise_limit();
	must(pipe(ready) == 0, "pipe");
	for (int i = 2; i < argc; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid == 0) {
			flood((uid_t)strtoul(argv[i], NULL, 10), strtol(argv[1], NULL, 10),
				ready[1]);
			_exit(1);
		}
	}
	close(ready[1]);
	for (int i = 2; i < argc; i++)
		must(read(ready[0], &byte, 1) == 1, "a user has none in flight");
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
