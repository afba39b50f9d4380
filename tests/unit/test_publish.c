/* SPDX-License-Identifier: Apache-2.0 */
/* test_publish.c - the border between rows and the kernel's maps, on maps in memory: what is told,
 * what is taken and given back, and what is left when something fails. Then any sequence of all.
 * LINK: -Wl,--wrap=malloc,--wrap=calloc,--wrap=reallocarray */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/reasons.h"
#include "made_maps.h"
#include "made_rows.h"
#include "publish_driver.h"
#include "unwind/publish.h"

#define SEQUENCES 300
#define SEQUENCE_BYTES 1500

static struct made_maps *made;
static struct publish *publish;
static uint64_t failing; /* allocations of the next put */

static const struct object_key keys[] = { { .ino = 1 }, { .ino = 2 }, { .ino = 3 } };

static int setup(void **state)
{
	(void)state;
	made = made_maps_new();
	return publish_new(&made->maps, &publish);
}

static int teardown(void **state)
{
	(void)state;
	publish_free(NULL);
	publish_free(publish);
	free(made);
	return 0;
}

static void complain(void *ctx, const char *text)
{
	(void)ctx;
	print_error("%s\n", text);
}

static void assert_consistent(void)
{
	assert_true(made_is_consistent(made, false, false, complain, NULL));
}

/* Object i is file i, met by BPF. */
static uint32_t met(uint32_t i)
{
	return made_meet(made, &keys[i], OBJECT_FIRST + i)->id;
}

static const struct object_value *told(uint32_t i)
{
	struct maps_object *object = made_find(made, &keys[i]);

	assert_non_null(object);
	return &object->value;
}

static int put(uint32_t i, const struct made_shape *shape)
{
	struct made_rows rows;
	int err;

	made_rows_make(shape, &rows);
	assert_int_equal(unwind_rows_view(rows.bytes, rows.size, &rows.view), 0);
	met(i);
	failing_allocations(failing);
	err = publish_rows(publish, &keys[i], OBJECT_FIRST + i, &rows.view);
	failing_allocations(failing = 0);
	made_rows_free(&rows);
	return err;
}

static struct publish_stats stats(void)
{
	struct publish_stats now;

	publish_stats(publish, &now);
	return now;
}

static void drop(uint32_t i)
{
	const struct publish_object gone = { keys[i], OBJECT_FIRST + i };

	publish_drop(publish, &gone, 1);
}

static const struct made_shape small = {
	.first = 3, .pages = 4, .apart = 1, .rows_len = 10, .rules_len = 5
};
static const struct made_shape other = {
	.first = 9, .pages = 20, .apart = 2, .rows_len = 40, .rules_len = 9, .flavour = 1
};
/* More than all slabs have. */
static const struct made_shape large = {
	.first = 0, .pages = 30, .apart = 1, .rows_len = 20000, .rules_len = 5
};
/* All page numbers but a few. */
static const struct made_shape wide = {
	.first = 0, .pages = 520, .apart = 7, .rows_len = 1, .rules_len = 2
};

/* BPF keeps rules of return addresses, and has to look at rows again when they are others. */
static void rules_that_bpf_kept_are_stale_when_rows_are_taken_back(void **state)
{
	uint32_t before = made->rules_epoch;

	(void)state;
	assert_int_equal(put(0, &small), 0);
	assert_int_equal(put(0, &small), 0);
	assert_int_equal(made->rules_epoch, before);
	assert_int_equal(put(0, &other), 0);
	assert_int_equal(made->rules_epoch, before + 1);
	drop(0);
	assert_int_equal(made->rules_epoch, before + 2);
}

static void a_table_that_finds_no_page_numbers_takes_none_from_others(void **state)
{
	(void)state;
	assert_int_equal(put(0, &wide), 0);
	assert_int_equal(put(1, &small), 0);
	assert_int_equal(put(2, &wide), -ENOSPC);
	assert_int_equal(told(2)->table, TABLE_NONE);
	assert_int_equal(stats().tables_refused, 1);
	assert_consistent();
	drop(2);
	assert_consistent();
	assert_int_equal(told(1)->table, TABLE_READY);
	assert_int_equal(made->pages[told(1)->page_base].place > ROWS_PAGE_EMPTY, 1);
}

static void a_table_that_was_refused_is_met_again_when_there_is_room(void **state)
{
	(void)state;
	assert_int_equal(put(0, &wide), 0);
	assert_int_equal(put(1, &wide), -ENOSPC);
	publish_settle(publish);
	assert_int_equal(told(1)->table, TABLE_NONE);
	drop(0);
	publish_settle(publish);
	assert_null(made_find(made, &keys[1]));
	assert_int_equal(put(1, &wide), 0);
	assert_int_equal(told(1)->table, TABLE_READY);
	assert_consistent();
}

static void rows_of_another_shape_replace_those_before(void **state)
{
	(void)state;
	assert_int_equal(put(0, &small), 0);
	assert_int_equal(put(1, &small), 0);
	assert_int_equal(put(0, &other), 0);
	assert_int_equal(told(0)->page_first, 9);
	assert_int_equal(told(0)->pages_len, 39);
	assert_consistent();
	assert_int_equal(stats().tables, 2);
	drop(0);
	drop(1);
	assert_int_equal(stats().bytes, 0);
	assert_int_equal(made->objects_len, 0);
	assert_consistent();
}

static void the_same_rows_again_load_what_was_evicted(void **state)
{
	uint32_t page;

	(void)state;
	assert_int_equal(put(0, &small), 0);
	page = told(0)->page_base + 1;
	made->second++;
	assert_int_equal(put(1, &large), 0);
	for (uint32_t i = 0; i < 30; i++)
		publish_page(publish, OBJECT_FIRST + 1, told(1)->page_base + i);
	assert_int_equal(made->pages[page].place, ROWS_PAGE_ABSENT);
	assert_true(made_ask(made, page));
	assert_int_equal(publish_page(publish, OBJECT_FIRST, page), PUBLISH_NOT_KEPT);
	assert_int_equal(put(0, &small), 0);
	assert_consistent();
	/* There is no room for all of it, but for what is needed. */
	made->second++;
	assert_true(made_ask(made, page));
	assert_int_equal(publish_page(publish, OBJECT_FIRST, page), 0);
	assert_true(made->pages[page].place > ROWS_PAGE_EMPTY);
	assert_consistent();
}

static void a_page_that_cannot_be_loaded_may_be_asked_for_again(void **state)
{
	uint32_t page;

	(void)state;
	assert_int_equal(put(0, &large), 0);
	page = told(0)->page_base;
	assert_true(made_ask(made, page));
	publish_unmap(publish);
	made->failing = 1; /* the slab cannot be mapped */
	assert_int_equal(publish_page(publish, OBJECT_FIRST, page), -ENOMEM);
	assert_true(made_ask(made, page));
	assert_int_equal(publish_page(publish, OBJECT_FIRST, page), 0);
	assert_false(made_ask(made, page));
	assert_consistent();
}

static void a_page_that_is_there_and_is_asked_for_is_told_again(void **state)
{
	uint32_t page;

	(void)state;
	assert_int_equal(put(0, &small), 0);
	page = told(0)->page_base;
	made->pages[page].place = ROWS_PAGE_ASKED;
	assert_int_equal(publish_page(publish, OBJECT_FIRST, page), 0);
	assert_consistent();
	assert_true(made->pages[page].place > ROWS_PAGE_EMPTY);
}

static void pages_that_an_object_does_not_have_are_refused(void **state)
{
	static const uint32_t pages[] = { 0, 1, 44, 4096, UINT32_MAX };

	(void)state;
	assert_int_equal(put(0, &small), 0);
	assert_int_equal(put(1, &other), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		assert_int_equal(
			publish_page(publish, OBJECT_FIRST + 2, pages[i]), PUBLISH_NO_SUCH_PAGE);
	assert_int_equal(
		publish_page(publish, OBJECT_FIRST, told(1)->page_base), PUBLISH_NO_SUCH_PAGE);
	assert_int_equal(
		publish_page(publish, OBJECT_FIRST + 1, told(0)->page_base), PUBLISH_NO_SUCH_PAGE);
}

static void a_page_without_functions_is_not_loaded(void **state)
{
	static const struct made_shape holes = {
		.first = 0, .pages = 15, .apart = 2, .rows_len = 20000, .rules_len = 5
	};
	struct bytes data;

	(void)state;
	assert_int_equal(put(0, &holes), 0);
	assert_int_equal(
		publish_page(publish, OBJECT_FIRST, told(0)->page_base + 1), PUBLISH_NO_SUCH_PAGE);
	assert_int_equal(
		publish_find_page(publish, OBJECT_FIRST, 1U << ROWS_PAGE_SHIFT, &data), END_NONE);
	assert_null(data.data);
	assert_consistent();
}

/* The frames of a stack are in few pages, which come again and again. */
static void the_pages_of_a_stack_are_mapped_once(void **state)
{
	struct bytes data;

	(void)state;
	assert_int_equal(put(0, &large), 0);
	publish_unmap(publish);
	assert_int_equal(made->mapped, 0);
	made->mappings = 0;
	for (uint32_t i = 0; i < 800; i++)
		assert_int_equal(publish_find_page(publish, OBJECT_FIRST,
					 (uint64_t)(i % 8) << ROWS_PAGE_SHIFT, &data),
			END_NONE);
	assert_in_range(made->mappings, 1, 8);
	assert_in_range(made->mapped, 1, 8 * 2 * ROWS_WINDOW_BYTES);
	for (uint32_t i = 0; i < 30; i++)
		publish_find_page(
			publish, OBJECT_FIRST, (uint64_t)i << ROWS_PAGE_SHIFT, &data);
	assert_in_range(made->mapped, 1, ROWS_SLAB_BYTES * 2);
	publish_unmap(publish);
	assert_int_equal(made->mapped, 0);
}

static void a_walk_finds_the_page_that_bpf_would(void **state)
{
	struct bytes data;

	(void)state;
	assert_int_equal(publish_find_page(publish, OBJECT_FIRST, 0, &data), END_NO_TABLE);
	assert_int_equal(publish_table(publish, OBJECT_FIRST), TABLE_PENDING);
	assert_int_equal(put(0, &large), 0);
	assert_int_equal(publish_find_page(publish, OBJECT_FIRST, 0, &data), END_NONE);
	assert_ptr_equal(data.data,
		made->slabs + ((size_t)made->pages[told(0)->page_base].place << ROWS_PLACE_SHIFT));
	assert_int_equal(
		publish_find_page(publish, OBJECT_FIRST, 30U << ROWS_PAGE_SHIFT, &data), END_NONE);
	assert_null(data.data);
	publish_unmap(publish);
	made->failing = 1;
	assert_int_equal(publish_find_page(publish, OBJECT_FIRST, 0, &data), END_NO_TABLE);
}

static void what_bpf_could_not_be_told_keeps_its_pages_until_it_was(void **state)
{
	uint32_t base;

	(void)state;
	assert_int_equal(put(0, &small), 0);
	base = told(0)->page_base;
	made->failing = 1;
	drop(0);
	assert_int_equal(stats().unsettled, 1);
	assert_int_equal(told(0)->page_base, base);
	assert_int_equal(put(1, &other), 0);
	assert_consistent();
	publish_settle(publish);
	assert_null(made_find(made, &keys[0]));
	assert_int_equal(stats().unsettled, 0);
	assert_int_equal(stats().tables, 1);
	assert_consistent();
}

static void no_rows_that_could_not_be_told_are_told_later(void **state)
{
	uint32_t page;

	(void)state;
	assert_int_equal(put(0, &large), 0);
	page = told(0)->page_base;
	assert_true(made_ask(made, page));
	made->failing = 1;
	assert_int_equal(publish_none(publish, &keys[0], OBJECT_FIRST), -EBUSY);
	assert_int_equal(made->pages[page].place, ROWS_PAGE_ABSENT);
	publish_settle(publish);
	assert_int_equal(told(0)->table, TABLE_NONE);
	assert_int_equal(stats().tables, 0);
	assert_consistent();
}

static void an_object_without_a_table_that_could_not_be_dropped_is_dropped_later(void **state)
{
	(void)state;
	met(0);
	made->failing = 1;
	drop(0);
	assert_non_null(made_find(made, &keys[0]));
	assert_int_equal(stats().unsettled, 1);
	publish_settle(publish);
	assert_null(made_find(made, &keys[0]));
	assert_int_equal(made->objects_len, 0);
}

static void rows_that_cannot_replace_those_before_let_the_file_start_over(void **state)
{
	(void)state;
	assert_int_equal(put(0, &small), 0);
	made->failing = 1;
	assert_int_equal(put(0, &other), -EBUSY);
	publish_settle(publish);
	assert_null(made_find(made, &keys[0]));
	assert_int_equal(put(0, &other), 0);
	assert_int_equal(told(0)->page_first, 9);
	assert_consistent();
}

static void a_rule_that_the_map_does_not_take_refuses_the_table_for_now(void **state)
{
	(void)state;
	met(0);
	made->failing = 1;
	assert_int_equal(put(0, &small), -ENOMEM);
	assert_int_equal(told(0)->table, TABLE_NONE);
	assert_int_equal(stats().rules_refused, 0);
	publish_settle(publish);
	assert_null(made_find(made, &keys[0]));
	assert_int_equal(put(0, &small), 0);
}

static void a_table_that_could_not_be_told_is_told_later(void **state)
{
	(void)state;
	assert_int_equal(put(0, &small), 0); /* the rules are there */
	met(1);
	made->failing = 1;
	assert_int_equal(put(1, &small), 0 - EBUSY);
	assert_int_equal(told(1)->table, TABLE_PENDING);
	publish_settle(publish);
	assert_int_equal(told(1)->table, TABLE_READY);
	assert_consistent();
}

static void rows_of_an_object_that_bpf_forgot_leave_nothing(void **state)
{
	struct made_rows rows;

	(void)state;
	made_rows_make(&small, &rows);
	assert_int_equal(unwind_rows_view(rows.bytes, rows.size, &rows.view), 0);
	assert_int_equal(publish_rows(publish, &keys[0], 77, &rows.view), -ENOENT);
	made_rows_free(&rows);
	assert_int_equal(stats().tables, 0);
	assert_int_equal(stats().bytes, 0);
	assert_null(made_find(made, &keys[0]));
	assert_consistent();
}

static void the_vdso_is_told_although_bpf_never_met_it(void **state)
{
	struct object_key none = { 0 };

	(void)state;
	assert_int_equal(publish_none(publish, &none, OBJECT_VDSO), 0);
	assert_int_equal(made_find(made, &none)->value.table, TABLE_NONE);
	publish_drop(publish, &(struct publish_object){ none, OBJECT_VDSO }, 1);
	assert_int_equal(made->objects_len, 0);
}

static void the_vdso_is_no_file_with_a_table(void **state)
{
	struct object_key none = { 0 };
	struct made_rows rows;

	(void)state;
	made_rows_make(&small, &rows);
	assert_int_equal(unwind_rows_view(rows.bytes, rows.size, &rows.view), 0);
	assert_int_equal(publish_rows(publish, &none, OBJECT_VDSO, &rows.view), 0);
	made_rows_free(&rows);
	assert_int_equal(publish_table(publish, OBJECT_VDSO), TABLE_READY);
	assert_int_equal(put(0, &small), 0);
	assert_int_equal(stats().tables, 1);
	publish_drop(publish, &(struct publish_object){ none, OBJECT_VDSO }, 1);
	assert_int_equal(stats().tables, 1);
	assert_consistent();
}

static void each_allocation_that_fails_leaves_the_maps_consistent(void **state)
{
	(void)state;
	for (int i = 0; i < 24; i++) {
		made->second++;
		failing = 1ULL << i;
		put(0, i % 2 ? &other : &small);
		failing = 1ULL << i;
		put(1, &large);
		assert_int_not_equal(told(0)->table, TABLE_PENDING);
		assert_int_not_equal(told(1)->table, TABLE_PENDING);
		assert_consistent();
		drop(i % 3 ? 0 : 1);
		assert_consistent();
	}
}

/* The same numbers each time: a failing sequence is one that can be looked into. */
static void any_sequence_leaves_the_maps_consistent(void **state)
{
	static uint8_t bytes[SEQUENCE_BYTES];
	uint32_t now = 1;

	(void)state;
	for (int i = 0; i < SEQUENCES; i++) {
		for (size_t at = 0; at < sizeof(bytes); at++) {
			now = now * 1664525 + 1013904223;
			bytes[at] = (uint8_t)(now >> 24);
		}
		publish_drive(bytes, sizeof(bytes));
	}
}

static void tables_that_span_too_many_pages_are_refused(void **state)
{
	static const struct {
		struct made_shape shape;
		int err;
	} cases[] = {
		{ { .pages = 2, .apart = 271, .rows_len = 1, .rules_len = 1 }, 0 },
		{ { .pages = 2, .apart = 272, .rows_len = 1, .rules_len = 1 }, -EBADMSG },
		{ { .pages = 2, .apart = 65535, .rows_len = 1, .rules_len = 1 }, -EBADMSG },
		{ { .pages = 2048, .apart = 8, .rows_len = 1, .rules_len = 1 }, 0 },
		{ { .pages = 2049, .apart = 8, .rows_len = 1, .rules_len = 1 }, -EBADMSG },
		{ { .pages = 16384, .apart = 1, .rows_len = 1, .rules_len = 1 }, 0 },
		{ { .pages = 16385, .apart = 1, .rows_len = 1, .rules_len = 1 }, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_rows rows;

		made_rows_make(&cases[i].shape, &rows);
		if (unwind_rows_view(rows.bytes, rows.size, &rows.view) != cases[i].err)
			fail_msg("case %zu", i);
		made_rows_free(&rows);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_table_that_finds_no_page_numbers_takes_none_from_others),
		TEST(a_table_that_was_refused_is_met_again_when_there_is_room),
		TEST(rows_of_another_shape_replace_those_before),
		TEST(the_same_rows_again_load_what_was_evicted),
		TEST(a_page_that_cannot_be_loaded_may_be_asked_for_again),
		TEST(a_page_that_is_there_and_is_asked_for_is_told_again),
		TEST(pages_that_an_object_does_not_have_are_refused),
		TEST(a_page_without_functions_is_not_loaded),
		TEST(the_pages_of_a_stack_are_mapped_once),
		TEST(a_walk_finds_the_page_that_bpf_would),
		TEST(what_bpf_could_not_be_told_keeps_its_pages_until_it_was),
		TEST(no_rows_that_could_not_be_told_are_told_later),
		TEST(an_object_without_a_table_that_could_not_be_dropped_is_dropped_later),
		TEST(rows_that_cannot_replace_those_before_let_the_file_start_over),
		TEST(a_rule_that_the_map_does_not_take_refuses_the_table_for_now),
		TEST(a_table_that_could_not_be_told_is_told_later),
		TEST(rows_of_an_object_that_bpf_forgot_leave_nothing),
		TEST(the_vdso_is_told_although_bpf_never_met_it),
		TEST(the_vdso_is_no_file_with_a_table),
		TEST(each_allocation_that_fails_leaves_the_maps_consistent),
		TEST(rules_that_bpf_kept_are_stale_when_rows_are_taken_back),
		cmocka_unit_test(any_sequence_leaves_the_maps_consistent),
		cmocka_unit_test(tables_that_span_too_many_pages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
