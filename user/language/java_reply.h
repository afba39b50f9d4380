/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_reply.h - the result of reading an image: the ranges that are wanted, or else a
 * table for each code. A run of bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "language/java_image.h"
#include "language/java_table.h"

#define JAVA_REPLY_BYTES_MAX (4U << 20)

struct java_reply {
	uint32_t ranges_len; /* struct java_range follow; 0: tables */
	/* Of each its number of bytes, a u64 that is a multiple of 8, and those. 0: it has none. */
	uint32_t tables_len;
};

/* For so many codes. False: it is malformed, or a table in it is. */
bool java_reply_valid(const void *data, size_t size, size_t codes_len);
/* Both of a valid one. */
const struct java_range *java_reply_ranges(const struct java_reply *reply);
/* The next table, NULL if the code has none; *at is 0 for the first one. */
const struct java_table *java_reply_next(const struct java_reply *reply, size_t *at);
