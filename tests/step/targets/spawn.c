/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c - children by vfork, fork and posix_spawn, who run this program again.
 * BUILD o2: gcc -O2
 * FROM main */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int ends_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], "again", NULL };
	int good = 0;
	pid_t pid;

	if (argc > 1)
		return strcmp(argv[1], "again");
	pid = vfork();
	if (pid == 0) {
		execv(argv[0], again);
		_exit(1);
	}
	good += ends_well(pid);
	pid = vfork();
	if (pid == 0)
		_exit(0);
	good += ends_well(pid);
	pid = fork();
	if (pid == 0)
		_exit(atoi("0"));
	good += ends_well(pid);
	if (posix_spawn(&pid, argv[0], NULL, NULL, again, environ) == 0)
		good += ends_well(pid);
	return good != 4;
}
