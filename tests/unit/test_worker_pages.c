/* SPDX-License-Identifier: Apache-2.0 */
/* Single pages of rows, as a worker compiles them, are those that are compiled here. */
#include "unit.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "await_death.h"
#include "base/own.h"
#include "client/lane.h"
#include "elf/image.h"
#include "unwind/rows_build.h"
#include "worker_client.h"

#define PAGES 3 /* at once */

static struct told told;

static int setup(void **state)
{
	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	return 0;
}

/* libc has more than a few pages. */
static int open_libc(void)
{
	Dl_info libc;
	int fd = dladdr((void *)gnu_get_libc_version, &libc)
		? open(libc.dli_fname, O_RDONLY | O_CLOEXEC)
		: -1;

	assert_true(fd >= 0);
	return fd;
}

static void open_image(int fd, struct image *image, void **bytes, size_t *size)
{
	struct stat st;
	struct why why;

	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	*bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(*bytes, MAP_FAILED);
	assert_int_equal(image_init(image, *bytes, *size, &why), 0);
}

static uint64_t written_ns(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
}

/* In one request, in another order than they were asked for, and all of them twice. */
static void ask_pages(int fd, uint32_t first, uint32_t len)
{
	for (uint32_t i = 0; i < 2 * len; i++)
		assert_int_equal(worker_client_page(told.client, 7, fd, written_ns(fd),
					 first + (len - 1 - i % len), 0),
			0);
	assert_int_equal(worker_client_pending(told.client), 1);
}

static void pages_of_a_library_are_as_compiled_here(void **state)
{
	_cleanup_fd_ int fd = open_libc();
	struct unwind_rows *outline;
	struct image image;
	struct why why;
	uint32_t first, last, numbers[PAGES];
	size_t size, answers = 0;
	void *bytes;

	(void)state;
	open_image(fd, &image, &bytes, &size);
	assert_int_equal(unwind_rows_begin(&image, &outline, &why), 0);
	assert_int_equal(outline->view.head->kind, UNWIND_ROWS_OUTLINE);
	first = unwind_rows_first(&outline->view);
	last = first + unwind_rows_span(&outline->view) - 1;
	for (uint32_t at = first; at + PAGES - 1 <= last; at += PAGES) {
		struct unwind_rows *rows;

		ask_pages(fd, at, PAGES);
		told_await(&told, ++answers);
		assert_int_equal(told.rows[answers - 1].id, 7);
		assert_int_equal(told.rows[answers - 1].pages_len, PAGES);
		assert_true(told.rows[answers - 1].eh_frame_bytes > 0);
		assert_int_equal(told.rows[answers - 1].build_id.len, 0);
		for (uint32_t i = 0; i < PAGES; i++)
			numbers[i] = at + i;
		assert_int_equal(
			unwind_rows_build_pages(&image, numbers, PAGES, &rows, &why), 0);
		assert_int_equal(told.size, rows->size);
		assert_memory_equal(told.bytes, rows->bytes, rows->size);
		unwind_rows_free(rows);
	}
	assert_true(answers > 1);
	unwind_rows_free(outline);
	image_done(&image);
	munmap(bytes, size);
}

static void pages_of_a_file_that_was_written_since_are_refused(void **state)
{
	_cleanup_fd_ int fd = open_self();
	_cleanup_fd_ int copy = memfd_create("copy", MFD_CLOEXEC);
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1, .tv_nsec = 7 } };
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sendfile(copy, fd, NULL, (size_t)st.st_size), st.st_size);
	assert_int_equal(futimens(copy, times), 0);
	assert_int_equal(worker_client_page(told.client, 1, copy, NSEC_PER_SEC + 7, 1, 0), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(worker_client_page(told.client, 1, copy, NSEC_PER_SEC + 8, 1, 0), 0);
	told_await(&told, 2);
	assert_int_equal(told.rows[1].status, WORKER_UNREADABLE);
	assert_int_equal(told.rows[1].rows_status, WORKER_UNREADABLE);
}

static void requests_that_were_sent_ahead_outlive_their_worker(void **state)
{
	_cleanup_fd_ int fd = open_self();
	pid_t worker = told_stats(&told).pids[0];

	(void)state;
	kill(worker, SIGSTOP);
	for (uint64_t id = 1; id <= 3 + LANE_AHEAD_MAX; id++)
		assert_int_equal(worker_client_rows(told.client, id, fd), 0);
	worker_client_drop(told.client, 2);
	kill(worker, SIGKILL);
	told_await(&told, 2 + LANE_AHEAD_MAX);
	for (size_t i = 0; i < told.len; i++) {
		assert_int_equal(told.rows[i].status, WORKER_OK);
		assert_int_not_equal(told.rows[i].id, 2);
	}
	assert_int_equal(worker_client_pending(told.client), 0);
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], 1);
}

/* Another worker is sent what that one was sent, and its answers are of that. */
static void requests_outlive_a_worker_that_is_found_lost_by_the_next_one(void **state)
{
	_cleanup_fd_ int fd = open_libc();
	pid_t worker = told_stats(&told).pids[0];

	(void)state;
	kill(worker, SIGSTOP);
	assert_int_equal(worker_client_page(told.client, 1, fd, written_ns(fd), 1, 0), 0);
	worker_client_kick(told.client);
	kill(worker, SIGKILL);
	await_death(worker);
	assert_int_equal(worker_client_rows(told.client, 2, fd), 0);
	told_await(&told, 2);
	for (size_t i = 0; i < told.len; i++) {
		assert_int_equal(told.rows[i].status, WORKER_OK);
		assert_int_equal(told.rows[i].pages_len, told.rows[i].id == 1 ? 1 : 0);
		assert_int_equal(told.rows[i].build_id.len > 0, told.rows[i].id == 2);
	}
	assert_int_equal(told.rows[0].id + told.rows[1].id, 1 + 2);
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], 1);
	assert_int_equal(told_stats(&told).lost[LANE_BAD_REPLY], 0);
}

#define INDEX_ENTRIES 12 /* in .eh_frame_hdr, of two words each */

/* A copy of the file whose index says of each second function that it begins a byte later. */
static int copy_with_wrong_index(int fd)
{
	int copy = memfd_create("copy", MFD_CLOEXEC);
	const struct image_section *index;
	struct image image;
	uint8_t *bytes;
	void *original;
	size_t size;

	open_image(fd, &image, &original, &size);
	index = image_section_find(&image, ".eh_frame_hdr");
	assert_non_null(index);
	assert_int_equal(write(copy, original, size), size);
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (uint64_t at = INDEX_ENTRIES; at < index->size; at += 16)
		bytes[index->file_offset + at]++;
	munmap(bytes, size);
	image_done(&image);
	munmap(original, size);
	return copy;
}

/* One answer is for all that wait. */
static void a_wrong_index_is_told_once_and_does_not_hinder_the_table(void **state)
{
	_cleanup_fd_ int fd = open_libc();
	_cleanup_fd_ int copy = copy_with_wrong_index(fd);
	_cleanup_fd_ int other = open_self();
	pid_t worker = told_stats(&told).pids[0];

	(void)state;
	kill(worker, SIGSTOP);
	for (uint32_t page = 4; page < 4 + LANE_AHEAD_MAX + 3; page++) {
		assert_int_equal(worker_client_page(
					 told.client, 7, copy, written_ns(copy), page, 0),
			0);
		worker_client_kick(told.client);
	}
	assert_int_equal(worker_client_pending(told.client), 2 + LANE_AHEAD_MAX);
	assert_int_equal(worker_client_rows(told.client, 8, other), 0);
	kill(worker, SIGCONT);
	told_await(&told, 2);
	assert_int_equal(told.rows[0].id, 7);
	assert_int_equal(told.rows[0].rows_status, WORKER_WRONG_INDEX);
	assert_int_equal(told.rows[1].id, 8);
	assert_int_equal(worker_client_pending(told.client), 0);
	assert_int_equal(worker_client_table(told.client, 7, copy), 0);
	told_await(&told, 3);
	assert_int_equal(told.rows[2].rows_status, WORKER_OK);
	assert_int_equal(
		((const struct unwind_rows_head *)told.bytes)->kind, UNWIND_ROWS_TABLE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			pages_of_a_library_are_as_compiled_here, setup, teardown),
		cmocka_unit_test_setup_teardown(
			pages_of_a_file_that_was_written_since_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			requests_that_were_sent_ahead_outlive_their_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(
			requests_outlive_a_worker_that_is_found_lost_by_the_next_one, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_wrong_index_is_told_once_and_does_not_hinder_the_table, setup, teardown),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
