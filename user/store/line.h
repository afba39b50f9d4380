/* SPDX-License-Identifier: Apache-2.0 */
/* store/line.h - a line of folded text: `frame;frame;frame COUNT`, root first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

struct line {
	struct bytes stack; /* without the count */
	uint64_t count;
};

/* Reads the next line and its end. False: the line has no count, or no end. */
bool line_read(struct cursor *c, struct line *out);

/* Removes the mark of an idle thread (profile/marks.h) from a stack's end. False: it had none. */
bool line_take_idle(struct bytes *stack);
/* Removes the first frame from a stack and returns it; empty: there is none. */
struct bytes line_frame(struct bytes *stack);
