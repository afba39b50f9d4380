/* SPDX-License-Identifier: Apache-2.0 */
/* store/retention.h - decides which segments are too old or too many, and which become one. The
 * writer of the store acts on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct retention {
	uint64_t keep_ns;
	uint64_t bytes_max;
	uint64_t whole_ns; /* segments that ended longer ago become one an hour */
	/* Above three quarters of it the oldest hours are merged, whatever their age; above it the
	 * oldest segments are removed. */
	size_t segments_max;
};

/* How many of the oldest segments to remove. */
size_t retention_expired(const struct retention *r, const struct store *store, uint64_t now_ns);

/* The bytes that one interval may take, so that the store has room for all intervals of the time
 * that it keeps. Short intervals are more than it keeps one by one; each may take
 * RETENTION_BYTES_MIN. */
#define RETENTION_BYTES_MIN 65536
uint64_t retention_interval_bytes(const struct retention *r, uint64_t interval_ns);

struct retention_run {
	size_t first,
		len; /* entries of one hour (UTC), one rate and the same labels; at least two */
};

/* The oldest run to merge into one segment. False: none. */
bool retention_find_run(const struct retention *r, const struct store *store, uint64_t now_ns,
	struct retention_run *out);
