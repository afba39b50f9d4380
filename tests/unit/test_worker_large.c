/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_large.c - the worker that makes the tables of large files: what does not wait for it,
 * and how long it is there.
 * LINK: -Wl,--wrap=waitid,--wrap=kill */
#include "unit.h"

#include <errno.h>
#include <signal.h>

#include "client/row_queue.h"
#include "unseen_stops.h"
#include "worker_client.h"

static struct told told;

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	return 0;
}

/* Process number of the worker of large files; 0: none. */
static pid_t pid_now(void)
{
	return told_stats(&told).pids[WORKER_LANES_STANDING];
}

static int large_file(void)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(ROW_AHEAD_BYTES + 1)), 0);
	return fd;
}

static void a_file_waits_for_no_large_one(void **state)
{
	_cleanup_fd_ int small = open_self(), large = large_file();

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	assert_int_equal(pid_now(), 0);
	assert_int_equal(worker_client_rows(told.client, 1, large), 0);
	told_await(&told, 1);
	assert_int_not_equal(pid_now(), 0);
	kill(pid_now(), SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 2, large), 0);
	assert_int_equal(worker_client_poll(told.client), 0);
	assert_int_equal(worker_client_rows(told.client, 3, small), 0);
	told_await(&told, 2);
	assert_int_equal(told.rows[1].id, 3);
	assert_int_equal(worker_client_pending(told.client), 1);
	kill(pid_now(), SIGCONT);
	told_await(&told, 3);
}

static void the_worker_of_large_files_ends_when_there_are_none_and_is_not_lost(void **state)
{
	_cleanup_fd_ int large = large_file();
	uint64_t end_ns = in_ns(LONG_NS);

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	assert_int_equal(worker_client_rows(told.client, 1, large), 0);
	told_await(&told, 1);
	assert_true(worker_client_due_ns(told.client) <= in_ns(ROW_IDLE_NS));
	while (pid_now() != 0 && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		struct pollfd ready = { worker_client_fd(told.client), POLLIN, 0 };

		poll(&ready, 1, 100);
		assert_int_equal(worker_client_poll(told.client), 0);
	}
	assert_int_equal(pid_now(), 0);
	assert_int_equal(worker_client_rows(told.client, 2, large), 0);
	told_await(&told, 2);
	assert_int_equal(told_stats(&told).restarts, 0);
	assert_int_equal(told_stats(&told).lost[LANE_DROPPED], 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_waits_for_no_large_one, NULL, teardown),
		cmocka_unit_test_setup_teardown(
			the_worker_of_large_files_ends_when_there_are_none_and_is_not_lost, NULL,
			teardown),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
