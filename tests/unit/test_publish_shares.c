/* SPDX-License-Identifier: Apache-2.0 */
/* test_publish_shares.c - whose tables, pages and rules make room for whose, on maps in memory.
 * Account 1 is a victim with a few small files, account 2 wants all that there is. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/share.h"
#include "made_maps.h"
#include "made_rows.h"
#include "unwind/publish.h"

#define VICTIM 1
#define HOSTILE 2
#define BYSTANDER 3
#define UNKNOWN 0

static struct made_maps *made;
static struct publish *publish;

static int setup(void **state)
{
	(void)state;
	made = made_maps_new();
	made->maps.rules_len = MADE_RULES_FEW;
	return publish_new(&made->maps, &publish);
}

static int teardown(void **state)
{
	(void)state;
	publish_free(publish);
	free(made);
	return 0;
}

static struct object_key key_of(uint32_t file)
{
	return (struct object_key){ .ino = file + 1 };
}

static uint32_t id_of(uint32_t file)
{
	return OBJECT_FIRST + file;
}

/* File i, which this account uses, with rows of this shape. */
static int put(uint32_t file, uint64_t account, const struct made_shape *shape)
{
	const struct object_key key = key_of(file);
	struct made_rows rows;
	int err;

	made_rows_make(shape, &rows);
	assert_int_equal(unwind_rows_view(rows.bytes, rows.size, &rows.view), 0);
	if (!made_find(made, &key)) {
		made_meet(made, &key, id_of(file));
		publish_none(publish, &key, id_of(file));
		if (account != UNKNOWN)
			publish_charge(publish, id_of(file), account);
	}
	err = publish_rows(publish, &key, id_of(file), &rows.view);
	made_rows_free(&rows);
	return err;
}

static const struct object_value *value_of(uint32_t file)
{
	const struct object_key key = key_of(file);

	return &made_find(made, &key)->value;
}

static bool is_ready(uint32_t file)
{
	const struct object_key key = key_of(file);
	const struct maps_object *object = made_find(made, &key);

	return object && object->value.table == TABLE_READY;
}

static struct publish_stats stats(void)
{
	struct publish_stats now;

	publish_stats(publish, &now);
	return now;
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

/* ---- page numbers ------------------------------------------------------------------------------
 */

static const struct made_shape small = {
	.first = 3, .pages = 4, .apart = 1, .rows_len = 10, .rules_len = 5
};
/* Eight numbers for each page that has rows. */
static const struct made_shape sparse = {
	.first = 0, .pages = 100, .apart = 8, .rows_len = 1, .rules_len = 2
};

static void sparse_files_take_no_table_from_others(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 5; file++)
		assert_int_equal(put(file, VICTIM, &small), 0);
	for (uint32_t file = 10; file < 20; file++)
		put(file, HOSTILE, &sparse);
	assert_false(is_ready(19));
	for (uint32_t file = 5; file < 10; file++)
		assert_int_equal(put(file, VICTIM, &small), 0);
	for (uint32_t file = 20; file < 40; file++)
		assert_int_equal(put(file, BYSTANDER, &small), 0);
	for (uint32_t file = 0; file < 10; file++)
		assert_true(is_ready(file));
	assert_consistent();
}

/* The room that is left for others is a tenth; then the hostile one gives, not for itself. */
static void whoever_holds_most_gives_as_much_as_others_need(void **state)
{
	uint32_t ready = 0;

	(void)state;
	for (uint32_t file = 10; file < 20; file++)
		put(file, HOSTILE, &sparse);
	for (uint32_t file = 20; file < 22; file++)
		assert_int_equal(put(file, VICTIM, &sparse), 0);
	for (uint32_t file = 10; file < 20; file++)
		ready += is_ready(file);
	assert_int_equal(ready, 2);
	assert_true(is_ready(20) && is_ready(21));
	assert_int_equal(stats().tables_evicted, 2);
	/* Nobody holds more than the victim: now it is refused, too. */
	assert_int_equal(put(22, VICTIM, &sparse), -ENOSPC);
	assert_true(is_ready(20) && is_ready(21));
	assert_consistent();
}

static void one_account_alone_may_fill_nine_tenths(void **state)
{
	uint64_t numbers = 0;

	(void)state;
	for (uint32_t file = 0; put(file, VICTIM, &sparse) == 0; file++)
		numbers += value_of(file)->pages_len;
	assert_true(numbers + 793 > share_room(MADE_PAGES));
	assert_true(numbers <= share_room(MADE_PAGES));
	assert_int_equal(stats().tables_evicted, 0);
}

static void a_table_that_gave_comes_back_when_there_is_room_and_not_before(void **state)
{
	const struct object_key key = key_of(1);

	(void)state;
	for (uint32_t file = 0; file < 4; file++)
		assert_int_equal(put(file, HOSTILE, &sparse), 0);
	for (uint32_t file = 10; file < 12; file++)
		assert_int_equal(put(file, VICTIM, &sparse), 0);
	publish_settle(publish);
	assert_int_equal(stats().tables_evicted, 2);
	assert_int_equal(is_ready(0) + is_ready(1) + is_ready(2) + is_ready(3), 2);
	for (uint32_t file = 10; file < 12; file++)
		publish_drop(publish, &(struct publish_object){ key_of(file), id_of(file) }, 1);
	publish_settle(publish);
	/* BPF meets the file again. */
	assert_null(made_find(made, &key));
	assert_int_equal(put(1, HOSTILE, &sparse), 0);
	assert_consistent();
}

static void files_of_nobody_known_give_the_largest_first(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 4; file++)
		assert_int_equal(put(file, UNKNOWN, &sparse), 0);
	for (uint32_t file = 10; file < 40; file++)
		assert_int_equal(put(file, UNKNOWN, &small), 0);
	for (uint32_t file = 10; file < 40; file++)
		assert_true(is_ready(file));
	assert_consistent();
}

static void a_file_that_many_use_goes_only_when_all_of_them_hold_much(void **state)
{
	(void)state;
	assert_int_equal(put(0, HOSTILE, &sparse), 0); /* the hostile one was first */
	publish_charge(publish, id_of(0), VICTIM);
	for (uint32_t file = 10; file < 20; file++)
		put(file, HOSTILE, &small);
	for (uint32_t file = 20; file < 24; file++)
		put(file, HOSTILE, &sparse);
	for (uint32_t file = 30; file < 33; file++)
		assert_int_equal(put(file, BYSTANDER, &sparse), file < 32 ? 0 : -ENOSPC);
	assert_true(is_ready(0));
	assert_false(is_ready(20) && is_ready(21) && is_ready(22) && is_ready(23));
	assert_consistent();
}

static void more_accounts_than_are_kept_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(put(0, VICTIM, &small), 0);
	for (uint64_t account = 0; account < 100; account++)
		publish_charge(publish, id_of(0), account);
	publish_charge(publish, id_of(77), VICTIM);
	for (uint32_t file = 20; file < 30; file++)
		put(file, HOSTILE, &sparse);
	assert_true(is_ready(0));
}

/* ---- bytes of pages ----------------------------------------------------------------------------
 */

/* A fifth of all slabs. */
static const struct made_shape heavy = {
	.first = 0, .pages = 10, .apart = 1, .rows_len = 6500, .rules_len = 5
};

static uint32_t count_loaded(uint32_t file)
{
	const struct object_value *value = value_of(file);
	uint32_t loaded = 0;

	for (uint32_t i = 0; i < value->pages_len; i++)
		loaded += made->pages[value->page_base + i].place > ROWS_PAGE_EMPTY;
	return loaded;
}

/* As ticks do that search them all. */
static void use(uint32_t file)
{
	const struct object_value *value = value_of(file);

	for (uint32_t i = 0; i < value->pages_len; i++) {
		uint32_t page = value->page_base + i;

		if (made_ask(made, page))
			publish_page(publish, id_of(file), page);
	}
}

static void pages_that_are_used_all_the_time_do_not_drive_out_others(void **state)
{
	(void)state;
	assert_int_equal(put(0, VICTIM, &heavy), 0);
	use(0);
	assert_int_equal(count_loaded(0), 10);
	for (uint32_t file = 10; file < 16; file++)
		assert_int_equal(put(file, HOSTILE, &heavy), 0);
	/* The victim's pages are idle for some seconds each time. */
	for (int second = 0; second < 30; second++) {
		made->second++;
		for (uint32_t file = 10; file < 16; file++)
			use(file);
		assert_int_equal(count_loaded(0), 10);
	}
	/* And it may have more. */
	assert_int_equal(put(1, VICTIM, &heavy), 0);
	use(1);
	assert_int_equal(count_loaded(1), 10);
	assert_int_equal(count_loaded(0), 10);
	assert_consistent();
}

static void pages_that_nobody_needs_make_room_whose_ever_they_are(void **state)
{
	(void)state;
	assert_int_equal(put(0, VICTIM, &heavy), 0);
	use(0);
	made->second += 100;
	for (uint32_t file = 10; file < 16; file++)
		assert_int_equal(put(file, HOSTILE, &heavy), 0);
	for (uint32_t file = 10; file < 16; file++)
		use(file);
	assert_true(count_loaded(0) < 10);
	assert_consistent();
}

/* ---- kept rows --------------------------------------------------------------------------------
 */

/* 1.8 MB, more than is loaded at once. */
static const struct made_shape large = {
	.first = 0, .pages = 30, .apart = 1, .rows_len = 20000, .rules_len = 5
};

static void rows_that_are_kept_have_a_limit_and_leave_room_for_others(void **state)
{
	uint32_t refused = 0;

	(void)state;
	for (uint32_t file = 10; file < 30; file++) {
		refused += put(file, HOSTILE, &large) == -ENOSPC;
		assert_true(stats().kept_bytes <= share_room(MADE_KEPT_BYTES));
	}
	assert_true(refused > 5 && refused < 15);
	/* The refused ones are not compiled again and again. */
	publish_settle(publish);
	for (uint32_t file = 10; file < 30; file++)
		assert_non_null(made_find(made, &(struct object_key){ .ino = file + 1 }));
	for (uint32_t file = 0; file < 4; file++) {
		made->second++;
		assert_int_equal(put(file, VICTIM, &large), 0);
		use(file);
		assert_true(count_loaded(file) > 0);
	}
	assert_true(stats().kept_bytes <= share_room(MADE_KEPT_BYTES));
	assert_consistent();
}

static void a_file_whose_rows_gave_way_has_no_table_when_they_come_again(void **state)
{
	uint32_t ready = 0;

	(void)state;
	for (uint32_t file = 10; file < 18; file++)
		assert_int_equal(put(file, HOSTILE, &large), 0);
	for (uint32_t file = 0; file < 2; file++)
		assert_int_equal(put(file, VICTIM, &large), 0);
	for (uint32_t file = 10; file < 18; file++) {
		put(file, HOSTILE, &large);
		ready += is_ready(file);
	}
	assert_int_equal(ready, 6);
	assert_true(is_ready(0) && is_ready(1));
	assert_consistent();
	for (uint32_t file = 0; file < 18; file++)
		publish_drop(publish, &(struct publish_object){ key_of(file), id_of(file) }, 1);
	assert_int_equal(stats().kept_bytes, 0);
}

/* ---- rules -------------------------------------------------------------------------------------
 */

/* Each flavour has other rules. */
static struct made_shape rules(uint32_t number, uint32_t flavour)
{
	return (struct made_shape){ .first = 0,
		.pages = 1,
		.apart = 1,
		.rows_len = number,
		.rules_len = number,
		.flavour = flavour };
}

static void rules_of_one_leave_room_for_those_of_others(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 12; file++) {
		const struct made_shape many = rules(200, file);

		put(10 + file, HOSTILE, &many);
	}
	assert_true(stats().rules > share_room(MADE_RULES_FEW) / 2);
	for (uint32_t file = 0; file < 8; file++) {
		const struct made_shape few = rules(40, 100 + file);
		uint64_t refused = stats().rules_refused;

		assert_int_equal(put(file, VICTIM, &few), 0);
		assert_int_equal(stats().rules_refused, refused);
	}
	/* It asks for its own again, all the time. */
	for (int turn = 0; turn < 10; turn++) {
		made->second++;
		for (uint32_t file = 0; file < 12; file++) {
			const struct made_shape many = rules(200, file);

			put(10 + file, HOSTILE, &many);
		}
		for (uint32_t file = 0; file < 8; file++)
			assert_int_equal(count_loaded(file), 1);
	}
	assert_consistent();
}

static void rules_that_no_rows_refer_to_are_given_to_others(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < 50; turn++) {
		const struct made_shape many = rules(500, turn);

		assert_int_equal(put(0, HOSTILE, &many), 0);
		assert_int_equal(stats().rules, 2 + 499);
	}
	assert_int_equal(stats().rules_refused, 0);
	publish_drop(publish, &(struct publish_object){ key_of(0), id_of(0) }, 1);
	assert_int_equal(stats().rules, 2);
	assert_consistent();
}

static void rules_of_kept_rows_are_held(void **state)
{
	struct made_shape kept = {
		.first = 0, .pages = 30, .apart = 1, .rows_len = 20000, .rules_len = 300
	};

	(void)state;
	assert_int_equal(put(0, VICTIM, &kept), 0);
	assert_int_equal(stats().rules, 2 + 299);
	for (uint32_t turn = 0; turn < 10; turn++) {
		const struct made_shape many = rules(400, 10 + turn);

		assert_int_equal(put(1, HOSTILE, &many), 0);
	}
	assert_int_equal(stats().rules_refused, 0);
	use(0);
	assert_true(count_loaded(0) > 0);
	assert_consistent();
	publish_drop(publish, &(struct publish_object){ key_of(0), id_of(0) }, 1);
	assert_int_equal(stats().rules, 2 + 399);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sparse_files_take_no_table_from_others),
		TEST(whoever_holds_most_gives_as_much_as_others_need),
		TEST(one_account_alone_may_fill_nine_tenths),
		TEST(a_table_that_gave_comes_back_when_there_is_room_and_not_before),
		TEST(files_of_nobody_known_give_the_largest_first),
		TEST(a_file_that_many_use_goes_only_when_all_of_them_hold_much),
		TEST(more_accounts_than_are_kept_are_ignored),
		TEST(pages_that_are_used_all_the_time_do_not_drive_out_others),
		TEST(pages_that_nobody_needs_make_room_whose_ever_they_are),
		TEST(rows_that_are_kept_have_a_limit_and_leave_room_for_others),
		TEST(a_file_whose_rows_gave_way_has_no_table_when_they_come_again),
		TEST(rules_of_one_leave_room_for_those_of_others),
		TEST(rules_that_no_rows_refer_to_are_given_to_others),
		TEST(rules_of_kept_rows_are_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
