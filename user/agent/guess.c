/* SPDX-License-Identifier: Apache-2.0 */
/* agent/guess.c - a step by rule is exact, a word of the stack that may be a return address is a
 * guess. A chain of frame pointers out of code without rows is exact only in code of a runtime that
 * keeps it: a run of such frames begins in the code that the runtime generated or brought, and ends
 * in the runtime's own file, which has rows. HotSpot keeps the chain if it was asked to. Its
 * interpreter returns to places that no call precedes; other runtimes do not. */
#include "agent/guess.h"

#include "files/object.h"
#include "files/objects.h"
#include "files/processes.h"
#include "wire/status.h"

/* WORKER_* of the file that the frame is in; 0: unknown, or no file. */
static uint32_t contents_of(struct objects *objects, uint64_t frame)
{
	const struct object *object = NULL;

	if (FRAME_KIND(frame) == FRAME_FILE)
		object = objects_find(
			objects, (uint32_t)((frame & FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT));
	return object ? object->contents : 0;
}

/* The run of frames whose first chained one is `at`: index of the frame that it ends in. */
static uint32_t run_end(const struct tally_stack *stack, uint32_t at)
{
	while (at + 1 < stack->frames_len && (stack->frames[at + 1] & FRAME_BY_CHAIN))
		at++;
	return at;
}

/* Is the chain of this run the rule of the runtime whose file the run ends in? */
static bool is_run_proven(struct objects *objects, struct processes *processes,
	const struct tally_task *task, const struct tally_stack *stack, uint32_t at, uint32_t end)
{
	uint32_t contents = contents_of(objects, stack->frames[end]) & WORKER_RUNTIMES;
	bool hotspot = contents & WORKER_IS_HOTSPOT;

	if (!contents)
		return false;
	for (; at <= end; at++) {
		uint64_t below = stack->frames[at - 1];

		if (!hotspot && (stack->frames[at] & FRAME_BY_GUESS))
			return false;
		if (FRAME_KIND(below) == FRAME_FILE &&
			!(contents_of(objects, below) & WORKER_RUNTIMES))
			return false;
	}
	return !hotspot ||
		processes_preserve_fp(
			processes, processes_id(processes, task->key.tgid, task->key.start_ns));
}

uint32_t guess_begin(struct objects *objects, struct processes *processes,
	const struct tally_task *task, const struct tally_stack *stack)
{
	for (uint32_t at = 1; at < stack->frames_len; at++) {
		uint64_t how = stack->frames[at] & FRAME_HOW_MASK;
		uint32_t end;

		if (how == FRAME_BY_GUESS)
			return at;
		if (how == 0)
			continue;
		end = run_end(stack, at);
		if (!is_run_proven(objects, processes, task, stack, at, end))
			return at;
		at = end;
	}
	return stack->frames_len;
}
