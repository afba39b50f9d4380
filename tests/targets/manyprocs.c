/* SPDX-License-Identifier: Apache-2.0 */
/* manyprocs.c - many busy processes of one program. Usage: manyprocs [SECONDS [PROCESSES]]
 * 100 children by default, each main;child_main;child_work. They die with their parent.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

NOINLINE uint64_t child_work(uint64_t x)
{
	return burn(x, 100000);
}

NOINLINE int child_main(uint64_t end)
{
	uint64_t x = 1;

	prctl(PR_SET_PDEATHSIG, 9);
	while (!is_past(end))
		x = child_work(x);
	return x == 0;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	unsigned int n = (unsigned int)number_arg(argc, argv, 2, 100);

	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0)
			_exit(child_main(end));
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
