/* SPDX-License-Identifier: Apache-2.0 */
/* test_unsent.c - requests to workers whose descriptors cannot be sent, because others of our user
 * are in flight: they are sent later, or late, and no worker is lost.
 * LINK: -Wl,--wrap=starter_open,--wrap=starter_start,--wrap=starter_kill,--wrap=nanosleep
 * LINK: -Wl,--wrap=proto_send,--wrap=clock_gettime,--wrap=poll,--wrap=epoll_ctl */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "client/calls.h"
#include "client/client.h"
#include "client/mappings.h"
#include "client/stats.h"
#include "lying_worker.h"

#define WAIT_NS (200 * NSEC_PER_MSEC)

static bool no_watches; /* are left to our user */

int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
	if (!no_watches || what != EPOLL_CTL_ADD)
		return __real_epoll_ctl(epoll, what, fd, event);
	errno = ENOSPC;
	return -1;
}

struct world {
	struct worker_client *client;
	int fd; /* a file to be asked about */
	unsigned int rows;
};

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	struct world *w = ctx;

	assert_int_equal(rows->status, WORKER_OK);
	w->rows++;
}

static int set_up(void **state)
{
	static struct world world;
	const struct worker_client_options options = { 0 };
	struct why why;

	world = (struct world){ .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	*state = &world;
	if (worker_client_open(&options, &world.client, &why) < 0)
		return -1;
	worker_client_listen(world.client, on_rows, &world);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	lying_worker_unsendable(0);
	worker_client_free(w->client);
	close(w->fd);
	return 0;
}

static void lose_nothing(struct world *w)
{
	struct worker_stats stats;

	worker_client_stats(w->client, &stats);
	assert_true(stats.unsent >= 3);
	for (int cause = 0; cause < LANE_CAUSES; cause++)
		assert_int_equal(stats.lost[cause], 0);
}

static enum worker_status ask_calls(struct world *w)
{
	const struct elf_call_query query = { 0 };
	struct worker_calls calls = { .id = 1,
		.fd = w->fd,
		.queries = &query,
		.len = 1,
		.until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_NS };
	struct elf_call answer;

	return worker_client_calls(w->client, &calls, &answer);
}

static enum worker_status ask_mappings(struct world *w)
{
	const struct worker_mappings query = { 2, w->fd, clock_ns(CLOCK_MONOTONIC) + WAIT_NS };
	_cleanup_(buf_done) struct buf list = BUF_INIT;
	struct mappings_facts facts;

	return worker_client_mappings(w->client, &query, &facts, &list);
}

static void rows_come_when_their_file_can_be_sent(void **state)
{
	struct world *w = *state;

	lying_worker_unsendable(3);
	assert_int_equal(worker_client_rows(w->client, 1, w->fd), 0);
	for (int i = 0; i < 8 && w->rows == 0; i++)
		assert_int_equal(worker_client_poll(w->client), 0);
	assert_int_equal(w->rows, 1);
	lose_nothing(w);
}

static void a_question_is_repeated_until_its_time_is_over(void **state)
{
	struct world *w = *state;

	lying_worker_unsendable(3);
	assert_int_equal(ask_calls(w), WORKER_OK);
	lying_worker_unsendable(3);
	assert_int_equal(ask_mappings(w), WORKER_OK);
	lying_worker_unsendable(UINT_MAX);
	assert_int_equal(ask_calls(w), WORKER_LATE);
	assert_int_equal(ask_mappings(w), WORKER_LATE);
	lying_worker_unsendable(0);
	assert_int_equal(ask_calls(w), WORKER_OK);
	lose_nothing(w);
}

/* They are looked at by time, and watched when there is room again. */
static void workers_that_cannot_be_watched_work(void **state)
{
	struct world *w = *state;
	const struct worker_client_options options = { 0 };
	struct why why;

	worker_client_free(w->client);
	no_watches = true;
	assert_int_equal(worker_client_open(&options, &w->client, &why), 0);
	worker_client_listen(w->client, on_rows, w);
	assert_int_equal(worker_client_rows(w->client, 1, w->fd), 0);
	for (int i = 0; i < 8 && w->rows == 0; i++)
		assert_int_equal(worker_client_poll(w->client), 0);
	assert_int_equal(w->rows, 1);
	assert_true(worker_client_due_ns(w->client) <=
		clock_ns(CLOCK_MONOTONIC) + 100 * NSEC_PER_MSEC);
	no_watches = false;
	assert_int_equal(worker_client_poll(w->client), 0);
	assert_true(worker_client_due_ns(w->client) >
		clock_ns(CLOCK_MONOTONIC) + 100 * NSEC_PER_MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			rows_come_when_their_file_can_be_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_question_is_repeated_until_its_time_is_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			workers_that_cannot_be_watched_work, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
