/* SPDX-License-Identifier: Apache-2.0 */
/* goroutine.h - the stacks of a Go thread, from the runtime's own records (Go's
 * src/runtime/runtime2.go: g and m): they lie close together, without guard pages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "space.h"

struct goroutine {
	uint64_t g; /* address of its record */
	uint64_t low, high;
};

/* How a function of the runtime goes from one stack to another. */
enum goroutine_change {
	GOROUTINE_NESTS,   /* what runs there returns, or never does: morestack */
	GOROUTINE_LEAVES,  /* the thread's stack begins anew */
	GOROUTINE_RESUMES, /* a goroutine that was left goes on */
};

/* The goroutine of the thread, or the thread's own (g0), whose stack sp is in; false: neither. */
bool goroutine_find(
	const struct space *space, uint64_t thread_base, uint64_t sp, struct goroutine *out);
enum goroutine_change goroutine_change_at(struct space *space, uint64_t pc);
/* Has the thread left its goroutine for good, by this chain? Nothing is above morestack then. */
bool goroutine_is_left(struct space *space, const uint64_t *at, uint32_t len);
