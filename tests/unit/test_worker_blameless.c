/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_blameless.c - workers that are stopped or killed by others, or hold much memory that
 * is in no account: they go on, or are replaced, and no file is to blame.
 * LINK: -Wl,--wrap=waitid,--wrap=kill */
#include "unit.h"

#include <signal.h>

#include "await_death.h"
#include "client/lane.h"
#include "unseen_stops.h"
#include "wire/proto.h"
#include "worker_ask.h"

#define HANG_NS (500 * NSEC_PER_MSEC)
#define HOARDED_BYTES (32UL << 20) /* more than a worker has without it */

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	names_clear(&names);
	stops = STOPS_UNSEEN;
	return 0;
}

/* ---- stops ---------------------------------------------------------------------------------- */

static void a_worker_that_is_stopped_goes_on(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	stops = STOPS_SEEN;
	for (int lane = 0; lane < WORKER_LANES_STANDING; lane++)
		kill(pid_of(lane), SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].rows_status, WORKER_OK);
	assert_int_equal(told_stats(&told).stopped, 2);
	assert_int_equal(worker_client_stopped(told.client), 2);
	assert_int_equal(told_stats(&told).restarts, 0);
}

/* The next one gets its request. */
static void the_file_of_a_worker_that_stays_stopped_is_not_refused(void **state)
{
	_cleanup_fd_ int fd = open_self();
	pid_t rows;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .hang_ns = HANG_NS });
	stops = STOPS_STAY;
	rows = pid_of(0);
	kill(rows, SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_not_equal(pid_of(0), rows);
	kill(pid_of(1), SIGSTOP);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_DOWN);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_int_equal(told_stats(&told).lost[LANE_DROPPED], 2);
	assert_int_equal(told_stats(&told).lost[LANE_HUNG], 0);
	assert_int_equal(told_stats(&told).refused, 0);
}

/* ---- kills ---------------------------------------------------------------------------------- */

#define KILLS 4

/* Somebody has the user of workers, and kills each while it has this file. */
static void kill_over(uint64_t id, int fd, int times)
{
	for (int i = 0; i < times; i++) {
		pid_t pid;

		assert_int_equal(ask(id + 1, fd, in_ns(LONG_NS)), WORKER_OK);
		pid = pid_of(1);
		kill(pid, SIGSTOP);
		assert_int_equal(ask(id, fd, in_ns(HANG_NS / 5)), WORKER_LATE);
		kill(pid, SIGKILL);
		await_death(pid);
		worker_client_poll(told.client);
	}
}

static void a_file_whose_workers_are_killed_by_others_is_not_refused(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	kill_over(1, fd, KILLS);
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], KILLS);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_int_equal(told_stats(&told).refused, 0);
}

#define GROWN_BYTES (LANE_GROWN_KB << 10)

/* It takes memory as for a file that wants it. */
static void be_eater(void)
{
	static struct proto_message in, out;
	struct proto_head to = { .kind = PROTO_HELLO };
	struct proto_hello hello = { 0 };

	proto_begin_reply(&out, &to, WORKER_OK);
	proto_put(&out, &hello, sizeof(hello));
	proto_send(WORKER_FD, 0, &out);
	while (proto_receive(WORKER_FD, 0, &in) == 0) {
		char *bytes = malloc(GROWN_BYTES);

		if (bytes)
			memset(bytes, 1, GROWN_BYTES);
		raise(SIGSTOP);
	}
	exit(0);
}

/* The kernel may have been short of memory because of the file. */
static void a_file_whose_worker_had_grown_is_refused_from_the_second_kill_on(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .argument = "eater" });
	for (int i = 0; i < 2; i++) {
		pid_t pid = pid_of(1);

		assert_int_equal(ask(1, fd, in_ns(2 * HANG_NS)), WORKER_LATE);
		kill(pid, SIGKILL);
		await_death(pid);
		worker_client_poll(told.client);
	}
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], 2);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_REFUSED);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void be_hoarder(void)
{
	static struct proto_message in, out;
	static const char piece[1 << 20] = "x";
	struct proto_head to = { .kind = PROTO_HELLO };
	struct proto_hello hello = { 0 };
	const struct proto_rows nothing = { .rows_status = WORKER_UNREADABLE };

	proto_begin_reply(&out, &to, WORKER_OK);
	proto_put(&out, &hello, sizeof(hello));
	proto_send(WORKER_FD, 0, &out);
	while (proto_receive(WORKER_FD, 0, &in) == 0) {
		for (size_t i = 0; in.fds_len == 2 && i < HOARDED_BYTES / sizeof(piece); i++)
			fd_write_all(in.fds[1], piece, sizeof(piece));
		proto_begin_reply(&out, &in.request.head, WORKER_UNREADABLE);
		proto_put(&out, &nothing, sizeof(nothing));
		proto_send(WORKER_FD, 0, &out);
		proto_close_fds(&in);
	}
	exit(0);
}

/* It may map what it wrote, unread: no account of its memory shows that. */
static void a_worker_that_has_written_much_is_replaced_and_nobody_is_blamed(void **state)
{
	_cleanup_fd_ int fd = open_self();
	struct worker_stats stats;

	(void)state;
	told_open_with(&told,
		(struct worker_client_options){
			.argument = "hoarder", .rss_max_kb = HOARDED_BYTES * 5 / 2 >> 10 });
	for (uint64_t id = 1; id <= 9; id++)
		assert_int_equal(worker_client_rows(told.client, id, fd), 0);
	told_await(&told, 9);
	for (size_t i = 0; i < told.len; i++)
		assert_int_equal(told.rows[i].status, WORKER_UNREADABLE);
	stats = told_stats(&told);
	assert_int_equal(stats.lost[LANE_DROPPED], 3);
	assert_int_equal(stats.refused, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_worker_that_is_stopped_goes_on),
		TEST(the_file_of_a_worker_that_stays_stopped_is_not_refused),
		TEST(a_file_whose_workers_are_killed_by_others_is_not_refused),
		TEST(a_file_whose_worker_had_grown_is_refused_from_the_second_kill_on),
		TEST(a_worker_that_has_written_much_is_replaced_and_nobody_is_blamed),
	};

	worker_client_main(argc, argv);
	if (argc == 2 && strcmp(argv[1], "hoarder") == 0)
		be_hoarder();
	if (argc == 2 && strcmp(argv[1], "eater") == 0)
		be_eater();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
