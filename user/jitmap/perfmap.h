/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/perfmap.h - names that a JIT writes into perf-PID.map, read as the file grows.
 * A line is `START SIZE NAME`: hex numbers, with or without 0x, in any case and padding; blanks or
 * tabs between; the name is the rest of the line, including blanks. Lines are in no order. A later
 * line overrides earlier ones for the bytes that they share. Source: the kernel's
 * tools/perf/Documentation/jit-interface.txt, and the files that runtimes write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

#define PERFMAP_RANGES_MAX (1U << 21)
#define PERFMAP_NAMES_BYTES_MAX (64U << 20)
#define PERFMAP_NAME_MAX 4096 /* longer names are cut */

struct perfmap_limits {
	size_t ranges_max;
	size_t names_bytes_max;
};

#define PERFMAP_LIMITS                                      \
	{                                                   \
		PERFMAP_RANGES_MAX, PERFMAP_NAMES_BYTES_MAX \
	}

struct perfmap_stats {
	size_t lines;  /* accepted */
	size_t bad;    /* malformed: bad hex, size 0 or over 4 GiB, overflow */
	size_t full;   /* dropped at a limit, which lasts until the reset */
	size_t cut;    /* names cut */
	size_t ranges; /* including some that later ones hide until the next merge */
	size_t memory_bytes;
};

struct perfmap_range {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* offset in names; 0 is "" */
};

struct perfmap_level {
	struct perfmap_range *ranges; /* sorted, disjoint */
	size_t len;
};

#define PERFMAP_LEVELS_MAX 40

struct perfmap {
	struct perfmap_limits limits;
	struct buf names;
	size_t names_next; /* unused names are removed at this length */
	struct buf tail;   /* an incomplete line */
	bool is_full;
	VEC(struct perfmap_range) fresh; /* lines in the file's order, not yet in a level */
	struct perfmap_level levels[PERFMAP_LEVELS_MAX]; /* later ones win over earlier ones */
	size_t levels_len;
	struct perfmap_stats stats;
};

int perfmap_init(struct perfmap *map, const struct perfmap_limits *limits);
void perfmap_done(struct perfmap *map);

/* Takes the next bytes of the file, cut anywhere. 0 or -ENOMEM; then the rest of the bytes is lost
 * and the map is still valid. */
int perfmap_feed(struct perfmap *map, const void *data, size_t len);
/* For a file that was truncated and rewritten: drops everything except the limits. 0 or -ENOMEM. */
int perfmap_reset(struct perfmap *map);

/* False: no line covers the address, or the latest one has no name, or -ENOMEM. The name is as
 * written and valid until the next feed or reset. */
bool perfmap_find(struct perfmap *map, uint64_t addr, const char **name);
void perfmap_stats(const struct perfmap *map, struct perfmap_stats *out);
