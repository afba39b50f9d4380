/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/tenancy.h - who owned an address at a time.
 * A tenant owns [start, start + size) from since_ns until a later tenant takes those bytes; of two
 * with the same time the one added last wins. Tenants may be added in any order of address and
 * time, between queries too: n tenants cost O(n log² n) in all, a query O(log³ n), whatever
 * overlaps. Memory: 24 bytes a tenant and 20 to 36 for its place in a tree; if all overlap, 8 log2
 * n more at worst. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct tenant {
	uint64_t start;
	uint64_t since_ns;
	uint32_t size; /* not 0 */
};

#define TENANCY_LEVELS_MAX 40

/* The tenants [first, first + len) as a tree of stretches between their starts and ends. */
struct tenancy_level {
	uint32_t first;
	uint32_t len;
	uint64_t *edges;    /* sorted, without duplicates */
	uint32_t stretches; /* edges - 1 */
	uint32_t *heads;    /* node → start of its tenants in places; 2 * stretches + 1 */
	uint32_t *places;   /* tenants by node, each node's in order of time */
};

struct tenancy {
	VEC(struct tenant) tenants; /* by id */
	struct tenancy_level levels[TENANCY_LEVELS_MAX];
	uint32_t levels_len;
	uint32_t built; /* number of tenants in levels */
};

void tenancy_done(struct tenancy *tenancy);
/* Ids count from 0. start + size must not wrap, size must not be 0, and the limit is 2^24 tenants.
 * 0 or -ENOMEM. */
int tenancy_add(struct tenancy *tenancy, uint64_t start, uint32_t size, uint64_t since_ns);

struct tenancy_answer {
	uint32_t id;
	bool early; /* the address had no owner at that time; this is its first owner */
};

/* False: the address never had an owner (or no memory). */
bool tenancy_find(
	struct tenancy *tenancy, uint64_t addr, uint64_t at_ns, struct tenancy_answer *out);
/* Sets holds[id] to true for each tenant that owns an address at the end. 0 or -ENOMEM. */
int tenancy_mark_last(struct tenancy *tenancy, bool *holds);
size_t tenancy_memory(const struct tenancy *tenancy);
