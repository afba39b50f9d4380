/* SPDX-License-Identifier: Apache-2.0 */
/* manymaps.c - processes with as many mappings as the kernel allows, which run code that no file
 * has: whoever looks for their JIT's files reads them all.
 * Usage: manymaps PROCESSES MAPPINGS [SECONDS]
 *
 * Prints "ready" when all run.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "burn.h"
#include "jitcode.h"

static int map_many(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, len * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);

	if (at == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < len; i += 2)
		if (mprotect(at + i * page, page, PROT_READ))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 3, 60));
	struct code code;

	if (argc < 3 || map_many((size_t)atol(argv[2])) || code_init(&code, 0))
		return 2;
	for (long i = 1; i < atol(argv[1]); i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_until(&code, 0, end);
			return 0;
		}
	puts("ready");
	fflush(stdout);
	run_until(&code, 0, end);
	return 0;
}
