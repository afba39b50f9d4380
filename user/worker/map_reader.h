/* SPDX-License-Identifier: Apache-2.0 */
/* worker/map_reader.h - a process's JIT names: its perf map, its jitdump, or both, read as they
 * grow. If both know an address, the jitdump wins, because it has times; so no name comes twice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jitmap/jitdump.h"
#include "jitmap/perfmap.h"
#include "worker/follower.h"
#include "wire/name.h"

#define MAP_READER_BYTES_MAX (256UL << 20) /* of a map */
#define MAP_READER_DUMP_BYTES_MAX (1UL << 30)

struct map_reader {
	struct perfmap map;
	struct follower map_file;
	struct jitdump *dump; /* NULL: none so far */
	struct follower dump_file;
};

/* 0 or -ENOMEM */
int map_reader_new(struct map_reader **out);
void map_reader_free(struct map_reader *reader);

/* Like follower_feed. A jitdump of the other byte order or another version is WORKER_BYTE_ORDER, a
 * malformed one WORKER_DAMAGED; names read before are kept. */
enum worker_status map_reader_feed(struct map_reader *reader, int fd, bool *more);
enum worker_status map_reader_feed_dump(struct map_reader *reader, int fd, bool *more);

/* The code at an address at a time (CLOCK_MONOTONIC; UINT64_MAX: latest), as far as the source has
 * times. False: no entry. Strings are valid until the next feed. */
bool map_reader_find(
	struct map_reader *reader, uint64_t addr, uint64_t at_ns, struct worker_name *out);
size_t map_reader_memory(const struct map_reader *reader);
