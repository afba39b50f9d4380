/* SPDX-License-Identifier: Apache-2.0 */
/* stopper.c - stopper PARENT MS UID...: as each of these users, stops (SIGSTOP) all children of
 * PARENT that it may, every MS milliseconds, and ends with PARENT. So does a process of a container
 * that sees the host's processes and has the user of one of them. Prints "ready" when it begins,
 * and "stopped N" each time, where it stopped N. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop_children(const char *children)
{
	FILE *list = fopen(children, "re");
	int pid, stopped = 0;

	if (!list)
		exit(0);
	while (fscanf(list, "%d", &pid) == 1)
		stopped += kill(pid, SIGSTOP) == 0;
	fclose(list);
	if (stopped > 0)
		printf("stopped %d\n", stopped);
}

static void stop_all(uid_t uid, const char *children, long ms)
{
	/* The death signal comes last: a change of the user undoes it. */
	if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		exit(1);
	for (;;) {
		stop_children(children);
		usleep((useconds_t)ms * 1000);
	}
}

int main(int argc, char **argv)
{
	char children[64];

	if (argc < 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(children, sizeof(children), "/proc/%s/task/%s/children", argv[1], argv[1]);
	for (int i = 3; i < argc; i++)
		if (fork() == 0)
			stop_all((uid_t)atol(argv[i]), children, atol(argv[2]));
	puts("ready");
	while (wait(NULL) > 0)
		;
	return 0;
}
