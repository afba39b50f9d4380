/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_code.h - kernel code that comes and goes while we watch: BPF programs, trampolines.
 * Each has a size, so none of it is named after a neighbour. Of several that were at an address
 * during an interval, the one that was there for longest has it: its samples are the most. Times
 * are of one clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define KERNEL_CODE_MAX 8192 /* at a time; full: what comes is not known, and counted */

struct kernel_code_range {
	uint64_t start;
	uint32_t size;
	uint64_t came_ns; /* 0: before we watched */
	uint64_t gone_ns; /* UINT64_MAX: it is there; else what was sampled may be to be named */
	char *name;
};

struct kernel_code {
	VEC(struct kernel_code_range) ranges;
	size_t dropped;
};

void kernel_code_done(struct kernel_code *code);
/* It came; by increasing time. -ENOMEM */
int kernel_code_add(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns);
/* It went; also one that was there before we watched. -ENOMEM */
int kernel_code_remove(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns);
/* In an interval. NULL: nothing that came or went covers the address. */
const char *kernel_code_find(const struct kernel_code *code, uint64_t addr, uint64_t from_ns,
	uint64_t until_ns, uint64_t *start);
/* All samples so far have their names: forgets what is gone. */
void kernel_code_next(struct kernel_code *code);
