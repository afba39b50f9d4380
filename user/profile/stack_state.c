/* SPDX-License-Identifier: Apache-2.0 */
/* profile/stack_state.c - marks before the first frame of user code are of the kernel half. */
#include "profile/stack_state.h"

#include <stdbool.h>
#include <string.h>

enum stack_state stack_state_of(const struct profile *profile, uint32_t stack)
{
	enum stack_state state = STACK_STATE_NONE;

	for (uint32_t i = 0; i < profile->stacks.data[stack].len; i++) {
		const struct profile_frame *frame = profile_stack_frame(profile, stack, i);
		bool is_code = frame->class == PROFILE_NATIVE || frame->class == PROFILE_JIT ||
			frame->class == PROFILE_LANGUAGE;
		const char *name = profile_text(profile, frame->name);

		if (state == STACK_STATE_NONE && is_code && frame->address > 0)
			state = STACK_STATE_COMPLETE;
		else if (state == STACK_STATE_NONE || frame->class != PROFILE_MARK)
			continue;
		else if (strcmp(name, PROFILE_TRUNCATED) == 0)
			return STACK_STATE_TRUNCATED;
		else if (strcmp(name, PROFILE_GUESSED) == 0)
			state = STACK_STATE_GUESSED;
	}
	return state;
}
