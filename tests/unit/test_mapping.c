/* SPDX-License-Identifier: Apache-2.0 */
/* test_mapping.c - files that a worker maps: those that change meanwhile, those that have holes. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "worker/mapping.h"
#include "worker_client.h"

static int disk_file(void)
{
	char path[] = "/var/tmp/stoker-mapping-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static void a_file_that_shrinks_under_us_reads_as_zeros_and_is_torn(void **state)
{
	static char page[8192];
	_cleanup_fd_ int fd = -1, whole = -1;
	struct mapping mapping, other;
	volatile const char *bytes;

	(void)state;
	memset(page, 'x', sizeof(page));
	fd = disk_file();
	whole = disk_file();
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	assert_int_equal(write(whole, page, sizeof(page)), sizeof(page));
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
	_cleanup_fd_ int fd = disk_file();
	struct mapping mapping;
	volatile const char *bytes;

	(void)state;
	assert_int_equal(ftruncate(fd, HOLES), 0);
	assert_int_equal(mapping_open(fd, &mapping), WORKER_OK);
	bytes = mapping.data;
	for (size_t at = 0; at < HOLES; at += 512 << 10)
		assert_int_equal(bytes[at], 0);
	assert_in_range(resident(&mapping), 1, 2 * HOLES / (512 << 10));
	mapping_done(&mapping);
}

static uint64_t blocks_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

/* Of this process, in memory; the kernel's page of zeros is not among them. */
static uint64_t own_pages(void)
{
	unsigned long long size = 0, resident_pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu %llu", &size, &resident_pages), 2);
	fclose(file);
	return resident_pages;
}

static void the_holes_of_a_file_in_memory_are_not_filled_at_all(void **state)
{
	_cleanup_fd_ int fd = memfd_create("holes", MFD_CLOEXEC);
	static const size_t places[] = { 0, 64 << 10, (3 << 20) + 17, HOLES - 1 };
	struct mapping mapping;
	volatile const char *bytes;
	uint64_t before, pages;

	(void)state;
	assert_int_equal(mapping_catch_faults(), 0);
	assert_int_equal(ftruncate(fd, HOLES), 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)places[i]), 1);
	before = blocks_of(fd);
	pages = own_pages();
	assert_int_equal(mapping_open(fd, &mapping), WORKER_OK);
	for (int turn = 0; turn < 2; turn++) {
		bytes = mapping.data;
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			assert_int_equal(bytes[places[i]], 'x');
		for (size_t at = 4096; at < HOLES; at += 4096)
			assert_int_equal(bytes[at + 1], 0);
		assert_int_equal(blocks_of(fd), before);
		assert_in_range(own_pages() - pages, 0, 1024);
		mapping_forget(&mapping);
	}
	assert_false(mapping_torn(&mapping));
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(bytes[HOLES - 1], 0);
	assert_int_equal(bytes[0], 'x');
	assert_true(mapping_torn(&mapping));
	mapping_done(&mapping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_shrinks_under_us_reads_as_zeros_and_is_torn),
		cmocka_unit_test(the_holes_of_a_file_are_not_filled_by_reading_ahead),
		cmocka_unit_test(the_holes_of_a_file_in_memory_are_not_filled_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
