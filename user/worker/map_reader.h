/* SPDX-License-Identifier: Apache-2.0 */
/* worker/map_reader.h - a perf map as a file that a stranger writes while we read it.
 * It is read on from where the last reading ended, and from the start when it was truncated,
 * rewritten or replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sym/perfmap.h"
#include "worker/status.h"

#define MAP_READER_BYTES_MAX (256UL << 20) /* of one file; what is behind is not read */
#define MAP_READER_FEED_BYTES (16UL << 20) /* at a time */
#define MAP_READER_MARK_BYTES 64

/* Bytes of the file as they were when they were read. */
struct map_reader_mark {
	uint64_t offset;
	size_t len;
	char bytes[MAP_READER_MARK_BYTES];
};

struct map_reader {
	struct perfmap map;
	uint64_t offset; /* how far it is read */
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	struct map_reader_mark head, tail;
};

/* 0 or -ENOMEM */
int map_reader_new(struct map_reader **out);
void map_reader_free(struct map_reader *reader);

/* Takes what the file has more than before, MAP_READER_FEED_BYTES at most; *more: there is more to
 * be had now. WORKER_OK, WORKER_UNREADABLE, WORKER_MEMORY. */
enum worker_status map_reader_feed(struct map_reader *reader, int fd, bool *more);
