/* SPDX-License-Identifier: Apache-2.0 */
/* test_java_code.c - tables of HotSpot's code from the memory of its process: what is inlined
 * where, and lines. A process may have anything there. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "language/java_code.h"
#include "language/java_reply.h"
#include "made_java.h"

static const char *text_of(struct made_java *m, uint32_t place)
{
	static char text[512];
	_cleanup_(buf_done) struct buf reply = BUF_INIT, out = BUF_INIT;
	const struct java_frame *frame;
	const struct java_table *table;
	size_t at = 0;

	assert_int_equal(made_java_read(m, &reply), 0);
	table = java_reply_next((const struct java_reply *)reply.data, &at);
	if (!table)
		return "none";
	for (frame = java_table_find(table, place); frame; frame = java_table_outer(table, frame))
		buf_printf(&out, "%s%s %s:%u", out.len ? ", " : "",
			java_table_text(table, frame->name), java_table_text(table, frame->file),
			frame->line);
	snprintf(text, sizeof(text), "%s", buf_text(&out));
	return text;
}

static void make(struct made_java *m, enum made_java_kind kind)
{
	uint32_t outer, inner, leaf;

	made_java_begin(m, kind);
	outer = made_java_scope(m, 0, 1, 5);
	inner = made_java_scope(m, outer, 2, 12);
	leaf = made_java_scope(m, inner, 3, 25);
	made_java_place(m, 0, -1, 0);
	made_java_place(m, 1, 40, outer);
	made_java_place(m, 2, 60, inner);
	made_java_place(m, 3, 61, inner);
	made_java_place(m, 4, 90, leaf);
	made_java_place(m, 5, INT32_MAX, 0);
	made_java_finish(m, 6);
}

#define RUN "a.A.run Some.java"
#define INNER "a.B.inner Some.java:202, " RUN ":101"

static void inlined_methods_are_above_the_compiled_one(void **state)
{
	static const struct {
		uint32_t place;
		const char *text;
	} rows[] = {
		{ 0, RUN ":101" },  /* where the frame is made */
		{ 15, RUN ":101" },
		{ 16, RUN ":101" }, /* from here on by description */
		{ 40, RUN ":101" },
		{ 41, INNER },
		{ 60, INNER },
		{ 61, INNER },
		{ 62, "C.leaf Some.java:300, " INNER },
		{ 90, "C.leaf Some.java:300, " INNER },
		{ 91, RUN ":101" }, /* near the last one */
		{ 99, RUN ":101" },
		{ 100, RUN ":0" }, /* a handler */
	};

	(void)state;
	for (int kind = JAVA_TOGETHER; kind <= JAVA_APART; kind++) {
		struct made_java m;

		make(&m, kind);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			assert_string_equal(text_of(&m, rows[i].place), rows[i].text);
		assert_in_range(m.rounds, 1, 10);
		made_java_done(&m);
	}
}

static void interpreted_code_has_lines(void **state)
{
	static const struct {
		uint32_t place;
		const char *text;
	} rows[] = { { 0, RUN ":101" }, { 9, RUN ":101" }, { 10, RUN ":102" }, { 19, RUN ":102" },
		{ 20, RUN ":100" }, { 39, RUN ":100" } };
	struct made_java m;

	(void)state;
	make(&m, JAVA_APART);
	m.code.blob = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(text_of(&m, rows[i].place), rows[i].text);
	made_java_done(&m);
}

/* Each spoils the memory that was made. */
static void spoil_use(struct made_java *m)
{
	made_java_set(m, JAVA_BLOB - 16 + 8, 0, 1);
}

static void spoil_number(struct made_java *m)
{
	made_java_set(m, JAVA_BLOB + m->layout.compile_id, JAVA_COMPILE_ID + 1, 4);
}

static void spoil_method(struct made_java *m)
{
	made_java_set(m, JAVA_BLOB + m->layout.method, JAVA_METHODS + 0x10000, 8);
}

static void spoil_name(struct made_java *m)
{
	made_java_symbol(m, JAVA_METHODS + 0x5000, "ruN");
}

static void spoil_class(struct made_java *m)
{
	made_java_symbol(m, JAVA_METHODS + 0x4000, "a/Abc");
}

static void spoil_constant(struct made_java *m)
{
	made_java_set(m, JAVA_METHODS + 8, 0, 8);
}

/* A code whose place belongs to another one by now, or whose method does, has no table. */
static void a_code_that_changed_has_no_table(void **state)
{
	static void (*const spoils[])(struct made_java *m) = { spoil_use, spoil_number,
		spoil_method, spoil_name, spoil_class, spoil_constant };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoils); i++) {
		struct made_java m;

		make(&m, i % 2);
		spoils[i](&m);
		assert_string_equal(text_of(&m, 60), "none");
		made_java_done(&m);
	}
}

/* A block that was freed, and given to code of the same method, has the old number for a moment.
 * What HotSpot writes while code lives is another matter: a cache of places, a list's link. */
static void a_block_that_was_given_away_has_no_table(void **state)
{
	(void)state;
	for (int kind = JAVA_TOGETHER; kind <= JAVA_APART; kind++) {
		uint8_t first[512] = { 0 }, last[512];
		struct java_layout *l;
		struct java_range range;
		struct made_java m;
		size_t len;

		make(&m, kind);
		l = &m.layout;
		const uint16_t changes[] = { 0, l->method, l->compile_id, l->frame_complete,
			l->code, l->stub, kind == JAVA_APART ? l->tables : l->pcs_end,
			l->scopes_data, l->pcs, l->metadata };

		range = java_proof_range(l, JAVA_BLOB);
		len = (size_t)(range.end - range.start);
		memcpy(last, first, sizeof(last));
		assert_true(java_remained(l, first, last, len));
		last[l->block_bytes + 160] = 1;
		assert_true(java_remained(l, first, last, len));
		for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
			memcpy(last, first, sizeof(last));
			last[l->block_bytes + changes[i]] = 1;
			assert_false(java_remained(l, first, last, len));
		}
		assert_false(java_remained(l, first, first, (size_t)l->block_bytes + 8));
		made_java_done(&m);
	}
}

/* A place whose scopes are malformed has the method's name; the others are as they are. */
static void malformed_scopes_have_the_method_alone(void **state)
{
	enum { CYCLE, LATER, NO_METHOD, OTHER_ROOT, FAR, NAMELESS, SPOILS };
	struct made_java m;

	(void)state;
	for (int spoil = 0; spoil < SPOILS; spoil++) {
		uint32_t good, bad;

		made_java_begin(&m, spoil % 2);
		good = made_java_scope(&m, 0, 1, 5);
		bad = (uint32_t)m.scopes.len;
		made_java_scope(&m, spoil == CYCLE ? bad : spoil == LATER ? bad + 3
				: spoil == OTHER_ROOT               ? 0
								    : good,
			spoil == NO_METHOD ? 0 : spoil == NAMELESS ? 4 : 2, 12);
		made_java_place(&m, 0, 40, good);
		made_java_place(&m, 1, 60, spoil == FAR ? 0x7fffffff : bad);
		made_java_finish(&m, 2);
		assert_string_equal(text_of(&m, 30), RUN ":101");
		assert_string_equal(text_of(&m, 60), RUN ":0");
		made_java_done(&m);
	}
}

/* Sizes that the process chose are bounded. */
static void tables_that_are_too_large_are_not_read(void **state)
{
	static const uint64_t ends[] = { 0, 64, 0x7fffffff, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct made_java m;

		make(&m, JAVA_APART);
		made_java_set(&m, JAVA_BLOB + m.layout.pcs_end, ends[i], 4);
		assert_string_equal(text_of(&m, 60), RUN ":0");
		made_java_done(&m);
	}
}

static void an_image_is_checked(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct {
		struct java_image_head head;
		struct java_wanted code;
		struct java_range range;
		uint8_t bytes[16];
	} image = { 0 };
	struct made_java m;

	(void)state;
	made_java_begin(&m, JAVA_TOGETHER);
	image.head = (struct java_image_head){ m.layout, 1, 1 };
	image.code = m.code;
	image.range = (struct java_range){ 4096, 4112 };
	assert_int_equal(java_code_read(&image, sizeof(image), &out), 0);
	assert_int_equal(java_code_read(&image, sizeof(image) - 1, &out), -EBADMSG);
	assert_int_equal(java_code_read(&image, sizeof(image.head), &out), -EBADMSG);
	image.range.end = 4095;
	assert_int_equal(java_code_read(&image, sizeof(image), &out), -EBADMSG);
	image.range.end = 4112;
	image.code.name_bytes = CODE_NAME_BYTES + 1;
	assert_int_equal(java_code_read(&image, sizeof(image), &out), -EBADMSG);
	image.code.name_bytes = 0;
	image.head.layout.pool_holder = 70;
	assert_int_equal(java_code_read(&image, sizeof(image), &out), -EBADMSG);
	image.head.layout.pool_holder = 24;
	image.head.layout.const_flags = 60;
	assert_int_equal(java_code_read(&image, sizeof(image), &out), -EBADMSG);
	made_java_done(&m);
}

static void numbers_are_of_their_version(void **state)
{
	static const uint32_t values[] = { 0, 1, 190, 191, 192, 193, 255, 256, 12479, 12480, 100000,
		0x7fffffff, 0xffffffff };
	struct made_java m = { 0 };

	(void)state;
	for (int version = 17; version <= 21; version += 4) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct cursor c;

		m.layout.version = (uint16_t)version;
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			made_java_put_number(&m, &out, values[i]);
		made_java_put_signed(&m, &out, -1000);
		made_java_put_signed(&m, &out, 1000);
		c = cursor_init(out.data, out.len);
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			assert_int_equal(java_number(&c, version >= 20), values[i]);
		assert_int_equal(java_signed_number(&c, version >= 20), -1000);
		assert_int_equal(java_signed_number(&c, version >= 20), 1000);
		assert_int_equal(cursor_left(&c), 0);
		assert_false(c.bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_methods_are_above_the_compiled_one),
		cmocka_unit_test(interpreted_code_has_lines),
		cmocka_unit_test(a_code_that_changed_has_no_table),
		cmocka_unit_test(a_block_that_was_given_away_has_no_table),
		cmocka_unit_test(malformed_scopes_have_the_method_alone),
		cmocka_unit_test(tables_that_are_too_large_are_not_read),
		cmocka_unit_test(an_image_is_checked),
		cmocka_unit_test(numbers_are_of_their_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
