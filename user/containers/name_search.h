/* SPDX-License-Identifier: Apache-2.0 */
/* containers/name_search.h - the containers without a name, and when each is looked up again. A
 * user or container may make thousands of cgroups that look like containers: so all look-ups
 * together take a small part of a core in the long run, and the account that took most waits
 * (base/share.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/share.h"
#include "base/vec.h"

struct cgroup_tree;
struct container_state;

#define NAME_SEARCH_MAX_NS 500000000ULL /* bursts are free: hundreds of containers on a new host */
#define NAME_SEARCH_PART 1000           /* of the time that passes, afterwards */

struct name_search {
	const struct hash *by_path; /* borrowed: key → struct container * */
	VEC(uint64_t) waiting;      /* keys */
	struct share_debt spent;
	uint64_t due_ns;        /* when the first of them is */
	uint64_t not_before_ns; /* long lists are gone through less often */
	uint64_t postponed;     /* look-ups, since their account took too much time */
};

/* Where the names are. */
struct name_search_world {
	struct container_state *state;
	const struct cgroup_tree *tree; /* may be NULL */
};

void name_search_done(struct name_search *search);
/* 0 or -ENOMEM */
int name_search_add(struct name_search *search, uint64_t key);
/* Looks up those that are due, or all, until the deadline. */
void name_search_run(struct name_search *search, const struct name_search_world *world,
	bool all_now, uint64_t until_ns);
/* CLOCK_NEVER_NS: nothing is due. */
uint64_t name_search_due_ns(const struct name_search *search);
