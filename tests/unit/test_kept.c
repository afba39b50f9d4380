/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker keeps from one request to the next. */
#include "unit.h"

#include "worker/kept.h"
#include "worker/map_reader.h"
#include "worker/symbols.h"

static void what_was_not_used_for_longest_makes_room(void **state)
{
	struct kept kept = KEPT_INIT;

	(void)state;
	for (uint64_t id = 0; id < 4; id++) {
		struct map_reader *reader;

		assert_int_equal(map_reader_new(&reader), 0);
		assert_int_equal(kept_put(&kept, KEPT_MAP, id, reader, 100), 0);
	}
	assert_non_null(kept_find(&kept, KEPT_MAP, 0));
	assert_null(kept_find(&kept, KEPT_SYMBOLS, 0));
	assert_null(kept_find(&kept, KEPT_MAP, 1ULL << 63));
	kept_trim(&kept, 250);
	assert_non_null(kept_find(&kept, KEPT_MAP, 0));
	assert_null(kept_find(&kept, KEPT_MAP, 1));
	assert_null(kept_find(&kept, KEPT_MAP, 2));
	assert_non_null(kept_find(&kept, KEPT_MAP, 3));
	assert_int_equal(kept.bytes, 200);
	assert_int_equal(kept.evicted_len, 2);
	kept_trim(&kept, 0);
	assert_non_null(kept_find(&kept, KEPT_MAP, 3));
	kept_resize(&kept, kept_find(&kept, KEPT_MAP, 3), 7);
	assert_int_equal(kept.bytes, 7);
	kept_drop(&kept, KEPT_MAP, 3);
	assert_int_equal(kept.bytes, 0);
	kept_done(&kept);
}

static void symbols_make_room_among_themselves(void **state)
{
	struct kept kept = KEPT_INIT;

	(void)state;
	for (uint64_t id = 0; id < 3; id++) {
		struct map_reader *reader;
		struct symbols *symbols;

		assert_int_equal(map_reader_new(&reader), 0);
		assert_int_equal(kept_put(&kept, KEPT_MAP, id, reader, 1000), 0);
		assert_int_equal(symbols_new(NULL, NULL, &symbols), 0);
		assert_int_equal(kept_put(&kept, KEPT_SYMBOLS, id, symbols, 100), 0);
	}
	kept_trim_symbols(&kept, 250);
	assert_int_equal(kept.bytes, 3200);
	assert_null(kept_find(&kept, KEPT_SYMBOLS, 0));
	assert_non_null(kept_find(&kept, KEPT_SYMBOLS, 2));
	kept_trim_symbols(&kept, 0);
	assert_int_equal(kept.bytes, 3100);
	kept_done(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_used_for_longest_makes_room),
		cmocka_unit_test(symbols_make_room_among_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
