/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/sources.h - the sources of samples that -e names:
 *     SOURCE[=VALUE][,KEY=VALUE]...[,SOURCE...]...
 * A comma begins another source, unless a key that the source before it has and `=` follow. None
 * of these sources has keys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "waiting/walls.h"

#define SOURCES_WALL_HZ 20

struct sources {
	bool cpu;         /* ticks of CPU clocks, at -F */
	struct walls_options walls; /* visits to threads that wait; hz 0: none */
};

void sources_put_walls(struct sources *sources, uint32_t hz);
/* Adds those of the text. -EINVAL with why: a source or value is none, or is named twice. */
int sources_add(struct sources *sources, const char *text, struct why *why);
