/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_code.h - kernel code that is loaded and unloaded while we watch: BPF programs,
 * trampolines. Each has a size, so none takes a neighbour's name. If several were at an address
 * during an interval, the one that was there longest names it: it has the most samples. All times
 * use one clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define KERNEL_CODE_MAX 8192 /* at a time; when full, new code is ignored and counted */

struct kernel_code_range {
	uint64_t start;
	uint32_t size;
	uint64_t came_ns; /* time of loading; 0: before we watched */
	uint64_t gone_ns; /* UINT64_MAX: loaded; else kept to name earlier samples */
	char *name;
};

struct kernel_code {
	VEC(struct kernel_code_range) ranges;
	size_t dropped;
};

void kernel_code_done(struct kernel_code *code);
/* Code was loaded; call in order of time. -ENOMEM */
int kernel_code_add(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns);
/* Code was unloaded, even if it was loaded before we watched. -ENOMEM */
int kernel_code_remove(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns);
/* The name of an address during an interval. NULL: no region covers it. */
const char *kernel_code_find(const struct kernel_code *code, uint64_t addr, uint64_t from_ns,
	uint64_t until_ns, uint64_t *start);
/* Drops unloaded code, after all samples so far have their names. */
void kernel_code_next(struct kernel_code *code);
