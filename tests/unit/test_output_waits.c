/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_waits.c - how long an output waits for its reader. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "make_place.h"
#include "output/output.h"

#define STALL_MS 10

static void a_reader_that_takes_nothing_is_not_waited_for_for_ever(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output output = { .pattern = "f", .stall_ms = STALL_MS };
	struct why why;
	char *room;

	(void)state;
	make_all("read-fifo f");
	assert_int_equal(buf_reserve(&bytes, 1 << 20, &room), 0);
	memset(room, 'x', 1 << 20);
	buf_commit(&bytes, 1 << 20);
	assert_int_equal(output_write(&output, &bytes, &why), -ETIMEDOUT);
	assert_non_null(strstr(why.text, "its reader takes less than"));
	assert_int_equal(output_try(&output, &why), 0);
	fd_close(&reader);
	assert_int_equal(output_write(&output, &bytes, &why), -EPIPE);
	assert_non_null(strstr(why.text, "closed the pipe"));
}

/* The word to hurry comes while the writer waits, or before. */
static void in_a_hurry_a_reader_is_waited_for_a_moment_only(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output_hurry hurry = { .fd = -1 };
	struct output output = { .pattern = "f", .hurry = &hurry };
	uint64_t began, moment = OUTPUT_HURRY_MS * NSEC_PER_MSEC;
	struct why why;
	char *room;
	int pair[2];

	(void)state;
	make_all("read-fifo f");
	assert_int_equal(buf_reserve(&bytes, 1 << 20, &room), 0);
	memset(room, 'x', 1 << 20);
	buf_commit(&bytes, 1 << 20);
	assert_int_equal(fd_pair(&pair[0], &pair[1]), 0);
	hurry.fd = pair[0];
	assert_int_equal(fd_pass(pair[1], "x", 1, -1), 0);
	began = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(output_write(&output, &bytes, &why), -ECANCELED);
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - began, moment / 2, 20 * moment);
	assert_non_null(strstr(why.text, "its reader takes nothing; it was given 65536 bytes"));
	/* The moment is over: the next one has none. */
	output.last[0] = '\0';
	began = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(output_write(&output, &bytes, &why), -ECANCELED);
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - began, 0, moment / 2);
	close(pair[0]);
	close(pair[1]);
}

/* A pipe that others share stays in blocking mode. */
static void in_a_hurry_a_blocking_descriptor_is_left_too(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output_hurry hurry;
	struct output output = { .as_is = true, .hurry = &hurry };
	struct why why;
	char path[64], *room;
	int pair[2], ends[2];

	(void)state;
	assert_int_equal(buf_reserve(&bytes, 1 << 20, &room), 0);
	memset(room, 'x', 1 << 20);
	buf_commit(&bytes, 1 << 20);
	assert_int_equal(fd_pair(&pair[0], &pair[1]), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	output.pattern = path;
	output_hurry_init(&hurry, pair[0]);
	close(pair[1]);
	assert_int_equal(output_write(&output, &bytes, &why), -ECANCELED);
	assert_non_null(strstr(why.text, "its reader takes nothing; it was given 65536 bytes"));
	assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	close(pair[0]);
	close(ends[0]);
	close(ends[1]);
}

/* Takes 4 KiB each 4 ms, until the writer closes. */
static void take_slowly(int fd)
{
	char page[4096];
	struct pollfd one = { .fd = fd, .events = POLLIN };

	while (poll(&one, 1, -1) == 1 && read(fd, page, sizeof(page)) > 0)
		poll(NULL, 0, 4);
	_exit(0);
}

/* Each piece is taken in time, and all of them together are not. */
static void a_reader_that_takes_little_is_not_waited_for_for_ever(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output output = { .pattern = "f", .stall_ms = 10 * STALL_MS };
	struct why why;
	int err, given = 0;
	char *room;
	pid_t child;

	(void)state;
	make_all("read-fifo f");
	child = fork();
	if (child == 0)
		take_slowly(reader);
	assert_int_equal(buf_reserve(&bytes, 4 << 10, &room), 0);
	memset(room, 'x', 4 << 10);
	buf_commit(&bytes, 4 << 10);
	err = output_begin(&output, 0, &why);
	for (; err == 0 && given < 256; given++)
		err = output_put(&output, &bytes, &why);
	output_abort(&output);
	waitpid(child, NULL, 0);
	assert_int_equal(err, -ETIMEDOUT);
	assert_in_range(given, 17, 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_reader_that_takes_nothing_is_not_waited_for_for_ever, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			in_a_hurry_a_reader_is_waited_for_a_moment_only, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			in_a_hurry_a_blocking_descriptor_is_left_too, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_reader_that_takes_little_is_not_waited_for_for_ever, make_place,
			remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
