/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - a stack as a list of places, innermost first. */
#pragma once

#include <stdint.h>

#define CHAIN_MAX 512

struct place {
	uint64_t pc;
	uint64_t sp; /* 0 where it is not known */
	uint32_t exact; /* pc is an instruction that was interrupted, not a return address */
};

struct chain {
	uint32_t len;
	uint32_t end; /* enum stack_end */
	struct place at[CHAIN_MAX];
};
