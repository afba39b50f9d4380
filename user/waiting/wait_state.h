/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_state.h - the state of a thread that has no CPU, in words: the mark at the leaf of
 * its stack. The kernel's functions that wait say for what. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

#define WAIT_FUNCTIONS 4 /* so many of the kernel half may say it: the innermost ones are for all */

/* A mark (profile/marks.h). functions: of the kernel half, leaf first; len may be 0. */
const char *wait_state(enum thread_class class, const char *const *functions, size_t len);

struct wait_frame {
	const char *name;
	bool language; /* of a language's code, and not of a file */
};

/* Does the thread wait for work, as those of pools and event loops do? peer: it polls one
 * connection that the program made, for an answer. frames: of the user half, leaf first. */
bool wait_is_idle(const char *state, bool peer, const struct wait_frame *frames, size_t len);
