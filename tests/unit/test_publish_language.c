/* SPDX-License-Identifier: Apache-2.0 */
/* test_publish_language.c - BPF learns of a runtime with its rows, and the description's place is
 * another's only when no tick can look there. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/share.h"
#include "made_maps.h"
#include "made_rows.h"
#include "unwind/publish.h"

static struct made_maps *made;
static struct publish *publish;
static struct made_rows rows;

#define ROOM share_room(LANGUAGES_MAX - 1)

static const struct language language = { .kind = LANGUAGE_CPYTHON, .version = 11 };

static int setup(void **state)
{
	const struct made_shape shape = { .pages = 1, .apart = 1, .rows_len = 1, .rules_len = 1 };

	(void)state;
	made = made_maps_new();
	made_rows_make(&shape, &rows);
	return unwind_rows_view(rows.bytes, rows.size, &rows.view) < 0 ||
		publish_new(&made->maps, &publish) < 0;
}

static int teardown(void **state)
{
	(void)state;
	publish_free(publish);
	made_rows_free(&rows);
	free(made);
	return 0;
}

static struct object_key key_of(uint64_t i)
{
	return (struct object_key){ .ino = i + 1 };
}

/* The file has been met, and described. */
static int describe(uint64_t i)
{
	const struct object_key key = key_of(i);
	uint32_t id = OBJECT_FIRST + (uint32_t)i;

	made_meet(made, &key, id);
	return publish_language(publish, &key, id, 1 + i / ROOM, &language);
}

static const struct object_value *give_rows(uint64_t i)
{
	const struct object_key key = key_of(i);

	assert_int_equal(
		publish_rows(publish, &key, OBJECT_FIRST + (uint32_t)i, &rows.view), 0);
	return &made_find(made, &key)->value;
}

static void drop(uint64_t i)
{
	const struct publish_object object = { key_of(i), OBJECT_FIRST + (uint32_t)i };

	publish_drop(publish, &object, 1);
}

static void a_runtime_is_told_with_its_rows(void **state)
{
	const struct object_key key = key_of(0);
	const struct object_value *value;

	(void)state;
	assert_int_equal(describe(0), 0);
	assert_int_equal(made_find(made, &key)->value.language, 0);
	value = give_rows(0);
	assert_int_equal(value->table, TABLE_READY);
	assert_int_not_equal(value->language, 0);
	assert_int_equal(made->languages[value->language].object, OBJECT_FIRST);
	assert_int_equal(made->languages[value->language].version, 11);
	/* Again, as after a loss: the same place. */
	assert_int_equal(describe(0), 0);
	assert_int_equal(give_rows(0)->language, value->language);
	/* Without rows there is no walk through it. */
	assert_int_equal(publish_none(publish, &key, OBJECT_FIRST), 0);
	assert_int_equal(value->language, 0);
}

static void a_place_comes_again_when_its_file_has_gone(void **state)
{
	uint16_t place;

	(void)state;
	assert_int_equal(describe(0), 0);
	place = give_rows(0)->language;
	assert_int_equal(describe(1), 0);
	assert_int_not_equal(give_rows(1)->language, place);
	drop(0);
	assert_int_equal(describe(2), 0);
	assert_int_equal(give_rows(2)->language, place);
	assert_false(made->broken);
}

static void a_map_that_fails_leaves_native_frames(void **state)
{
	(void)state;
	made->failing = 1;
	assert_int_equal(describe(0), -EBUSY);
	made->failing = 0;
	assert_int_equal(give_rows(0)->table, TABLE_READY);
	assert_false(made->broken);
}

/* One account may have nine tenths, and then others still have places. */
static void places_are_shared(void **state)
{
	struct publish_stats stats;
	uint64_t i;

	(void)state;
	for (i = 0; i < ROOM; i++)
		assert_int_equal(describe(i), 0);
	publish_stats(publish, &stats);
	assert_int_equal(stats.languages_refused, 0);
	assert_int_equal(publish_language(publish, &(struct object_key){ .ino = i + 1 },
				 OBJECT_FIRST + (uint32_t)i, 1, &language),
		-ENOSPC);
	assert_int_equal(describe(i), 0);
	publish_stats(publish, &stats);
	assert_int_equal(stats.languages_refused, 1);
	drop(0);
	assert_int_equal(describe(i + 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_runtime_is_told_with_its_rows),
		TEST(a_place_comes_again_when_its_file_has_gone),
		TEST(a_map_that_fails_leaves_native_frames),
		TEST(places_are_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
