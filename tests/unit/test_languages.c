/* SPDX-License-Identifier: Apache-2.0 */
/* test_languages.c - which file's facts hold for a process that maps a HotSpot: files of others
 * have no say in it, whatever numbers they have. */
#include "unit.h"

#include "files/languages.h"
#include "files/objects.h"
#include "language/hotspot.h"

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

/* Which of the files, from 0 on; -1: none. */
static int chosen(const struct object_key *key)
{
	const struct hotspot_facts *found = objects_hotspot(NULL, key);

	return found ? (int)(found - facts) : -1;
}

static void a_file_is_known_by_its_whole_key(void **state)
{
	static const struct object_key keys[] = {
		{ .dev = 8, .ino = 315152, .place = 1 },
		{ .dev = 8, .ino = 315152, .place = 2 },
		{ .dev = 27, .ino = 315152, .place = 1 },
	};
	const struct object_key other = { .dev = 9, .ino = 315152, .place = 1 };

	(void)state;
	for (met_len = 0; met_len < 3; met_len++)
		met[met_len] = (struct object){
			.key = keys[met_len], .hotspot = &facts[met_len]
		};
	for (int i = 0; i < 3; i++)
		assert_int_equal(chosen(&keys[i]), i);
	assert_int_equal(chosen(&other), -1);
	met[1].hotspot = NULL; /* it is none */
	assert_int_equal(chosen(&keys[1]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_known_by_its_whole_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
