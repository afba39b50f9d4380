/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by a number: against the C library's, with equal numbers kept in order. */
#include "unit.h"

#include <stdlib.h>

#include "base/own.h"
#include "base/radix.h"

struct item {
	uint32_t number;
	uint32_t order;
	char more[7];
};

static int by_number(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void items_are_sorted_and_equal_ones_stay_in_order(void **state)
{
	static const uint32_t masks[] = { 0, 1, 0xff, 0x7ff, 0xfffff, 0xf0000000, UINT32_MAX };
	static struct item items[5000], sorted[5000];
	uint32_t dice = 7;

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
		for (size_t n = 0; n <= ARRAY_SIZE(items); n = n * 3 + 1) {
			for (size_t i = 0; i < n; i++) {
				dice = dice * 1664525 + 1013904223;
				items[i] = (struct item){ (dice ^ dice >> 13) & masks[m],
					(uint32_t)i, { (char)i } };
				sorted[i] = items[i];
			}
			qsort(sorted, n, sizeof(*sorted), by_number);
			assert_int_equal(radix_sort32(items, n, sizeof(*items)), 0);
			assert_memory_equal(items, sorted, n * sizeof(*items));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_sorted_and_equal_ones_stay_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
