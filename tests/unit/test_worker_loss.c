/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that die, hang, grow or lie: what the client makes of it, and how soon all is well again.
 * The liars are this program, started with another argument.
 * LINK: -Wl,--wrap=waitid,--wrap=kill,--wrap=epoll_ctl */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "await_death.h"
#include "base/own.h"
#include "client/lane.h"
#include "make_elf_symbols.h"
#include "unseen_stops.h"
#include "wire/proto.h"
#include "worker_ask.h"

#define SHORT_NS (100 * NSEC_PER_MSEC)

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	names_clear(&names);
	return 0;
}

/* A file with one function of this name at MAKE_ELF_TEXT_OFFSET. */
static int file_of(const char *name)
{
	struct make_elf m;
	int fd;

	make_elf_init(&m);
	make_elf_symbol(&m, name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), MAKE_ELF_TEXT_INDEX, 0, 8);
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	make_elf_finish(&m);
	fd = memory_file(m.file.data, m.file.len);
	make_elf_done(&m);
	return fd;
}

/* ---- death ---------------------------------------------------------------------------------- */

static void a_worker_killed_between_requests_is_not_missed(void **state)
{
	_cleanup_fd_ int fd = file_of("f");
	pid_t pid;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	pid = pid_of(1);
	kill(pid, SIGKILL);
	await_death(pid);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "f");
	assert_int_equal(told_stats(&told).restarts, 1);
	assert_int_equal(told_stats(&told).symbol_loads, 2);
}

static void names_are_asked_again_after_a_worker_was_killed_over_them(void **state)
{
	_cleanup_fd_ int fd = file_of("f");
	pid_t pid;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	kill(pid_of(1), SIGSTOP);
	assert_int_equal(ask(1, fd, in_ns(SHORT_NS)), WORKER_LATE);
	pid = pid_of(1);
	kill(pid, SIGKILL);
	await_death(pid);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "f");
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], 1);
	assert_int_equal(told_stats(&told).refused, 0);
}

static void rows_come_although_their_worker_was_killed(void **state)
{
	_cleanup_fd_ int fd = open_self();
	pid_t pid;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	pid = pid_of(0);
	kill(pid, SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	assert_int_equal(worker_client_rows(told.client, 2, fd), 0);
	worker_client_poll(told.client);
	kill(pid, SIGKILL);
	await_death(pid);
	told_await(&told, 2);
	assert_int_equal(told.rows[0].rows_status, WORKER_OK);
	assert_int_equal(told.rows[1].rows_status, WORKER_OK);
	assert_int_equal(told_stats(&told).lost[LANE_KILLED], 1);
}

static void workers_end_with_their_client_even_if_it_is_killed(void **state)
{
	pid_t pids[WORKER_LANES];
	int pipes[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		struct worker_stats stats;

		told_open_with(&told, (struct worker_client_options){ 0 });
		stats = told_stats(&told);
		(void)!write(pipes[1], stats.pids, sizeof(pids));
		pause();
	}
	assert_int_equal(read(pipes[0], pids, sizeof(pids)), sizeof(pids));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < WORKER_LANES; i++)
		await_death(pids[i]);
	close(pipes[0]);
	close(pipes[1]);
	told = (struct told){ 0 };
}

static void a_signal_for_the_whole_group_leaves_the_workers_be(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	_cleanup_fd_ int fd = file_of("f");

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		kill(pid_of(1), signals[i]);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_int_equal(told_stats(&told).restarts, 0);
}

/* ---- hanging -------------------------------------------------------------------------------- */

static void a_late_answer_is_of_use_the_next_time(void **state)
{
	_cleanup_fd_ int fd = file_of("f");

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	kill(pid_of(1), SIGSTOP);
	assert_int_equal(ask(1, fd, in_ns(SHORT_NS)), WORKER_LATE);
	assert_int_equal(ask(2, fd, in_ns(SHORT_NS)), WORKER_LATE);
	assert_int_equal(told_stats(&told).late, 1);
	kill(pid_of(1), SIGCONT);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_int_equal(told_stats(&told).symbol_loads, 1);
	assert_int_equal(told_stats(&told).restarts, 0);
}

static void a_worker_that_hangs_is_replaced_and_its_file_refused_for_a_while(void **state)
{
	_cleanup_fd_ int fd = file_of("f"), other = file_of("g");
	uint64_t end;

	(void)state;
	told_open_with(&told,
		(struct worker_client_options){
			.hang_ns = 5 * SHORT_NS, .refuse_ns = 10 * SHORT_NS });
	kill(pid_of(1), SIGSTOP);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_DOWN);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_REFUSED);
	assert_int_equal(ask(2, other, in_ns(LONG_NS)), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "g");
	assert_int_equal(told_stats(&told).lost[LANE_HUNG], 1);
	assert_int_equal(told_stats(&told).refused, 1);
	end = in_ns(LONG_NS);
	while (ask(1, fd, in_ns(LONG_NS)) == WORKER_REFUSED)
		assert_true(clock_ns(CLOCK_MONOTONIC) < end);
	assert_string_equal(name_at(&names, 0), "f");
}

static void rows_over_which_a_worker_hangs_are_told_as_refused(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .hang_ns = 5 * SHORT_NS });
	kill(pid_of(0), SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_REFUSED);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	assert_int_equal(worker_client_rows(told.client, 2, fd), 0);
	told_await(&told, 3);
	assert_int_equal(told.rows[1].status, WORKER_REFUSED);
	assert_int_equal(told.rows[2].status, WORKER_OK);
}

static void asking_again_from_within_the_callback_does_not_go_on_for_ever(void **state)
{
	_cleanup_fd_ int fd = open_self();
	size_t len;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .hang_ns = 5 * SHORT_NS });
	told.again = true;
	told.again_fd = fd;
	kill(pid_of(0), SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	/* One poll may tell the first result and that of what was asked from within. */
	while (told.len == 0) {
		struct pollfd ready = { worker_client_fd(told.client), POLLIN, 0 };

		poll(&ready, 1, 20);
		assert_int_equal(worker_client_poll(told.client), 0);
	}
	len = told.len;
	assert_true(len <= 3);
	worker_client_poll(told.client);
	assert_true(told.len <= len + 2);
	told.again = false;
}

/* ---- sleep ---------------------------------------------------------------------------------- */

static uint64_t due_ns(void)
{
	return worker_client_due_ns(told.client);
}

static void await_readable(void)
{
	struct pollfd ready = { worker_client_fd(told.client), POLLIN, 0 };

	assert_int_equal(poll(&ready, 1, LONG_NS / NSEC_PER_MSEC), 1);
}

static void a_client_without_requests_has_nothing_due(void **state)
{
	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	assert_int_equal(worker_client_poll(told.client), 0);
	assert_true(due_ns() == CLOCK_NEVER_NS);
}

/* Its memory is looked at once more, and then no longer. */
static void after_a_request_its_worker_is_looked_at_once(void **state)
{
	_cleanup_fd_ int fd = file_of("f");

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_true(due_ns() <= in_ns(NSEC_PER_SEC));
	told_stats(&told);
	assert_int_equal(worker_client_poll(told.client), 0);
	assert_true(due_ns() == CLOCK_NEVER_NS);
}

static void a_silent_worker_is_due_when_it_counts_as_hung(void **state)
{
	_cleanup_fd_ int fd = open_self();
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .hang_ns = LONG_NS });
	kill(pid_of(0), SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	assert_int_equal(worker_client_poll(told.client), 0);
	told_stats(&told); /* the look at memory is later than this */
	assert_true(due_ns() > begun_ns && due_ns() <= in_ns(LONG_NS));
}

static void each_worker_that_ends_is_noticed_at_once(void **state)
{
	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	for (int lane = 0; lane < WORKER_LANES_STANDING; lane++) {
		pid_t pid = pid_of(lane);

		kill(pid, SIGKILL);
		await_readable();
		assert_int_equal(worker_client_poll(told.client), 0);
		assert_int_not_equal(pid_of(lane), pid);
		if (due_ns() != CLOCK_NEVER_NS) /* the new one's hello, if it was not read yet */
			await_readable();
		assert_int_equal(worker_client_poll(told.client), 0);
	}
	assert_true(due_ns() == CLOCK_NEVER_NS);
}

static void a_worker_that_is_lost_again_and_again_is_due_later(void **state)
{
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	pid_t pid;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	while ((pid = pid_of(1)) != 0) {
		kill(pid, SIGKILL);
		await_readable();
		assert_int_equal(worker_client_poll(told.client), 0);
	}
	assert_true(due_ns() >= begun_ns + LANE_DELAY_FIRST_NS);
	assert_true(due_ns() <= in_ns(LANE_DELAY_MAX_NS));
}

/* ---- growth --------------------------------------------------------------------------------- */

static void a_worker_that_has_grown_is_replaced(void **state)
{
	_cleanup_fd_ int fd = file_of("f");

	(void)state;
	told_open_with(&told, (struct worker_client_options){ .rss_max_kb = 1 });
	assert_int_equal(told_stats(&told).lost[LANE_DROPPED], 2);
	assert_int_equal(ask(1, fd, in_ns(LONG_NS)), WORKER_OK);
	assert_true(told_stats(&told).lost[LANE_DROPPED] >= 3);
	assert_int_equal(told_stats(&told).refused, 0);
}

static void the_cost_of_workers_is_known_also_when_they_are_gone(void **state)
{
	_cleanup_fd_ int fd = open_self();
	struct worker_stats before, after;
	pid_t pid;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	for (uint64_t id = 0; id < 8; id++)
		assert_int_equal(ask(id, fd, in_ns(LONG_NS)), WORKER_OK);
	before = told_stats(&told);
	assert_true(before.cpu_s > 0.001 && before.cpu_s < 10);
	assert_true(before.rss_max_kb > 1000 && before.rss_max_kb < 500000);
	pid = before.pids[1];
	kill(pid, SIGKILL);
	await_death(pid);
	worker_client_poll(told.client);
	after = told_stats(&told);
	assert_true(after.cpu_s >= before.cpu_s - 0.02);
	assert_true(after.rss_max_kb >= before.rss_max_kb);
	assert_int_not_equal(after.pids[1], pid);
}

/* ---- lies ----------------------------------------------------------------------------------- */

enum lie {
	LIE_SILENT_END, /* says hello and ends */
	LIE_UNASKED,    /* says hello twice */
	LIE_SHORT,
	LIE_SEQ,
	LIE_KIND,
	LIE_UNSEALED, /* rows that could change */
	LIE_SIZE,     /* rows of another size than it says */
	LIE_ROWS,     /* rows that are none */
	LIE_NO_MEMFD, /* a descriptor that is no memory */
	LIE_ANSWERED, /* names beyond what was asked */
	LIE_UNTERMINATED,
	LIES,
};

static int lying_rows(enum lie lie, struct proto_rows *rows)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	rows->rows_bytes = lie == LIE_SIZE ? 8192 : 4096;
	if (ftruncate(fd, 4096) < 0)
		return -1;
	if (lie != LIE_UNSEALED)
		fcntl(fd, F_ADD_SEALS, seals);
	return lie == LIE_NO_MEMFD ? open("/dev/null", O_RDONLY) : fd;
}

static void lie_in_reply(enum lie lie, const struct proto_message *in, struct proto_message *out)
{
	struct proto_symbols symbols = { .symbols = 1 };
	struct proto_rows rows = { 0 };
	struct proto_answer answer = { .name = "x", .source = 1 };

	proto_begin_reply(out, &in->head, WORKER_OK);
	switch (in->head.kind) {
	case PROTO_ROWS:
		out->fds[0] = lying_rows(lie, &rows);
		out->fds_len = 1;
		proto_put(out, &rows, sizeof(rows));
		break;
	case PROTO_LOAD:
		proto_put(out, &symbols, sizeof(symbols));
		break;
	default:
		out->reply.answered = 1;
		answer.index = lie == LIE_ANSWERED;
		proto_put_answer(out, &answer);
		out->head.size -= lie == LIE_UNTERMINATED;
	}
	if (lie == LIE_SHORT)
		out->head.size = sizeof(out->head);
	if (lie == LIE_SEQ)
		out->head.seq++;
	if (lie == LIE_KIND)
		out->head.kind = PROTO_HELLO;
}

static void be_liar(enum lie lie)
{
	static struct proto_message in, out;
	struct proto_head to = { .kind = PROTO_HELLO };
	struct proto_hello hello = { 0 };

	for (int i = 0; i < 1 + (lie == LIE_UNASKED); i++) {
		proto_begin_reply(&out, &to, WORKER_OK);
		proto_put(&out, &hello, sizeof(hello));
		proto_send(WORKER_FD, 0, &out);
	}
	if (lie == LIE_SILENT_END)
		exit(0);
	while (proto_receive(WORKER_FD, 0, &in) == 0) {
		lie_in_reply(lie, &in, &out);
		proto_send(WORKER_FD, 0, &out);
		proto_close_fds(&out);
	}
	exit(0);
}

static void a_worker_that_lies_is_believed_nothing(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	for (int lie = 0; lie < LIES; lie++) {
		char argument[16];
		struct worker_stats stats;
		enum worker_status status;

		print_message("lie %d\n", lie);
		snprintf(argument, sizeof(argument), "lie%d", lie);
		told_open_with(&told, (struct worker_client_options){ .argument = argument });
		assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
		/* The first two are lost with nothing asked: the file waits for a better one. */
		if (lie >= LIE_SHORT && lie < LIE_ANSWERED) {
			told_await(&told, 1);
			assert_int_equal(told.rows[0].status, WORKER_REFUSED);
			assert_null(told.bytes);
		}
		status = ask(1, fd, in_ns(LONG_NS));
		stats = told_stats(&told);
		if (lie >= LIE_UNSEALED && lie < LIE_ANSWERED) {
			assert_int_equal(status, WORKER_OK);
		} else {
			assert_int_equal(status, WORKER_DOWN);
			assert_int_equal(names.len, 0);
		}
		assert_true(stats.lost[LANE_BAD_REPLY] + stats.lost[LANE_ENDED] > 0);
		assert_int_equal(
			worker_client_fault(told.client) != NULL, stats.lost[LANE_BAD_REPLY] > 0);
		told_close(&told);
	}
	told_open_with(&told, (struct worker_client_options){ 0 });
}

static void a_file_that_is_refused_is_told_of_once(void **state)
{
	_cleanup_fd_ int fd = open_self(), nothing = memfd_create("nothing", MFD_CLOEXEC);

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	kill(told_stats(&told).pids[0], SIGSTOP);
	assert_int_equal(worker_client_rows(told.client, 1, nothing), 0);
	assert_int_equal(worker_client_rows(told.client, 1, nothing), 0);
	assert_int_equal(worker_client_rows(told.client, 2, fd), 0);
	assert_int_equal(worker_client_rows(told.client, 1, nothing), 0);
	assert_int_equal(worker_client_pending(told.client), 4);
	kill(told_stats(&told).pids[0], SIGCONT);
	told_await(&told, 2);
	assert_int_equal(told.rows[0].id, 1);
	assert_int_not_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(told.rows[1].id, 2);
	assert_int_equal(worker_client_pending(told.client), 0);
}

static bool no_watches; /* are left to our user */

int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
	if (!no_watches)
		return __real_epoll_ctl(epoll, what, fd, event);
	errno = ENOSPC;
	return -1;
}

static void a_start_without_epoll_watches_says_what_would_help(void **state)
{
	struct worker_client_options options = { 0 };
	struct worker_client *client;
	struct why why = { "" };

	(void)state;
	no_watches = true;
	assert_int_equal(worker_client_open(&options, &client, &why), -ENOSPC);
	no_watches = false;
	assert_non_null(strstr(why.text, "fs.epoll.max_user_watches"));
	told = (struct told){ 0 };
}

static void a_program_that_is_no_worker_is_told_at_once(void **state)
{
	struct worker_client_options options = { .argument = "no-worker" };
	struct worker_client *client;
	struct why why = { "" };

	(void)state;
	assert_int_equal(worker_client_open(&options, &client, &why), -EPERM);
	assert_non_null(strstr(why.text, "status 3"));
	told = (struct told){ 0 };
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_worker_killed_between_requests_is_not_missed),
		TEST(a_file_that_is_refused_is_told_of_once),
		TEST(names_are_asked_again_after_a_worker_was_killed_over_them),
		TEST(rows_come_although_their_worker_was_killed),
		TEST(workers_end_with_their_client_even_if_it_is_killed),
		TEST(a_signal_for_the_whole_group_leaves_the_workers_be),
		TEST(a_late_answer_is_of_use_the_next_time),
		TEST(a_worker_that_hangs_is_replaced_and_its_file_refused_for_a_while),
		TEST(rows_over_which_a_worker_hangs_are_told_as_refused),
		TEST(asking_again_from_within_the_callback_does_not_go_on_for_ever),
		TEST(a_client_without_requests_has_nothing_due),
		TEST(after_a_request_its_worker_is_looked_at_once),
		TEST(a_silent_worker_is_due_when_it_counts_as_hung),
		TEST(each_worker_that_ends_is_noticed_at_once),
		TEST(a_worker_that_is_lost_again_and_again_is_due_later),
		TEST(a_worker_that_has_grown_is_replaced),
		TEST(the_cost_of_workers_is_known_also_when_they_are_gone),
		TEST(a_worker_that_lies_is_believed_nothing),
		TEST(a_program_that_is_no_worker_is_told_at_once),
		TEST(a_start_without_epoll_watches_says_what_would_help),
	};

	worker_client_main(argc, argv);
	if (argc == 2 && strncmp(argv[1], "lie", 3) == 0)
		be_liar((enum lie)atoi(argv[1] + 3));
	if (argc == 2)
		return 3;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
