/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.h - the true stack of a thread, from having watched every call, return and signal.
 * One list of entries for each stack that the thread runs on by turns; a signal handler's entries
 * go on the list of what it interrupted, wherever its own stack lies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "chain.h"
#include "insn.h"
#include "space.h"

struct shadow_entry {
	uint64_t slot; /* where the return address lies; of a signal, the handler's first sp */
	uint64_t pc;
	bool exact; /* a signal came at pc */
};

struct shadow_stack {
	uint64_t home;      /* end of the mapping that it is in; of a goroutine, its g */
	uint64_t low, high; /* of a goroutine, which may be moved */
	VEC(struct shadow_entry) entries;
};

struct shadow {
	VEC(struct shadow_stack) stacks;
	size_t now;
	uint64_t low, high;   /* the mapping that sp is in; of a Go thread, the goroutine's stack */
	uint64_t thread_base; /* of a Go thread; else 0 */
	uint64_t jumps;     /* times that control may have gone elsewhere than by call and return */
	bool in_register;   /* the innermost return address was popped and is not used yet */
};

/* One instruction that was run. */
struct shadow_step {
	enum insn_class class;
	uint64_t syscall;
	uint64_t pc, sp; /* before */
	uint64_t next_pc, next_sp;
};

void shadow_done(struct shadow *shadow);
/* Forgets everything; the thread begins at sp, with the callers that are given, or none: each
 * one's return address is looked for up the stack. */
void shadow_start(struct shadow *shadow, struct space *space, uint64_t sp, const struct chain *as);
void shadow_copy(struct shadow *to, const struct shadow *from);
void shadow_step(struct shadow *shadow, struct space *space, const struct shadow_step *step);
/* A handler was entered at sp; it interrupted pc. */
void shadow_signal(struct shadow *shadow, struct space *space, uint64_t pc, uint64_t sp);
/* The chain as it must be while pc is about to run. */
void shadow_chain(const struct shadow *shadow, uint64_t pc, struct chain *out);
