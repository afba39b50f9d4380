/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/direct_map.h - finds where the kernel has all memory mapped, for bpf/pages.bpf.h. No
 * symbol of the kernel's is needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* End of physical memory from the text of /proc/zoneinfo, in pages; 0: it does not say. */
uint64_t direct_map_pages(const char *zoneinfo, size_t len);

struct direct_map_asker {
	/* Reads 64 bytes at addr of our memory, if physical memory begins at the kernel address
	 * `base` and `top` levels of tables are not used. Also says where our first table is.
	 * 1: they were read; 0: not; -errno. */
	int (*ask)(void *ctx, uint64_t base, uint32_t top, const void *addr, void *out,
		uint64_t *root);
	void *ctx;
};

struct direct_map {
	uint64_t base;       /* kernel address of physical memory's beginning */
	uint64_t memory_end; /* physical address; of memory that is added later nothing is read */
	uint32_t top;        /* levels of tables that are not used */
};

/* 0 and *out; -EOPNOTSUPP with why: it is not found. */
int direct_map_find(
	const struct direct_map_asker *asker, struct direct_map *out, struct why *why);
