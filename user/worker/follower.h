/* SPDX-License-Identifier: Apache-2.0 */
/* worker/follower.h - a file that a stranger writes while we read it.
 * It is read on from where the last reading ended, and from the start when it was truncated,
 * rewritten or replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "wire/status.h"

#define FOLLOWER_FEED_BYTES (16UL << 20) /* read at a time */
#define FOLLOWER_MARK_BYTES 64

/* Bytes of the file as they were when they were read. */
struct follower_mark {
	uint64_t offset;
	size_t len;
	char bytes[FOLLOWER_MARK_BYTES];
};

struct follower {
	uint64_t offset; /* how far it is read */
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	struct follower_mark head, tail;
	enum worker_status broken; /* not WORKER_OK: nothing behind the offset can be read */
};

/* Where the bytes go. */
struct follower_sink {
	/* The next bytes: WORKER_OK; WORKER_MEMORY, the file is begun anew; another status, it is
	 * read no further. */
	enum worker_status (*take)(void *ctx, const char *bytes, size_t len);
	/* What was taken is to be forgotten. 0 or -ENOMEM. */
	int (*restart)(void *ctx);
	void *ctx;
	uint64_t bytes_max; /* of the file; what is behind is not read */
};

/* Takes what the file has more than before, FOLLOWER_FEED_BYTES at most; *more: there is more to be
 * had now. WORKER_OK, WORKER_UNREADABLE, WORKER_MEMORY, or why the sink took no more. */
enum worker_status follower_feed(
	struct follower *follower, int fd, const struct follower_sink *sink, bool *more);
