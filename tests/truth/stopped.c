/* SPDX-License-Identifier: Apache-2.0 */
/* tests/truth/stopped.c - the stack of a stopped thread, by the code that walks in the kernel.
 *     stopped <REQUESTS
 * A request is a line, `PID REGISTER...`: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 rip fs_base, in
 * hexadecimal. The answer is a line: complete, guessed or truncated:REASON, and the places,
 * innermost first: the pc, then each return address minus one. Registers come from whoever traces
 * the process (tests/truth/gdb); memory and mappings are read from /proc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/reasons.h"
#include "space.h"
#include "walk.h"

#define REGISTERS 18
#define LINE_BYTES_MAX 1024

static const char *const reasons[] = {
#define X(id, name, text) [id] = name,
	STACK_ENDS(X)
#undef X
};

static bool parse(char *line, pid_t *pid, struct user_regs_struct *regs)
{
	unsigned long long *const to[REGISTERS] = { &regs->rax, &regs->rdx, &regs->rcx, &regs->rbx,
		&regs->rsi, &regs->rdi, &regs->rbp, &regs->rsp, &regs->r8, &regs->r9, &regs->r10,
		&regs->r11, &regs->r12, &regs->r13, &regs->r14, &regs->r15, &regs->rip,
		&regs->fs_base };
	char *at = line, *end;

	*pid = (pid_t)strtol(at, &end, 10);
	for (size_t i = 0; i < REGISTERS; i++) {
		if (end == at)
			return false;
		at = end;
		*to[i] = strtoull(at, &end, 16);
	}
	return end != at;
}

static void print(const struct chain *chain)
{
	if (chain->end != END_ROOT)
		printf("truncated:%s", reasons[chain->end]);
	else
		printf("%s", chain->guessed ? "guessed" : "complete");
	for (uint32_t i = 0; i < chain->len; i++)
		printf(" %llx", (unsigned long long)chain->at[i]);
	printf("\n");
	fflush(stdout);
}

int main(void)
{
	static struct chain chain;
	struct objects objects = { 0 };
	char line[LINE_BYTES_MAX];
	int status = 0;

	while (status == 0 && fgets(line, sizeof(line), stdin)) {
		struct user_regs_struct regs = { 0 };
		struct space space = { 0 };
		pid_t pid;

		if (!parse(line, &pid, &regs) || space_open(&space, pid) < 0) {
			fprintf(stderr, "stopped: no such process, or no request: %s", line);
			status = 2;
			continue;
		}
		space_load(&space, &objects);
		space_refresh(&space, regs.rsp);
		walk_now(&space, &regs, &chain, NULL);
		print(&chain);
		space_close(&space);
	}
	objects_done(&objects);
	return status;
}
