/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_reply.c - whoever made it may have been taken over by what it read. */
#include "language/java_reply.h"

#include "base/cursor.h"

static bool ranges_valid(struct cursor *c, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t start = cursor_u64(c), end = cursor_u64(c);

		if (c->bad || end <= start || end - start > JAVA_RANGE_BYTES_MAX)
			return false;
	}
	return cursor_left(c) == 0;
}

static bool tables_valid(struct cursor *c, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t bytes = cursor_u64(c);
		const uint8_t *table = cursor_take(c, bytes % 8 == 0 ? bytes : SIZE_MAX);

		if (c->bad || (bytes > 0 && !java_table_valid(table, bytes)))
			return false;
	}
	return cursor_left(c) == 0;
}

bool java_reply_valid(const void *data, size_t size, size_t codes_len)
{
	struct cursor c = cursor_init(data, size);
	uint32_t ranges_len = cursor_u32(&c), tables_len = cursor_u32(&c);

	if (c.bad || size > JAVA_REPLY_BYTES_MAX || ranges_len > JAVA_RANGES_MAX ||
		tables_len != (ranges_len ? 0 : codes_len))
		return false;
	return ranges_len ? ranges_valid(&c, ranges_len) : tables_valid(&c, tables_len);
}

const struct java_range *java_reply_ranges(const struct java_reply *reply)
{
	return (const struct java_range *)(reply + 1);
}

const struct java_table *java_reply_next(const struct java_reply *reply, size_t *at)
{
	const uint64_t *bytes = (const uint64_t *)((const char *)(reply + 1) + *at);

	*at += sizeof(*bytes) + *bytes;
	return *bytes ? (const struct java_table *)(bytes + 1) : NULL;
}
