/* SPDX-License-Identifier: Apache-2.0 */
/* agent/calls.h - can the callers on guessed stacks have called the frames below them?
 * From a guess on (agent/guess.h) each pair of neighbours is checked, once: a worker reads the code
 * before the return address, and follows a direct call (sym/elf_calls.h). First calls_want collects
 * the pairs of an interval, then calls_resolve asks, one batch a file, then calls_cut returns for
 * each stack how much of it is possible. Callers in code without a file are not checked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "sampler/tally.h"
#include "sym/elf_calls.h"

/* Pairs. An interval's further ones are not checked; the next interval begins with none. */
#define CALLS_KNOWN_MAX (1U << 17)

struct account;
struct objects;
struct worker_client;

/* Frames as in bpf/abi.h, without FRAME_HOW_MASK; of a callee in no file the kind alone. */
struct calls_pair {
	uint64_t caller, callee;
	uint64_t name;   /* hash of the function by which the call leaves the caller's file */
	uint8_t verdict; /* enum elf_call_verdict */
	bool done;
};

struct calls {
	struct hash known;                  /* hash of a pair → enum elf_call_verdict */
	VEC(struct calls_pair) wanted;      /* not known yet */
	VEC(struct elf_call_query) queries; /* of the current batch */
	VEC(struct elf_call) answers;
	uint64_t refused; /* pairs over the limit, not yet in the account */
};

/* The worker that answers, the deadline, and the account that counts pairs. */
struct calls_source {
	struct objects *objects;
	struct worker_client *worker;
	uint64_t until_ns;
	struct account *account;
};

void calls_done(struct calls *calls);
/* Begins an interval. */
void calls_begin(struct calls *calls);
/* Collects the pairs from the frame below `from` on; from >= 1. -ENOMEM */
int calls_want(struct calls *calls, const struct tally_stack *stack, uint32_t from);
/* Asks for the collected pairs. A pair that no worker checked in time is possible in this interval.
 * -ENOMEM */
int calls_resolve(struct calls *calls, const struct calls_source *source);
/* The number of frames, from the leaf, that are possible: where a pair is impossible, those below
 * the latest guess that led to it. `from` as above: its frame is a guess. */
uint32_t calls_cut(const struct calls *calls, const struct tally_stack *stack, uint32_t from);
/* The same for a stack without a guess: its outermost pair alone is checked. A coroutine may begin
 * on a stack whose first word is the address of some code: a call before that is by chance. */
int calls_want_root(struct calls *calls, const struct tally_stack *stack);
uint32_t calls_cut_root(const struct calls *calls, const struct tally_stack *stack);
