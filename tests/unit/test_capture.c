/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture.c - captures as children of a pool: their results, limits and ends. What a capture
 * executes is this program itself, which then behaves as its words say. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "daemon/capture.h"

#define LONG_NS (60 * NSEC_PER_SEC)
#define RESULTS_MAX 8

struct seen {
	struct capture_result results[RESULTS_MAX];
	char text[RESULTS_MAX][64];
	size_t len;
};

static void take(void *ctx, struct capture_result *result)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct seen *seen = ctx;

	assert_true(seen->len < RESULTS_MAX);
	assert_true(result->fd >= 0);
	assert_int_equal(fd_read_all(result->fd, 63, &text), 0);
	snprintf(seen->text[seen->len], 64, "%s", text.data);
	seen->results[seen->len++] = *result;
}

/* wanted: a word, or nothing. */
static int run_capture(void *ctx, const void *wanted, bool clocks)
{
	const char *words[] = { wanted, NULL };

	(void)ctx;
	return capture_exec(words, clocks && strcmp(wanted, "no-clocks") != 0);
}

static struct starter starter = STARTER_INIT;

static int open_starter(void **state)
{
	const struct starter_duties duties = { .capture = run_capture };

	(void)state;
	setenv("STOKER_CLOCKS", "3", 1);
	return starter_open(&starter, &duties);
}

static int close_starter(void **state)
{
	(void)state;
	starter_close(&starter);
	return 0;
}

static struct captures *open_pool(struct seen *seen, size_t at_once, size_t a_minute)
{
	const struct capture_limits limits = { at_once, a_minute, NULL };
	struct captures *pool;
	struct why why;

	assert_int_equal(captures_new(&limits, &starter, take, seen, &pool, &why), 0);
	return pool;
}

static int start(struct captures *pool, const char *word, uint64_t most_ns, uint64_t *id,
	uint64_t *retry_ns, struct why *why)
{
	const struct capture_order order = {
		.wanted = word, .size = strlen(word) + 1, .most_ns = most_ns
	};

	return captures_start(pool, &order, id, retry_ns, why);
}

static uint64_t must_start(struct captures *pool, const char *word, uint64_t most_ns)
{
	uint64_t id, retry_ns;
	struct why why;

	assert_int_equal(start(pool, word, most_ns, &id, &retry_ns, &why), 0);
	return id;
}

static void wait_for(struct captures *pool, const struct seen *seen, size_t len)
{
	struct pollfd one = { .fd = captures_fd(pool), .events = POLLIN };

	while (seen->len < len) {
		poll(&one, 1, 50);
		captures_poll(pool);
	}
}

static void what_it_writes_is_the_result(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);
	struct capture_stats stats;
	uint64_t id = must_start(pool, "print", LONG_NS);

	(void)state;
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].id, id);
	assert_int_equal(seen.results[0].err, 0);
	assert_string_equal(seen.text[0], "a;b 1\n");
	assert_string_equal(seen.results[0].why.text, "warning: of something");
	captures_stats(pool, &stats);
	assert_int_equal(stats.started, 1);
	assert_int_equal(stats.done, 1);
	assert_int_equal(stats.running, 0);
	assert_true(stats.cpu_ns > 0);
}

static void why_it_failed_is_its_last_line(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);

	(void)state;
	must_start(pool, "fail", LONG_NS);
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].err, -EIO);
	assert_string_equal(seen.results[0].why.text, "no such thing");
}

/* HTTP's status comes from this number. */
static void its_exit_status_says_what_went_wrong(void **state)
{
	static const struct {
		const char *word;
		int err;
	} rows[] = {
		{ "1", -EIO },
		{ "2", -EINVAL },
		{ "3", -ENOENT },
		{ "4", -EINVAL },
		{ "5", -EIO },
		{ "127", -EIO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen seen = { 0 };
		_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 1, 1);

		must_start(pool, rows[i].word, LONG_NS);
		wait_for(pool, &seen, 1);
		if (seen.results[0].err != rows[i].err)
			fail_msg("exit status %s became %d", rows[i].word, seen.results[0].err);
	}
}

static void a_capture_of_unknown_end_is_a_failure(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);

	(void)state;
	must_start(pool, "print", LONG_NS);
	assert_true(waitpid(-1, NULL, 0) > 0);
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].err, -EIO);
}

static void a_death_is_told_with_its_signal(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);

	(void)state;
	must_start(pool, "die", LONG_NS);
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].err, -EIO);
	assert_string_equal(seen.results[0].why.text, "the capture was killed by signal 6");
}

static void what_takes_too_long_is_killed(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);

	(void)state;
	must_start(pool, "wait", NSEC_PER_MSEC);
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].err, -ETIMEDOUT);
}

static void one_that_others_stop_goes_on(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);
	struct pollfd one = { .fd = captures_fd(pool), .events = POLLIN };

	(void)state;
	starter.stopped = 0;
	must_start(pool, "stop", LONG_NS);
	while (seen.len == 0) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		assert_true(poll(&one, 1, clock_wait_ms(now, captures_due_ns(pool))) >= 0);
		captures_poll(pool);
	}
	assert_int_equal(seen.results[0].err, 0);
	assert_int_equal(starter.stopped, 1);
}

/* Who has its user may stop and continue it all the time. */
static void a_child_that_is_stopped_all_the_time_wakes_us_now_and_then(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);
	struct pollfd one = { .fd = captures_fd(pool), .events = POLLIN };
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + 10 * STARTER_WAKE_NS;
	unsigned int wakes = 0;

	(void)state;
	must_start(pool, "stops", LONG_NS);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		uint64_t due_ns = clock_sooner(captures_due_ns(pool), end);

		poll(&one, 1, clock_wait_ms(clock_ns(CLOCK_MONOTONIC), due_ns));
		captures_poll(pool);
		wakes++;
	}
	assert_in_range(wakes, 1, 3 * 10);
}

static void only_what_is_asked_for_is_ended(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);
	struct capture_stats stats;
	uint64_t first = must_start(pool, "wait", LONG_NS);

	(void)state;
	must_start(pool, "wait", LONG_NS);
	captures_end(pool, first);
	captures_end(pool, 99);
	wait_for(pool, &seen, 1);
	assert_int_equal(seen.results[0].id, first);
	assert_int_equal(seen.results[0].err, -ECANCELED);
	captures_stats(pool, &stats);
	assert_int_equal(stats.running, 1);
}

static void more_at_once_are_refused_until_one_is_over(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 1, 10);
	uint64_t id, retry_ns = 0, first = must_start(pool, "wait", 5 * NSEC_PER_SEC);
	struct capture_stats stats;
	struct why why;

	(void)state;
	assert_int_equal(start(pool, "print", LONG_NS, &id, &retry_ns, &why), -EBUSY);
	assert_in_range(retry_ns, NSEC_PER_SEC, 5 * NSEC_PER_SEC);
	captures_end(pool, first);
	wait_for(pool, &seen, 1);
	must_start(pool, "print", LONG_NS);
	wait_for(pool, &seen, 2);
	captures_stats(pool, &stats);
	assert_int_equal(stats.refused, 1);
}

static void more_in_a_minute_are_refused(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 1, 2);
	uint64_t id, retry_ns = 0;
	struct why why;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		must_start(pool, "print", LONG_NS);
		wait_for(pool, &seen, i + 1);
	}
	assert_int_equal(start(pool, "print", LONG_NS, &id, &retry_ns, &why), -EAGAIN);
	assert_in_range(retry_ns, 50 * NSEC_PER_SEC, 60 * NSEC_PER_SEC);
}

/* It has sampled nothing. */
static void without_a_target_it_is_no_capture_of_the_minute(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 1, 2);
	uint64_t id, retry_ns = 0;
	struct capture_stats stats;
	struct why why;

	(void)state;
	must_start(pool, "print", LONG_NS);
	wait_for(pool, &seen, 1);
	for (size_t i = 0; i < 4; i++) {
		must_start(pool, i % 2 == 0 ? "3" : "4", LONG_NS);
		wait_for(pool, &seen, i + 2);
	}
	captures_stats(pool, &stats);
	assert_int_equal(stats.not_found, 4);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.done, 1);
	must_start(pool, "print", LONG_NS);
	wait_for(pool, &seen, 6);
	assert_int_equal(start(pool, "print", LONG_NS, &id, &retry_ns, &why), -EAGAIN);
}

static void searches_in_vain_have_a_limit_of_their_own(void **state)
{
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 1, 2);
	uint64_t id, retry_ns = 0;
	struct why why;

	(void)state;
	for (size_t i = 0; i < CAPTURE_A_MINUTE_MAX; i++) {
		must_start(pool, "3", LONG_NS);
		wait_for(pool, &seen, 1);
		seen.len = 0;
	}
	assert_int_equal(start(pool, "print", LONG_NS, &id, &retry_ns, &why), -EAGAIN);
	assert_in_range(retry_ns, NSEC_PER_SEC, 60 * NSEC_PER_SEC);
	assert_non_null(strstr(why.text, "found no target"));
}

static size_t count_children(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	size_t len = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	assert_int_equal(fd_read_path(path, 4096, &text), 0);
	for (size_t i = 0; i < text.len; i++)
		len += text.data[i] == ' ';
	return len;
}

static void none_outlives_its_pool(void **state)
{
	struct seen seen = { 0 };
	struct captures *pool = open_pool(&seen, 1, 2);

	(void)state;
	must_start(pool, "wait", LONG_NS);
	assert_int_equal(count_children(), 2);
	captures_free(pool);
	assert_int_equal(count_children(), 1); /* the starter */
}

/* Its own, and none where there is no place for it, whatever the environment says. */
static void it_has_a_socket_to_ask_for_clocks(void **state)
{
	static const char *const words[] = { "clocks", "no-clocks" };
	struct seen seen = { 0 };
	_cleanup_(captures_freep) struct captures *pool = open_pool(&seen, 2, 10);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		must_start(pool, words[i], LONG_NS);
		wait_for(pool, &seen, i + 1);
	}
	assert_string_equal(seen.text[0], "a socket, closed on exec\n");
	assert_string_equal(seen.text[1], "none\n");
}

/* It can begin again nowhere: the daemon itself executes nothing. */
static void without_its_starter_there_is_none(void **state)
{
	static const struct starter_duties nothing = { 0 };
	const struct capture_limits limits = { 1, 1, NULL };
	struct starter other = STARTER_INIT;
	struct seen seen = { 0 };
	struct captures *pool;
	uint64_t id, retry_ns;
	struct why why;

	(void)state;
	assert_int_equal(starter_open(&other, &nothing), 0);
	assert_int_equal(captures_new(&limits, &other, take, &seen, &pool, &why), 0);
	assert_int_equal(start(pool, "print", LONG_NS, &id, &retry_ns, &why), -EPIPE);
	assert_true(starter_lost(&other));
	captures_free(pool);
}

static void say_clocks(void)
{
	int fd = capture_clocks_fd();
	struct stat file;

	if (fd == 0)
		puts("none");
	else if (fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode) && !getenv("STOKER_CLOCKS") &&
		fcntl(fd, F_GETFD) == FD_CLOEXEC)
		puts("a socket, closed on exec");
}

/* As `stoker record WORD`. */
static int be_record(const char *word)
{
	if (strcmp(word, "print") == 0) {
		puts("a;b 1");
		fputs("stoker: warning: of something\n", stderr);
		return 0;
	}
	if (word[0] >= '1' && word[0] <= '9')
		return atoi(word);
	if (strcmp(word, "clocks") == 0 || strcmp(word, "no-clocks") == 0) {
		say_clocks();
		return 0;
	}
	if (strcmp(word, "stop") == 0) {
		raise(SIGSTOP);
		return 0;
	}
	while (strcmp(word, "stops") == 0)
		raise(SIGSTOP);
	if (strcmp(word, "wait") == 0)
		for (;;)
			pause();
	if (strcmp(word, "die") == 0)
		raise(SIGABRT); /* SIGSEGV is a sanitizer's, where there is one */
	fputs("a note\nstoker: no such thing\n", stderr);
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_writes_is_the_result),
		cmocka_unit_test(why_it_failed_is_its_last_line),
		cmocka_unit_test(its_exit_status_says_what_went_wrong),
		cmocka_unit_test(a_capture_of_unknown_end_is_a_failure),
		cmocka_unit_test(a_death_is_told_with_its_signal),
		cmocka_unit_test(what_takes_too_long_is_killed),
		cmocka_unit_test(one_that_others_stop_goes_on),
		cmocka_unit_test(a_child_that_is_stopped_all_the_time_wakes_us_now_and_then),
		cmocka_unit_test(only_what_is_asked_for_is_ended),
		cmocka_unit_test(more_at_once_are_refused_until_one_is_over),
		cmocka_unit_test(more_in_a_minute_are_refused),
		cmocka_unit_test(without_a_target_it_is_no_capture_of_the_minute),
		cmocka_unit_test(searches_in_vain_have_a_limit_of_their_own),
		cmocka_unit_test(none_outlives_its_pool),
		cmocka_unit_test(it_has_a_socket_to_ask_for_clocks),
		cmocka_unit_test(without_its_starter_there_is_none),
	};

	if (argc == 3 && strcmp(argv[1], "record") == 0)
		return be_record(argv[2]);
	return cmocka_run_group_tests(tests, open_starter, close_starter);
}
