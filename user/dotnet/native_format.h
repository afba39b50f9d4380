/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/native_format.h - the number encoding, sparse array and hash table of ReadyToRun images.
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md and
 * src/coreclr/vm/nativeformatreader.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* 1 to 5 bytes; the low bits of the first give the length. */
uint32_t native_format_unsigned(struct cursor *c);
int32_t native_format_signed(struct cursor *c);

struct native_array {
	struct bytes bytes;
	uint32_t base; /* start of the index of blocks */
	uint32_t len;
	uint8_t index_size; /* 0, 1, 2: offsets of blocks have 1, 2 or 4 bytes */
};

/* False: outside the bytes. */
bool native_array_init(struct native_array *array, struct bytes bytes);
/* Sets *out to the element's bytes; false: no such element. */
bool native_array_find(const struct native_array *array, uint32_t index, struct cursor *out);

/* Calls take for each entry of a hash table, with a cursor at its bytes, until it returns a
 * negative, which is returned, or after entries_max entries. -EBADMSG: the table points outside its
 * bytes. */
int native_table_walk(struct bytes bytes, uint32_t entries_max,
	int (*take)(void *ctx, struct cursor entry), void *ctx);
