/* SPDX-License-Identifier: Apache-2.0 */
/* client/blame.h - what cost a worker, and until when it is left alone.
 * A loss by somebody's SIGKILL may have been nobody's fault: the first one is forgiven. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "client/lane.h"

#define BLAME_MAX 4096 /* full: all is forgotten */
#define BLAME_REFUSE_MAX_NS 3600000000000ULL

enum blame_what { BLAME_ROWS, BLAME_SYMBOLS, BLAME_MAP, BLAME_STATE };

struct blame {
	struct hash strikes; /* what → until, in ms, << 8 | how often */
	uint64_t refuse_ns;
	uint64_t refused; /* requests */
};

void blame_done(struct blame *blame);
/* The lane was lost: over a request about this, if it is busy; then it is idle. */
void blame_loss(struct blame *blame, struct lane *lane, enum blame_what what);
void blame_forgive(struct blame *blame, enum blame_what what, uint64_t id);
/* Is it to be left alone? The second also counts a request that is not made. */
bool blame_holds(const struct blame *blame, enum blame_what what, uint64_t id);
bool blame_refuses(struct blame *blame, enum blame_what what, uint64_t id);
