/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of an object that has an outline, on maps in memory: each comes when it is asked for, and
 * again when it made room. The rows are libc's, so that they are true ones. */
#include "unit.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "bpf/reasons.h"
#include "elf/image.h"
#include "made_maps.h"
#include "rows_find.h"
#include "unwind/publish.h"
#include "unwind/rows_build.h"

#define FILE_BYTES_MAX (256U << 20)
#define FILES 24 /* all of them libc */
#define TURNS 20000
#define EVICTED_MIN 5000

static struct made_maps *made;
static struct publish *publish;
static struct buf file;
static struct image image;
static struct unwind_rows *table, *outline;

static int setup(void **state)
{
	struct why why;
	Dl_info libc;

	(void)state;
	made = made_maps_new();
	/* one that a sanitizer does not replace */
	return !dladdr((void *)gnu_get_libc_version, &libc) ||
		publish_new(&made->maps, &publish) < 0 ||
		fd_read_path(libc.dli_fname, FILE_BYTES_MAX, &file) < 0 ||
		image_init(&image, file.data, file.len, &why) < 0 ||
		unwind_rows_build(&image, &table, &why) < 0 ||
		unwind_rows_begin(&image, &outline, &why) < 0;
}

static int teardown(void **state)
{
	(void)state;
	publish_free(publish);
	free(made);
	unwind_rows_free(table);
	unwind_rows_free(outline);
	image_done(&image);
	buf_done(&file);
	return 0;
}

static struct object_key key_of(uint32_t i)
{
	return (struct object_key){ .ino = i + 1 };
}

static void put_outline(uint32_t i)
{
	const struct object_key key = key_of(i);

	made_meet(made, &key, OBJECT_FIRST + i);
	assert_int_equal(publish_rows(publish, &key, OBJECT_FIRST + i, &outline->view), 0);
}

static int give_page(uint32_t i, uint32_t number)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	assert_int_equal(unwind_rows_build_pages(&image, &number, 1, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_PAGES);
	return publish_pages(publish, OBJECT_FIRST + i, &rows->view);
}

/* Row by row, from the page's first. */
static uint16_t rule_id(const uint8_t *page, uint32_t at)
{
	uint16_t first[ROWS_CHUNKS + 1], id = 0;
	const uint8_t *starts;
	uint32_t chunk = 0;

	memcpy(first, page, sizeof(first));
	starts = page + sizeof(first) + 2 * (size_t)first[ROWS_CHUNKS];
	for (uint32_t row = 0; row < first[ROWS_CHUNKS]; row++) {
		while (row >= first[chunk + 1])
			chunk++;
		if ((chunk << ROWS_CHUNK_SHIFT) + starts[row] > at)
			break;
		memcpy(&id, page + sizeof(first) + 2 * (size_t)row, sizeof(id));
	}
	return id;
}

/* The rule that the maps have; false: the page is absent. */
static bool find(uint32_t i, uint64_t offset, struct unwind_rule *out)
{
	struct bytes data;
	uint32_t end = publish_find_page(publish, OBJECT_FIRST + i, offset, &data);

	if (end == END_NO_TABLE)
		return false;
	assert_int_equal(end, END_NONE);
	*out = *publish_rule(publish, data.data ? rule_id(data.data, offset & 0xffff) : 0);
	return true;
}

static void complain(void *ctx, const char *text)
{
	(void)ctx;
	print_error("%s\n", text);
}

/* As BPF asks for a page: what it is to be told in the end. */
static void turn(uint32_t i, uint32_t number)
{
	const struct object_key key = key_of(i);
	struct object_value *value = &made_find(made, &key)->value;
	uint32_t page = value->page_base + (number - value->page_first);

	if (!made_ask(made, page))
		return;
	assert_int_equal(publish_page(publish, value->id, page), PUBLISH_NOT_COMPILED);
	assert_int_equal(publish_page_number(publish, value->id, page), number);
	assert_true(publish_lacks_page(publish, value->id, number));
	assert_int_equal(give_page(i, number), 0);
	assert_false(publish_lacks_page(publish, value->id, number));
}

static void pages_that_are_evicted_and_compiled_again_are_true(void **state)
{
	uint32_t first = unwind_rows_first(&outline->view), wrong = 0;
	uint32_t span = unwind_rows_span(&outline->view);
	struct publish_stats stats;

	(void)state;
	for (uint32_t i = 0; i < FILES; i++)
		put_outline(i);
	srand(7);
	for (uint32_t n = 0; n < TURNS; n++) {
		uint32_t i = (uint32_t)rand() % FILES, number = first + (uint32_t)rand() % span;
		uint64_t offset = ((uint64_t)number << ROWS_PAGE_SHIFT) + (uint64_t)rand() % 65536;
		struct unwind_rule want = rows_find(&table->view, offset), have;

		turn(i, number);
		assert_true(find(i, offset, &have));
		wrong += memcmp(&want, &have, sizeof(want)) != 0;
		made->second += n % 4 == 0;
	}
	publish_stats(publish, &stats);
	print_message("%u turns, %zu pages loaded, %zu evicted\n", TURNS,
		(size_t)stats.pages_loaded, (size_t)stats.pages_evicted);
	assert_int_equal(wrong, 0);
	assert_true(stats.pages_evicted > EVICTED_MIN);
	assert_int_equal(stats.pages_refused, 0);
	assert_true(made_is_consistent(made, false, false, complain, NULL));
}

static void an_outline_that_comes_again_leaves_the_pages_that_are_there(void **state)
{
	uint32_t number = table->view.pages[0].number;
	struct publish_stats before, after;
	struct unwind_rule rule;

	(void)state;
	put_outline(0);
	turn(0, number);
	publish_stats(publish, &before);
	put_outline(0);
	publish_stats(publish, &after);
	assert_int_equal(after.rows, before.rows);
	assert_true(find(0, (uint64_t)number << ROWS_PAGE_SHIFT, &rule));
}

static void a_whole_table_takes_the_place_of_an_outline(void **state)
{
	uint32_t number = table->view.pages[0].number;
	const struct object_key key = key_of(0);

	(void)state;
	put_outline(0);
	turn(0, number);
	assert_int_equal(publish_rows(publish, &key, OBJECT_FIRST, &table->view), 0);
	assert_int_equal(give_page(0, number), PUBLISH_NO_SUCH_PAGE);
	for (uint64_t at = 0; at < file.len; at += 4091) {
		struct unwind_rule want = rows_find(&table->view, at), have;

		assert_true(find(0, at, &have));
		assert_memory_equal(&want, &have, sizeof(want));
	}
	assert_true(made_is_consistent(made, false, false, complain, NULL));
}

static void pages_of_an_object_that_is_gone_or_has_fewer_change_nothing(void **state)
{
	const struct publish_object gone = { key_of(0), OBJECT_FIRST };
	uint32_t first = unwind_rows_first(&outline->view);
	struct publish_stats stats;

	(void)state;
	assert_int_equal(give_page(0, first), PUBLISH_NO_SUCH_PAGE);
	put_outline(0);
	assert_int_equal(give_page(0, first + unwind_rows_span(&outline->view)), 0);
	publish_drop(publish, &gone, 1);
	assert_int_equal(give_page(0, first), PUBLISH_NO_SUCH_PAGE);
	publish_stats(publish, &stats);
	assert_int_equal(stats.bytes, 0);
	assert_true(made_is_consistent(made, false, false, complain, NULL));
}

static void a_page_that_does_not_come_may_be_asked_for_again(void **state)
{
	const struct object_key key = key_of(0);
	uint32_t page;

	(void)state;
	put_outline(0);
	page = made_find(made, &key)->value.page_base;
	assert_true(made_ask(made, page));
	assert_false(made_ask(made, page));
	publish_page_late(publish, OBJECT_FIRST, unwind_rows_first(&outline->view));
	assert_true(made_ask(made, page));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_that_are_evicted_and_compiled_again_are_true),
		TEST(an_outline_that_comes_again_leaves_the_pages_that_are_there),
		TEST(a_whole_table_takes_the_place_of_an_outline),
		TEST(pages_of_an_object_that_is_gone_or_has_fewer_change_nothing),
		TEST(a_page_that_does_not_come_may_be_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
