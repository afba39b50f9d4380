/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - what went wrong, by function; and which of it is accepted.
 * The file of exceptions has a line each: OBJECT FUNCTION OUTCOME REASON..., the first three as
 * for fnmatch(3). OUTCOME is how the walk ended by bpf/reasons.h, or "chain": at the root, but by
 * other frames than the true ones. The first line that matches holds. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "chain.h"
#include "space.h"

struct exception {
	char *object, *function, *outcome, *reason;
	unsigned int line;
};

struct failure {
	const char *object, *function;
	const char *outcome;
	const struct exception *exception; /* NULL: not accepted */
	uint64_t count;
};

struct tally {
	VEC(struct exception) exceptions;
	VEC(struct failure) failures;
	uint64_t instructions, root, equal, in_flight;
};

void tally_load(struct tally *tally, const char *path);
/* The walk said `seen` where `want` is true; tells the first of each kind on stderr in full. */
void tally_fail(struct tally *tally, struct space *space, const struct chain *seen,
	const struct chain *want);
/* One line for people and scripts on stdout, and the failures below it, each accepted one with the
 * number of the line that accepts it. True: none that is not accepted. */
bool tally_print(const struct tally *tally, const char *name);
void tally_done(struct tally *tally);
