/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_time.c - whose new files are refused, and for how long. Who uses a file is made here.
 * LINK: -Wl,--wrap=publish_payers */
#include "unit.h"

#include "base/clock.h"
#include "files/file_time.h"
#include "files/object.h"
#include "unwind/publish.h"

#define PART 333
#define PERMILLE 10 /* the budget: three tenths of it are 3 ms a second */
#define ALL_NS   share_room(FILE_TIME_MAX_NS)
#define NOW_NS   (1000 * NSEC_PER_SEC)

enum { HOSTILE = 7, VICTIM, OTHER };

static struct file_time files;
static const uint64_t *payers;
static uint32_t payers_len;

uint32_t __wrap_publish_payers(
	const struct publish *publish, uint32_t object, const uint64_t **accounts);

uint32_t __wrap_publish_payers(
	const struct publish *publish, uint32_t object, const uint64_t **accounts)
{
	(void)publish;
	(void)object;
	*accounts = payers;
	return payers_len;
}

static int setup(void **state)
{
	(void)state;
	files = (struct file_time){ 0 };
	payers_len = 0;
	file_time_limit(&files, PERMILLE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	file_time_done(&files);
	return 0;
}

static bool refuses(uint64_t account, uint64_t after_ns)
{
	return file_time_refuses(&files, account, NOW_NS + after_ns);
}

static void a_burst_is_free_and_what_goes_on_is_refused(void **state)
{
	uint64_t opened = 0;

	(void)state;
	while (!refuses(HOSTILE, 0) && opened < 100000) {
		file_time_charge(&files, HOSTILE, FILE_TIME_OPEN_NS);
		opened++;
	}
	assert_int_equal(opened, ALL_NS / FILE_TIME_OPEN_NS + 1);
	assert_int_equal(files.refused, 1);
	/* Who took nothing is not. */
	assert_false(refuses(VICTIM, 0));
	file_time_charge(&files, VICTIM, 10 * FILE_TIME_OPEN_NS);
	assert_false(refuses(VICTIM, 0));
	assert_true(refuses(HOSTILE, 0));
}

static void in_the_long_run_all_have_three_tenths_of_the_budget(void **state)
{
	uint64_t took_ns = 0, seconds = 600;

	(void)state;
	for (uint64_t ms = 0; ms < seconds * 1000; ms++)
		for (uint64_t account = HOSTILE; account < HOSTILE + 5; account++)
			if (!refuses(account, ms * NSEC_PER_MSEC)) {
				file_time_charge(&files, account, FILE_TIME_OPEN_NS);
				took_ns += FILE_TIME_OPEN_NS;
			}
	assert_in_range(took_ns, seconds * NSEC_PER_SEC / PART,
		seconds * NSEC_PER_SEC / PART + FILE_TIME_MAX_NS + 5 * FILE_TIME_OPEN_NS);
}

static void who_owes_more_waits_longer_and_keeps_nobody_waiting(void **state)
{
	(void)state;
	assert_false(refuses(HOSTILE, 0));
	file_time_charge(&files, HOSTILE, 4 * FILE_TIME_MAX_NS);
	file_time_charge(&files, OTHER, NSEC_PER_MSEC);
	assert_true(refuses(HOSTILE, 0));
	assert_false(refuses(OTHER, 0));
	assert_true(refuses(HOSTILE, (4 * FILE_TIME_MAX_NS - ALL_NS) * PART - NSEC_PER_SEC));
	assert_false(refuses(HOSTILE, 4 * FILE_TIME_MAX_NS * PART));
}

static void without_a_budget_nothing_is_refused(void **state)
{
	(void)state;
	files = (struct file_time){ 0 };
	file_time_charge(&files, HOSTILE, 100 * FILE_TIME_MAX_NS);
	assert_false(refuses(HOSTILE, 0));
	assert_int_equal(files.refused, 0);
	/* What was used before there was one is free. */
	file_time_limit(&files, PERMILLE);
	assert_false(refuses(HOSTILE, 0));
}

static void pages_of_a_file_come_while_one_of_its_users_may_go_on(void **state)
{
	const uint64_t both[] = { HOSTILE, VICTIM };
	struct object *object = object_new(OBJECT_FIRST, "file");

	(void)state;
	object->payer = HOSTILE;
	assert_false(file_time_refuses_more(&files, NULL, object, NOW_NS));
	file_time_charge(&files, HOSTILE, 2 * FILE_TIME_MAX_NS);
	assert_true(file_time_refuses_more(&files, NULL, object, NOW_NS));
	payers = both;
	payers_len = 1;
	assert_true(file_time_refuses_more(&files, NULL, object, NOW_NS));
	payers_len = 2;
	assert_false(file_time_refuses_more(&files, NULL, object, NOW_NS));
	assert_int_equal(files.refused, 2);
	object_free(object);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_burst_is_free_and_what_goes_on_is_refused),
		TEST(in_the_long_run_all_have_three_tenths_of_the_budget),
		TEST(who_owes_more_waits_longer_and_keeps_nobody_waiting),
		TEST(without_a_budget_nothing_is_refused),
		TEST(pages_of_a_file_come_while_one_of_its_users_may_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
