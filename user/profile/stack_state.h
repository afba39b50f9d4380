/* SPDX-License-Identifier: Apache-2.0 */
/* profile/stack_state.h - is the user half of a stack complete? By its frames and marks. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

enum stack_state {
	STACK_STATE_NONE,      /* no user half, or one without addresses, as from folded text */
	STACK_STATE_COMPLETE,  /* to the root by rule; frames in its middle may be left out */
	STACK_STATE_GUESSED,   /* to the root, but a step was a guess */
	STACK_STATE_TRUNCATED, /* not to the root */
};

enum stack_state stack_state_of(const struct profile *profile, uint32_t stack);
