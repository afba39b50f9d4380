/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_table.h - the names of the places in one code of HotSpot's: the method, its source
 * file and line, and above it the methods that the compiler inlined there. A worker makes a table
 * once (language/java_code.h); then places are looked up without one. A table is a run of bytes:
 * the head, places by rising end, frames, and text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JAVA_TABLE_BYTES_MAX (256U << 10)
#define JAVA_DEPTH_MAX 256 /* frames of one place */

struct java_table {
	uint32_t bytes; /* of all */
	uint32_t places_len, frames_len, text_bytes;
};

/* Places up to this one, from the end of the one before. */
struct java_place {
	uint32_t end;
	uint32_t frame; /* index */
};

struct java_frame {
	uint32_t name, file; /* in the text */
	uint32_t line;       /* 0: unknown */
	uint32_t outer;      /* of what it is a part: a lower index; its own: of nothing */
};

/* Is it as long as it says, and does all of it refer to what there is? */
bool java_table_valid(const void *data, size_t size);

/* Both of a valid table. */
/* The innermost frame of a place; where no place is, the first frame: the method alone. */
const struct java_frame *java_table_find(const struct java_table *table, uint32_t place);
/* The frame that it is a part of; NULL: none. */
const struct java_frame *java_table_outer(
	const struct java_table *table, const struct java_frame *frame);
const char *java_table_text(const struct java_table *table, uint32_t at);
