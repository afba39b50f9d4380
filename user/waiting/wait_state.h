/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_state.h - the state of a thread that has no CPU, in words: the mark at the leaf of its
 * stack. The kernel's function that waits says for what. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

/* A mark (profile_is_mark). function: the innermost one of the kernel half; NULL or "": unknown. */
const char *wait_state(enum thread_class class, const char *function);

/* Do threads in this state mostly wait for work: those of event loops? */
bool wait_state_is_idle(const char *state);
/* Is it a function in which threads of a pool wait for work, or a runtime's own for the time? */
bool wait_function_is_idle(const char *name);
