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

/* Do threads in this state mostly wait for work? Those of event loops do. */
bool wait_state_is_idle(const char *state);
/* And do they if one of their functions says so? */
bool wait_state_may_idle(const char *state);
/* native: the function is of a file, not of a language's code. */
bool wait_function_is_idle(const char *name, bool native);
