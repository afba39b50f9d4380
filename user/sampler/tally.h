/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tally.h - the counts of an interval, before naming.
 * BPF sends tasks and stacks once in each epoch of TALLY_EPOCH_INTERVALS. Those used in this epoch
 * or the last one are kept: a tick that began in the last one may count a stack of that time.
 * Counts are removed at each interval's end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "base/hash.h"
#include "base/vec.h"
#include "sampler/timeline.h"

#define TALLY_EPOCH_INTERVALS 3

struct tally_stack {
	uint64_t hash;
	uint64_t below_leaf; /* hash of all frames except the leaf; 0: no leaf can be added */
	uint64_t *frames;    /* leaf first; owned */
	uint32_t used;
	uint16_t frames_len;
	uint8_t end; /* enum stack_end */
	bool anon;
	bool live;
};

struct tally_task {
	struct task_key key;
	struct file_view view;
	uint32_t id;
	uint32_t used;
	bool live;
};

/* A language's code, which frames name by its id. */
struct tally_code {
	struct event_code *event; /* up to its end; owned */
	uint32_t size;
	uint32_t used;
	bool ambiguous; /* another code got the same id: neither has a name */
};

struct tally_count {
	uint32_t user, kernel; /* index of a stack + 1; 0: none */
	uint32_t waits_for;    /* likewise: of one whose frames are a text with a NUL, of a wait */
	uint32_t task;
	uint32_t cpu; /* + 1; 0: not kept */
	uint64_t count;   /* ticks; of a wait: visits */
	uint64_t took_ns; /* by the ticks in BPF */
	uint64_t wait_ns; /* 0: it is of ticks */
	uint64_t until_ns; /* end of the wait, if it is one without a pause; 0: unknown */
	uint8_t class;    /* enum thread_class, of a wait */
};

struct tally_wait {
	uint64_t waits_for; /* hash of a stack whose frames are a text; 0: unknown */
	uint64_t visits, wait_ns; /* > 0 */
	uint64_t until_ns;  /* CLOCK_MONOTONIC, or 0 */
	uint8_t class;      /* enum thread_class */
};

struct tally {
	VEC(struct tally_stack) stacks;
	VEC(struct tally_task) tasks;
	VEC(struct tally_count) counts;
	VEC(struct tally_code) codes;
	VEC(uint32_t) free_stacks;
	VEC(uint32_t) free_tasks;
	uint64_t bytes;            /* of stacks, tasks and codes: TALLY_BYTES_MAX at most */
	struct hash by_hash;       /* stack hash → index */
	struct hash by_below_leaf; /* below_leaf hash → index of a stack that has it */
	struct hash by_id;         /* task key id → index */
	struct hash by_code;       /* code's id → index */
	struct timeline timeline;
	uint32_t interval;
	uint32_t epoch, last_epoch; /* the first interval of each */
};

void tally_done(struct tally *tally);
/* A known stack or task is left unchanged. -ENOSPC at TALLY_BYTES_MAX. */
int tally_stack(struct tally *tally, const struct event_stack *event, const uint64_t *frames);
/* Builds a stack from a known one and a new leaf. -ENOENT: no known stack has that rest. */
int tally_leaf(struct tally *tally, const struct event_leaf *event);
int tally_task(struct tally *tally, const struct event_task *event);
/* size: of what there is of the event, which is valid (language/code_name.h). */
int tally_code(struct tally *tally, const struct event_code *event, size_t size);
/* NULL: unknown. Valid until the next interval. */
const struct event_code *tally_find_code(struct tally *tally, uint32_t id);
/* NULL: unknown. Valid until the next call of another function. */
const struct task_key *tally_task_key(const struct tally *tally, uint32_t id);
/* -ENOENT: the stack or task is unknown. */
int tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
/* Marks a stack, or a task, as used: it is not forgotten. An unknown one is passed over. */
void tally_keep(struct tally *tally, uint64_t hash);
void tally_keep_task(struct tally *tally, uint32_t id);
/* The same without ticks: ticks with this id come later or came before. */
int tally_key(struct tally *tally, const struct count_key *key, uint32_t id);
/* Time that a thread waited in a stack. -ENOENT: as tally_count. */
int tally_wait(
	struct tally *tally, const struct count_key *key, const struct tally_wait *wait);
/* The same for one tick, at its time. */
int tally_tick(struct tally *tally, const struct count_key *key, uint32_t cpu, uint64_t time_ns);
/* So long took the ticks of the count that one of these functions added last. */
void tally_took(struct tally *tally, uint64_t ns);
/* The reason of a tick that one of these functions refused with err. */
enum lost_reason tally_lost(int err);
/* Call it after each drain if times are kept: returns the number of ticks that were dropped. */
uint64_t tally_resolve(struct tally *tally, bool last);
/* Counts the ticks before until_ns, which are the first timeline.due of timeline.ticks; the others
 * stay for the next interval. */
void tally_cut(struct tally *tally, uint64_t until_ns);
/* Removes the counts and begins the next interval. True: and an epoch, which BPF must learn. */
bool tally_next(struct tally *tally);
