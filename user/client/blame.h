/* SPDX-License-Identifier: Apache-2.0 */
/* client/blame.h - files and maps that cost a worker, and how long each is refused.
 * A SIGKILL comes from outside: no limit of a worker's sends it, nor does the worker. Either the
 * kernel is short of memory, or somebody has the worker's user. So a file is to blame only if its
 * worker had grown, and even then the first time is forgiven. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "client/lane.h"

#define BLAME_MAX 4096 /* when full, all are dropped */
#define BLAME_REFUSE_MAX_NS 3600000000000ULL

enum blame_what { BLAME_ROWS, BLAME_SYMBOLS, BLAME_MAP, BLAME_STATE, BLAME_CODES };

struct blame {
	struct hash strikes; /* subject → refused until, in ms, << 8 | number of losses */
	uint64_t refuse_ns;
	uint64_t refused; /* requests */
};

void blame_done(struct blame *blame);
/* The lane was lost: blames the request's subject if the lane is busy; then the lane is idle. */
void blame_loss(struct blame *blame, struct lane *lane, enum blame_what what);
void blame_forgive(struct blame *blame, enum blame_what what, uint64_t id);
/* Is it refused at the moment? The second function also counts a refused request. */
bool blame_holds(const struct blame *blame, enum blame_what what, uint64_t id);
bool blame_refuses(struct blame *blame, enum blame_what what, uint64_t id);
