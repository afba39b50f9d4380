/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/share.bpf.h - tables that fill until user space empties them, and begins the next turn. The
 * first nine tenths go to any account. Each account gets 1/(n + 1) of the rest that is free, where
 * n accounts hold some of it. The first part compiles for the host, too. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

/* True: the account may not have so much more; else it is charged. If it holds nothing, it may have
 * one entry that fits. *turn: its number << SHARE_TURN_SHIFT, plus n. *hold: the turn's number, and
 * what the account holds. CPUs do not wait for each other: each may let one entry pass. */
static __always_inline bool share_refuses(u64 *turn, u64 *hold, u64 amount, u64 rest)
{
	u64 now = *(volatile u64 *)turn, number = now >> SHARE_TURN_SHIFT;
	u64 held = *hold >> SHARE_TURN_SHIFT == number ? (u32)*hold : 0;

	if (amount > rest || (held && held + amount > rest / ((u32)now + 1ULL)))
		return true;
	if (!held)
		__sync_fetch_and_add(turn, 1);
	*hold = number << SHARE_TURN_SHIFT | (held + amount);
	return false;
}

#ifdef __bpf__
#define ACCOUNT_LEVELS_MAX 16 /* from a task's cgroup up; the account of one below has no share */
__u64 share_turns[SHARES_LEN] = {};
__u64 tally_bytes = 0; /* ticks add to it, user space sets it */

/* The outermost cgroup of each account → what the account holds. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACCOUNTS_MAX);
	__type(key, u64);
	__type(value, u64[SHARES_LEN]);
} accounts SEC(".maps");

#define READ_FIELD(word, from, field) bpf_core_read(&(word), sizeof(word), &(from)->field)

/* The account is the walked task's. Not static, so that the verifier checks it once. Step by step
 * through one word, as its stack is at the end of the longest chain of calls. */
__noinline int account_refuses(u32 what, u64 amount, u64 used, u64 max)
{
	u64 rest = used < max ? max - used : 0, *holds = NULL, cgroup, word = 0;

	READ_FIELD(word, walk_task(), cgroups);
	READ_FIELD(word, (struct css_set *)word, dfl_cgrp);
	for (u32 i = 0; i < ACCOUNT_LEVELS_MAX && word && !holds; i++) {
		cgroup = word;
		READ_FIELD(word, (struct cgroup *)cgroup, kn);
		READ_FIELD(word, (struct kernfs_node *)word, id);
		holds = bpf_map_lookup_elem(&accounts, &word);
		READ_FIELD(word, (struct cgroup *)cgroup, self.parent);
		READ_FIELD(word, (struct cgroup_subsys_state *)word, cgroup);
	}
	what &= SHARES_LEN - 1;
	return holds ? share_refuses(&share_turns[what], &holds[what], amount, rest)
		     : word || amount > rest;
}

static __always_inline bool share_allows(u32 what, u64 amount, u64 used, u64 max)
{
	return used + amount <= max - max / 10 || !account_refuses(what, amount, used, max);
}
#endif
