/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tally.h - what was counted in an interval, before anything has a name.
 * Tasks and stacks are told once by BPF and stay; counts are taken away at each interval's end.
 * Those that no count used for TALLY_IDLE_INTERVALS are forgotten in two steps: first BPF is made
 * to forget them (so that they would be told again), and an interval later they go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/hash.h"
#include "base/vec.h"
#include "sampler/timeline.h"

#define TALLY_IDLE_INTERVALS 4
#define TALLY_STACKS_MAX 1000000
#define TALLY_TASKS_MAX 1000000

struct sampler;

struct tally_stack {
	uint64_t hash;
	uint64_t rest;    /* hash of all frames but the leaf; 0: not to be built upon */
	uint64_t *frames; /* leaf first; owned */
	uint32_t wanted;  /* one more than the interval whose names were asked for last */
	uint32_t used;
	uint16_t frames_len;
	uint8_t end; /* enum stack_end */
	bool anon;
	bool live;
};

struct tally_task {
	struct who_key key;
	uint32_t id;
	uint32_t used;
	bool live;
};

struct tally_count {
	uint32_t user, kernel; /* index of a stack + 1; 0: none */
	uint32_t task;
	uint32_t cpu; /* + 1; 0: not kept */
	uint64_t count;
};

struct tally {
	VEC(struct tally_stack) stacks;
	VEC(struct tally_task) tasks;
	VEC(struct tally_count) counts;
	VEC(uint32_t) free_stacks;
	VEC(uint32_t) free_tasks;
	struct hash by_hash; /* stack hash → index */
	struct hash by_rest; /* hash of a rest → index of a stack that has it */
	struct hash by_id;   /* who id → index */
	struct timeline timeline;
	uint32_t interval;
};

void tally_done(struct tally *tally);
/* A stack or task that is there already is left alone. -ENOSPC at the limit. */
int tally_stack(struct tally *tally, const struct event_stack *event, const uint64_t *frames);
/* A stack that is another one's rest under this leaf. -ENOENT: that rest was never told. */
int tally_leaf(struct tally *tally, const struct event_leaf *event);
int tally_task(struct tally *tally, const struct event_who *event);
/* -ENOENT: a stack or task that was never told. */
int tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
/* The same of no ticks yet: those with this id will be told, or were. */
int tally_key(struct tally *tally, const struct count_key *key, uint32_t id);
/* The same of one tick, at its time. */
int tally_tick(struct tally *tally, const struct count_key *key, uint32_t cpu, uint64_t time_ns);
/* Behind each drain, where times are kept: returns how many ticks had to be given up. */
uint64_t tally_resolve(struct tally *tally, bool last);
/* Counts the ticks before until_ns, which are timeline.due of timeline.ticks; the others stay for
 * the next interval. */
void tally_cut(struct tally *tally, uint64_t until_ns);
/* Throws the counts away and begins the next interval. */
void tally_next(struct tally *tally, struct sampler *sampler);
