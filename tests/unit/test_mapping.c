/* SPDX-License-Identifier: Apache-2.0 */
/* test_mapping.c - files that a worker maps: those that change meanwhile, those that have holes. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"
#include "worker/mapping.h"
#include "worker_client.h"

static void a_file_that_shrinks_under_us_reads_as_zeros_and_is_torn(void **state)
{
	static char page[8192];
	_cleanup_fd_ int fd = -1, whole = -1;
	struct mapping mapping, other;
	volatile const char *bytes;

	(void)state;
	memset(page, 'x', sizeof(page));
	fd = memory_file(page, sizeof(page));
	whole = memory_file(page, sizeof(page));
	assert_int_equal(mapping_catch_faults(), 0);
	assert_int_equal(mapping_open(whole, &other), WORKER_OK);
	assert_int_equal(mapping_open(fd, &mapping), WORKER_OK);
	bytes = mapping.data;
	assert_int_equal(bytes[8191], 'x');
	assert_false(mapping_torn(&mapping));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(bytes[8191], 0);
	assert_int_equal(bytes[0], 0);
	assert_true(mapping_torn(&mapping));
	assert_false(mapping_torn(&other));
	bytes = other.data;
	assert_int_equal(bytes[8191], 'x');
	mapping_done(&mapping);
	mapping_done(&other);
	signal(SIGBUS, SIG_DFL);
}

#define HOLES (64UL << 20)

/* Pages of the file that its mapping finds in memory. */
static size_t resident(const struct mapping *mapping)
{
	size_t pages = mapping->len / 4096, found = 0;
	unsigned char *map = calloc(pages, 1);

	assert_int_equal(mincore((void *)mapping->data, mapping->len, map), 0);
	for (size_t i = 0; i < pages; i++)
		found += map[i] & 1;
	free(map);
	return found;
}

static void the_holes_of_a_file_are_not_filled_by_reading_ahead(void **state)
{
	char path[] = "/var/tmp/stoker-holes-XXXXXX";
	_cleanup_fd_ int fd = mkstemp(path);
	struct mapping mapping;
	volatile const char *bytes;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, HOLES), 0);
	assert_int_equal(mapping_open(fd, &mapping), WORKER_OK);
	bytes = mapping.data;
	for (size_t at = 0; at < HOLES; at += 512 << 10)
		assert_int_equal(bytes[at], 0);
	assert_in_range(resident(&mapping), 1, 2 * HOLES / (512 << 10));
	mapping_done(&mapping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_shrinks_under_us_reads_as_zeros_and_is_torn),
		cmocka_unit_test(the_holes_of_a_file_are_not_filled_by_reading_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
