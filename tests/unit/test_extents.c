/* SPDX-License-Identifier: Apache-2.0 */
/* test_extents.c - what is given out never overlaps, and comes back whole. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/extents.h"

#define SIZE 4096
#define BOUNDARY 256
#define TAKEN_MAX 512

static void what_is_given_back_joins_its_neighbours(void **state)
{
	struct extents e;
	uint64_t at[4], start;

	(void)state;
	assert_int_equal(extents_init(&e, 0, 400, 0), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(extents_take(&e, 100, &at[i]), 0);
	assert_int_equal(extents_take(&e, 1, &start), -ENOSPC);
	extents_give(&e, at[1], 100);
	extents_give(&e, at[3], 100);
	assert_int_equal(extents_take(&e, 150, &start), -ENOSPC);
	extents_give(&e, at[2], 100);
	assert_int_equal(extents_take(&e, 300, &start), 0);
	assert_int_equal(start, 100);
	assert_int_equal(e.used, 400);
	extents_done(&e);
}

struct taken {
	uint64_t start, len;
};

/* Marks or clears a run; fails when it is not all in the other state. */
static void mark(bool *used, const struct taken *t, bool to)
{
	for (uint64_t i = t->start; i < t->start + t->len; i++) {
		assert_true(used[i] != to);
		used[i] = to;
	}
	assert_int_equal(t->start / BOUNDARY, (t->start + t->len - 1) / BOUNDARY);
}

static void a_long_life_of_taking_and_giving_leaves_nothing_behind(void **state)
{
	struct extents e;
	struct taken taken[TAKEN_MAX];
	bool used[SIZE] = { false };
	size_t len = 0;

	(void)state;
	assert_int_equal(extents_init(&e, 0, SIZE, BOUNDARY), 0);
	srand(2);
	for (int round = 0; round < 20000; round++) {
		struct taken t = { .len = 1 + (uint64_t)rand() % 60 };
		size_t i = len ? (size_t)rand() % len : 0;

		if (rand() % 2 && len < TAKEN_MAX && extents_take(&e, t.len, &t.start) == 0) {
			mark(used, &t, true);
			taken[len++] = t;
		} else if (len > 0) {
			mark(used, &taken[i], false);
			extents_give(&e, taken[i].start, taken[i].len);
			taken[i] = taken[--len];
		}
	}
	while (len > 0) {
		len--;
		extents_give(&e, taken[len].start, taken[len].len);
	}
	assert_int_equal(e.used, 0);
	assert_int_equal(e.free.len, SIZE / BOUNDARY);
	extents_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_back_joins_its_neighbours),
		cmocka_unit_test(a_long_life_of_taking_and_giving_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
