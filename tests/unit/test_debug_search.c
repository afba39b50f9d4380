/* SPDX-License-Identifier: Apache-2.0 */
/* test_debug_search.c - how many roots are searched for debug files in an interval, and whose.
 * LINK: -Wl,--wrap=views_blamed,--wrap=views_root */
#include "unit.h"

#include "files/debug_search.h"
#include "files/views.h"

#define OTHERS 5000 /* the first root of another account */

uint64_t __wrap_views_blamed(const struct views *views, uint32_t number);
uint64_t __wrap_views_blamed(const struct views *views, uint32_t number)
{
	(void)views;
	return number < OTHERS ? 1 : 2;
}

/* There is nothing in it. */
int __wrap_views_root(const struct views *views, uint32_t number);
int __wrap_views_root(const struct views *views, uint32_t number)
{
	(void)views, (void)number;
	return -1;
}

static void an_account_of_many_roots_leaves_searches_to_others(void **state)
{
	struct debug_search search = { 0 };
	struct object *object = object_new(100, "file");
	uint64_t late;

	(void)state;
	assert_non_null(object);
	object->known = true;
	for (uint32_t view = 2; view < 2 + 2 * DEBUG_SEARCHES_MAX; view++)
		assert_int_equal(debug_search_set(&search, object, view), 0);
	late = object->debug_files.unread[FILE_LATE];
	assert_in_range(late, DEBUG_SEARCHES_MAX, DEBUG_SEARCHES_MAX + DEBUG_SEARCHES_MAX / 8);
	assert_int_equal(debug_search_set(&search, object, OTHERS), 0);
	assert_int_equal(object->debug_files.unread[FILE_LATE], late);
	assert_non_null(hash_find(&object->seen, OTHERS));
	debug_search_done(&search);
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_of_many_roots_leaves_searches_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
