/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/tenancy.h - who held an address at a time.
 * A tenant holds [start, start + size) from since_ns until a later one takes those bytes; of two
 * that came at one time, the one that was added last. Tenants may be added in any order of address
 * and time, and adding and asking may alternate: n tenants cost O(n log² n) in all, a question
 * O(log³ n), whatever overlaps. Memory: 24 bytes a tenant and 20 to 36 for its place in a tree;
 * where they all overlap, 8 log2 n more at the worst. */
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

/* The tenants [first, first + len) as a tree of stretches between the addresses where any begins or
 * ends. */
struct tenancy_level {
	uint32_t first;
	uint32_t len;
	uint64_t *edges;    /* sorted, each once */
	uint32_t stretches; /* edges - 1 */
	uint32_t *heads;    /* node → where its tenants begin in places; 2 * stretches + 1 */
	uint32_t *places;   /* tenants of the nodes, each node's in order of time */
};

struct tenancy {
	VEC(struct tenant) tenants; /* by id */
	struct tenancy_level levels[TENANCY_LEVELS_MAX];
	uint32_t levels_len;
	uint32_t built; /* tenants that are in a level */
};

void tenancy_done(struct tenancy *tenancy);
/* The id counts from 0. start + size must not wrap, size not be 0, and there may be 2^24 of
 * them. 0 or -ENOMEM. */
int tenancy_add(struct tenancy *tenancy, uint64_t start, uint32_t size, uint64_t since_ns);

struct tenancy_answer {
	uint32_t id;
	bool early; /* nobody held it yet at the time asked for: this is the first who did */
};

/* False: nobody ever held the address (or memory is out). */
bool tenancy_find(
	struct tenancy *tenancy, uint64_t addr, uint64_t at_ns, struct tenancy_answer *out);
/* Sets holds[id] for each tenant that holds an address in the end, where it was false before. 0 or
 * -ENOMEM. */
int tenancy_mark_last(struct tenancy *tenancy, bool *holds);
size_t tenancy_memory(const struct tenancy *tenancy);
