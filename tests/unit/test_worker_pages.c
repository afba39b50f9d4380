/* SPDX-License-Identifier: Apache-2.0 */
/* Single pages of rows, as a worker compiles them, are those that are compiled here. */
#include "unit.h"

#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/own.h"
#include "elf/image.h"
#include "unwind/rows_build.h"
#include "worker_client.h"

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

static void open_self_image(struct image *image, void **bytes, size_t *size)
{
	_cleanup_fd_ int fd = open_self();
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

/* All in few requests, in another order than they were asked for, some twice. */
static void pages_of_this_program_are_as_compiled_here(void **state)
{
	_cleanup_fd_ int fd = open_self();
	struct unwind_rows *outline;
	struct image image;
	struct why why;
	uint32_t first, span, next;
	size_t size;
	void *bytes;

	(void)state;
	open_self_image(&image, &bytes, &size);
	assert_int_equal(unwind_rows_begin(&image, &outline, &why), 0);
	first = next = unwind_rows_first(&outline->view);
	span = unwind_rows_span(&outline->view);
	assert_in_range(span, 4, 63);
	kill(told_stats(&told).pids[0], SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0); /* outstanding */
	for (uint32_t i = 0; i < 2 * span; i++)
		assert_int_equal(worker_client_page(told.client, 7, fd, written_ns(fd),
					 first + (span - 1 - i % span)),
			0);
	assert_int_equal(worker_client_pending(told.client), 1 + (span + 31) / 32);
	kill(told_stats(&told).pids[0], SIGCONT);
	told_await(&told, 1);
	for (size_t len = 2; worker_client_pending(told.client) > 0; len++) {
		uint32_t numbers[64];
		const struct unwind_rows_page *page;
		struct unwind_rows *rows;
		size_t pages_len;

		told_await(&told, len);
		pages_len = told.rows[len - 1].pages_len;
		assert_in_range(pages_len, 1, span);
		assert_int_equal(told.rows[len - 1].id, 7);
		assert_true(told.rows[len - 1].eh_frame_bytes > 0);
		assert_int_equal(told.rows[len - 1].build_id.len, 0);
		page = (const void *)((char *)told.bytes + sizeof(struct unwind_rows_head));
		for (size_t i = 0; i < pages_len; i++)
			numbers[i] = page[i].number;
		assert_int_equal(
			unwind_rows_build_pages(&image, numbers, pages_len, &rows, &why), 0);
		assert_int_equal(told.size, rows->size);
		assert_memory_equal(told.bytes, rows->bytes, rows->size);
		unwind_rows_free(rows);
		next += (uint32_t)pages_len;
	}
	assert_int_equal(next - first, span);
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
	assert_int_equal(worker_client_page(told.client, 1, copy, NSEC_PER_SEC + 7, 1), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(worker_client_page(told.client, 1, copy, NSEC_PER_SEC + 8, 1), 0);
	told_await(&told, 2);
	assert_int_equal(told.rows[1].status, WORKER_UNREADABLE);
	assert_int_equal(told.rows[1].rows_status, WORKER_UNREADABLE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			pages_of_this_program_are_as_compiled_here, setup, teardown),
		cmocka_unit_test_setup_teardown(
			pages_of_a_file_that_was_written_since_are_refused, setup, teardown),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
