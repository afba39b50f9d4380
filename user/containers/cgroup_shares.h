/* SPDX-License-Identifier: Apache-2.0 */
/* containers/cgroup_shares.h - the places of known cgroups, and which of them are given up. A place
 * is charged to the account of the cgroup's path (container_account), so whoever makes cgroups
 * below its own has one share for all of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/share.h"

struct container;
struct sampler;

struct cgroup_entry {
	uint64_t id;
	char *path;
	struct container *container; /* NULL: none */
	uint64_t account;
	uint32_t used, scan; /* the latest interval and scan that met it */
	bool placed;         /* the account was charged */
	bool outermost;      /* of its account */
	bool gone, sampled;
	bool outside; /* of what is mounted: its path is what its process says */
};

/* Sets the account, and charges it; the sampler learns its outermost cgroup, and may be NULL.
 * -ENOMEM: it was not charged. */
int cgroup_shares_charge(
	struct share *places, struct cgroup_entry *entry, const struct sampler *sampler);
/* Nothing happens if it has no place. */
void cgroup_shares_return(
	struct share *places, struct cgroup_entry *entry, const struct sampler *sampler);
/* The entries of the largest account that go next: first removed cgroups, then those that had no
 * sample, then the least recently used, its outermost one last. out: room for all. Their number: a
 * 64th of the places at most. */
size_t cgroup_shares_givers(
	const struct hash *by_id, const struct share *places, struct cgroup_entry **out);
