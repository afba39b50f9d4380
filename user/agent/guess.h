/* SPDX-License-Identifier: Apache-2.0 */
/* agent/guess.h - from which frame on a user stack is a guess. */
#pragma once

#include <stdint.h>

#include "sampler/tally.h"

struct objects;
struct processes;

/* The first frame from the leaf, by index, that nothing proves to be the caller of the frame below
 * it; stack->frames_len: all are proven. */
uint32_t guess_begin(struct objects *objects, struct processes *processes,
	const struct tally_task *task, const struct tally_stack *stack);
