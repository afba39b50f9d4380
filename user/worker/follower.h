/* SPDX-License-Identifier: Apache-2.0 */
/* worker/follower.h - reads a file while an untrusted process writes it.
 * Each reading continues where the last one ended, or from the start if the file was truncated,
 * rewritten or replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "wire/status.h"

#define FOLLOWER_FEED_BYTES (16UL << 20) /* limit of one reading */
#define FOLLOWER_MARK_BYTES 64

/* A copy of bytes at one place, to detect changes. */
struct follower_mark {
	uint64_t offset;
	size_t len;
	char bytes[FOLLOWER_MARK_BYTES];
};

struct follower {
	uint64_t offset; /* bytes read so far */
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	struct follower_mark head, tail;
	enum worker_status broken; /* not WORKER_OK: reading stopped at offset for this reason */
};

/* Receives the bytes. */
struct follower_sink {
	/* The next bytes: WORKER_OK; WORKER_MEMORY: the file is read from the start; another
	 * status: reading stops. */
	enum worker_status (*take)(void *ctx, const char *bytes, size_t len);
	/* Drops everything taken so far. 0 or -ENOMEM. */
	int (*restart)(void *ctx);
	void *ctx;
	uint64_t bytes_max; /* limit of the file; the rest is not read */
};

/* Reads new data, at most FOLLOWER_FEED_BYTES; *more: further data are available now. WORKER_OK,
 * WORKER_UNREADABLE, WORKER_MEMORY, or the sink's reason to stop. */
enum worker_status follower_feed(
	struct follower *follower, int fd, const struct follower_sink *sink, bool *more);
