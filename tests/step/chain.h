/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - a stack as a list of places, innermost first. */
#pragma once

#include <stdint.h>

#include "bpf/abi.h"

struct chain {
	uint32_t len;
	uint32_t end;     /* enum stack_end */
	uint32_t guessed; /* frames that a step without proof found */
	/* The instruction that is about to run; where a signal came; one less than a return
	 * address: as in a sample. */
	uint64_t at[STACK_USER_FRAMES_MAX];
};
