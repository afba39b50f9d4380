/* SPDX-License-Identifier: Apache-2.0 */
/* test_languages.c - which file's facts hold for a process that maps a HotSpot: files of others
 * have no say in it. */
#include "unit.h"

#include "files/languages.h"
#include "files/objects.h"
#include "language/hotspot.h"
#include "wire/mappings.h"

#define VICTIM 1
#define ATTACKER 2
#define NEIGHBOUR 3

static struct object met[3];
static size_t met_len;
static struct hotspot_facts facts[3];

struct object *objects_at(const struct objects *objects, size_t i)
{
	(void)objects;
	return i < met_len ? &met[i] : NULL;
}

struct file_time *objects_time(struct objects *objects)
{
	(void)objects;
	return NULL;
}

static void meet(uint32_t dev, uint64_t ino, uint64_t payer)
{
	met[met_len] = (struct object){
		.key = { .dev = dev, .ino = ino }, .payer = payer, .hotspot = &facts[met_len]
	};
	met_len++;
}

/* Which of the files, from 0 on; -1: none. */
static int chosen(uint32_t dev, uint64_t ino, uint64_t account)
{
	const struct mappings_library jvm = { .start = 0x1000, .ino = ino, .dev = dev };
	const struct hotspot_facts *found = objects_hotspot(NULL, &jvm, account);

	return found ? (int)(found - facts) : -1;
}

static int setup(void **state)
{
	(void)state;
	met_len = 0;
	return 0;
}

static void the_same_number_on_another_device_is_another_file(void **state)
{
	(void)state;
	meet(27, 315152, ATTACKER);
	meet(8, 315152, VICTIM);
	assert_int_equal(chosen(8, 315152, VICTIM), 1);
	assert_int_equal(chosen(8, 315152, NEIGHBOUR), 1);
	assert_int_equal(chosen(27, 315152, ATTACKER), 0);
	assert_int_equal(chosen(8, 4, VICTIM), -1);
}

/* The mapping of a file on an overlay has the overlay's device. */
static void on_an_overlay_the_number_is_enough_if_one_file_has_it(void **state)
{
	(void)state;
	meet(8, 315152, VICTIM);
	assert_int_equal(chosen(45, 315152, NEIGHBOUR), 0);
}

static void on_an_overlay_files_of_others_do_not_hide_an_accounts_own(void **state)
{
	(void)state;
	meet(27, 315152, ATTACKER);
	meet(8, 315152, VICTIM);
	assert_int_equal(chosen(45, 315152, VICTIM), 1);
	assert_int_equal(chosen(45, 315152, NEIGHBOUR), -1);
	meet(9, 315152, VICTIM);
	assert_int_equal(chosen(45, 315152, VICTIM), -1);
}

static void a_file_that_is_none_is_passed_over(void **state)
{
	(void)state;
	meet(8, 315152, VICTIM);
	met[0].hotspot = NULL;
	assert_int_equal(chosen(8, 315152, VICTIM), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_same_number_on_another_device_is_another_file, setup),
		cmocka_unit_test_setup(
			on_an_overlay_the_number_is_enough_if_one_file_has_it, setup),
		cmocka_unit_test_setup(
			on_an_overlay_files_of_others_do_not_hide_an_accounts_own, setup),
		cmocka_unit_test_setup(a_file_that_is_none_is_passed_over, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
