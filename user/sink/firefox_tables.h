/* SPDX-License-Identifier: Apache-2.0 */
/* sink/firefox_tables.h - the tables of one thread in a Firefox profile, whose rows refer to each
 * other by number: a stack to the stack below it and a frame, a frame to a function, a function to
 * its library. Errors are out's. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#define FIREFOX_NONE (-1)

/* Numbers of the profile that a thread has met, in order. */
struct firefox_met {
	VEC(uint64_t) keys;
	struct hash index;
};

struct firefox_tables {
	const struct profile *profile;
	struct buf *out;
	uint32_t *func_of; /* by frame: a frame that has the same function */
	struct firefox_met frames, funcs, resources, strings, stacks; /* of the thread at work */
};

int firefox_tables_init(
	struct firefox_tables *tables, const struct profile *profile, struct buf *out);
void firefox_tables_done(struct firefox_tables *tables);
/* Before each thread. */
void firefox_tables_clear(struct firefox_tables *tables);
/* The number of a stack; FIREFOX_NONE: it has no frames. */
int64_t firefox_stack(struct firefox_tables *tables, uint32_t stack);
/* The number of a string of the profile. */
int64_t firefox_string(struct firefox_tables *tables, uint32_t string);
/* Appends the tables with all that was met, each with a comma before it. */
void firefox_tables_write(struct firefox_tables *tables);
/* A number, or the text for FIREFOX_NONE. */
void firefox_number(struct buf *out, int64_t number, const char *none);
