/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_table.c - a worker may have been taken over by what it read: all numbers are
 * checked once, when the table comes. */
#include "language/java_table.h"

#include <string.h>

static const struct java_place *places_of(const struct java_table *t)
{
	return (const struct java_place *)(t + 1);
}

static const struct java_frame *frames_of(const struct java_table *t)
{
	return (const struct java_frame *)(places_of(t) + t->places_len);
}

static const char *text_of(const struct java_table *t)
{
	return (const char *)(frames_of(t) + t->frames_len);
}

static bool places_valid(const struct java_table *t)
{
	const struct java_place *places = places_of(t);

	for (uint32_t i = 0; i < t->places_len; i++)
		if (places[i].frame >= t->frames_len ||
			(i > 0 && places[i].end <= places[i - 1].end))
			return false;
	return true;
}

/* A frame is a part of a lower one, so there are no cycles; how long the way is stays bounded. */
static bool frames_valid(const struct java_table *t)
{
	const struct java_frame *frames = frames_of(t);

	for (uint32_t i = 0; i < t->frames_len; i++) {
		uint32_t at = i, depth = 0;

		if (frames[i].name >= t->text_bytes || frames[i].file >= t->text_bytes ||
			frames[i].outer > i)
			return false;
		while (frames[at].outer != at && ++depth < JAVA_DEPTH_MAX)
			at = frames[at].outer;
		if (depth == JAVA_DEPTH_MAX)
			return false;
	}
	return true;
}

bool java_table_valid(const void *data, size_t size)
{
	const struct java_table *t = data;
	uint64_t bytes;

	if (size < sizeof(*t) || size > JAVA_TABLE_BYTES_MAX || t->bytes != size)
		return false;
	bytes = sizeof(*t) + (uint64_t)t->places_len * sizeof(struct java_place) +
		(uint64_t)t->frames_len * sizeof(struct java_frame) + t->text_bytes;
	return bytes == size && t->frames_len > 0 && t->text_bytes > 0 &&
		text_of(t)[t->text_bytes - 1] == '\0' && places_valid(t) && frames_valid(t);
}

const struct java_frame *java_table_find(const struct java_table *t, uint32_t place)
{
	const struct java_place *places = places_of(t);
	uint32_t low = 0, high = t->places_len;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (places[middle].end < place)
			low = middle + 1;
		else
			high = middle;
	}
	return frames_of(t) + (low < t->places_len ? places[low].frame : 0);
}

const struct java_frame *java_table_outer(
	const struct java_table *t, const struct java_frame *frame)
{
	const struct java_frame *outer = frames_of(t) + frame->outer;

	return outer == frame ? NULL : outer;
}

const char *java_table_text(const struct java_table *t, uint32_t at)
{
	return text_of(t) + at;
}
