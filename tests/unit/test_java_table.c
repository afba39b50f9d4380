/* SPDX-License-Identifier: Apache-2.0 */
/* test_java_table.c - a table that a worker has sent is checked once, and then looked up. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "language/java_reply.h"

struct made {
	struct java_reply reply;
	uint64_t bytes;
	struct java_table table;
	struct java_place places[2];
	struct java_frame frames[3];
	char text[24];
};

static const struct made good = {
	.reply = { 0, 1 },
	.bytes = sizeof(struct made) - 16,
	.table = { sizeof(struct made) - 16, 2, 3, 24 },
	.places = { { 10, 2 }, { 20, 1 } },
	.frames = { { 0, 8, 1, 0 }, { 4, 8, 2, 0 }, { 4, 8, 3, 1 } },
	.text = "one\0two\0A.java",
};

static const char *name_at(const struct made *m, uint32_t place, uint32_t *line)
{
	const struct java_frame *frame = java_table_find(&m->table, place);

	*line = frame->line;
	return java_table_text(&m->table, frame->name);
}

static void a_place_is_up_to_its_end(void **state)
{
	static const struct {
		uint32_t place, line;
		const char *name;
	} rows[] = { { 0, 3, "two" }, { 10, 3, "two" }, { 11, 2, "two" }, { 20, 2, "two" },
		{ 21, 1, "one" }, { UINT32_MAX, 1, "one" } };
	const struct java_frame *frame;
	uint32_t line;

	(void)state;
	_Static_assert(sizeof(struct made) % 8 == 0, "as on the wire");
	assert_true(java_reply_valid(&good, sizeof(good), 1));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(name_at(&good, rows[i].place, &line), rows[i].name);
		assert_int_equal(line, rows[i].line);
	}
	frame = java_table_find(&good.table, 5);
	frame = java_table_outer(&good.table, frame);
	assert_int_equal(frame->line, 2);
	frame = java_table_outer(&good.table, frame);
	assert_int_equal(frame->line, 1);
	assert_string_equal(java_table_text(&good.table, frame->file), "A.java");
	assert_null(java_table_outer(&good.table, frame));
}

static void a_table_that_lies_is_refused(void **state)
{
	struct made m;

	(void)state;
#define LIES(field, value)                                                 \
	do {                                                               \
		m = good;                                                  \
		m.field = value;                                           \
		if (java_reply_valid(&m, sizeof(m), 1))                    \
			fail_msg("%s = %s is valid", #field, #value);      \
	} while (0)
	LIES(reply.ranges_len, 1);
	LIES(reply.tables_len, 0);
	LIES(reply.tables_len, 2);
	LIES(bytes, 0);
	LIES(bytes, good.bytes - 8);
	LIES(bytes, good.bytes + 8);
	LIES(bytes, UINT64_MAX - 7);
	LIES(table.bytes, 0);
	LIES(table.places_len, UINT32_MAX);
	LIES(table.places_len, 3);
	LIES(table.frames_len, 0);
	LIES(table.frames_len, UINT32_MAX);
	LIES(table.text_bytes, 23);
	LIES(table.text_bytes, 0);
	LIES(places[0].frame, 3);
	LIES(places[1].end, 10);
	LIES(places[0].end, UINT32_MAX);
	LIES(frames[0].outer, 1);
	LIES(frames[1].outer, 2);
	LIES(frames[2].outer, UINT32_MAX);
	LIES(frames[2].name, 24);
	LIES(frames[2].file, UINT32_MAX);
	LIES(text[23], 'x');
#undef LIES
	for (size_t size = 0; size < sizeof(good); size++)
		assert_false(java_reply_valid(&good, size, 1));
}

static void ranges_are_checked(void **state)
{
	struct {
		struct java_reply reply;
		struct java_range ranges[2];
	} m = { { 2, 0 }, { { 4096, 4100 }, { 8192, 8193 } } };

	(void)state;
	assert_true(java_reply_valid(&m, sizeof(m), 5));
	m.ranges[1].end = 8192;
	assert_false(java_reply_valid(&m, sizeof(m), 5));
	m.ranges[1].end = 8193 + JAVA_RANGE_BYTES_MAX;
	assert_false(java_reply_valid(&m, sizeof(m), 5));
	m.ranges[1].end = 8193;
	m.reply.tables_len = 5;
	assert_false(java_reply_valid(&m, sizeof(m), 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_up_to_its_end),
		cmocka_unit_test(a_table_that_lies_is_refused),
		cmocka_unit_test(ranges_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
