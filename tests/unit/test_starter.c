/* SPDX-License-Identifier: Apache-2.0 */
/* test_starter.c - what the process that starts workers does for its owner and for its guests. That
 * it may more than we is for machines on which only root may open a clock (tools/check-vm). */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/starter.h"

static const struct cpu_clock second = { .period_ns = NSEC_PER_SEC, .cpu = 0, .cgroup_fd = -1 };

static void a_clock_comes_as_if_we_had_opened_it(void **state)
{
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int ours = -1, given = -1;
	struct cpu_clock wrong = second;
	int err = cpu_clock_open(&second, &ours);

	(void)state;
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
	assert_int_equal(starter_open(&starter), 0);
	assert_int_equal(starter_clock(&starter, &second, &given), err);
	assert_int_equal(given >= 0, err == 0);
	wrong.period_ns = CPU_CLOCK_PERIOD_MIN_NS - 1;
	assert_int_equal(starter_clock(&starter, &wrong, &given), -EINVAL);
	wrong = second;
	wrong.cpu = -1;
	assert_int_equal(starter_clock(&starter, &wrong, &given), -EINVAL);
	/* What goes with it is a file, and no cgroup's folder. */
	wrong = second;
	wrong.cgroup_fd = starter.child.fd;
	assert_true(starter_clock(&starter, &wrong, &given) < 0);
	assert_true(starter.child.pid > 0);
	starter_close(&starter);
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
}

static void guests_are_served_beside_the_owner(void **state)
{
	struct starter starter = STARTER_INIT, guests[ORDERS_GUESTS_MAX];
	_cleanup_fd_ int ours = -1, one_more = -1;
	int err = cpu_clock_open(&second, &ours);

	(void)state;
	assert_int_equal(starter_open(&starter), 0);
	for (int i = 0; i < ORDERS_GUESTS_MAX; i++) {
		guests[i] = (struct starter)STARTER_INIT;
		assert_int_equal(starter_invite(&starter, &guests[i].child.fd), 0);
	}
	assert_int_equal(starter_invite(&starter, &one_more), -EAGAIN);
	for (int i = 0; i < ORDERS_GUESTS_MAX; i++) {
		_cleanup_fd_ int given = -1;

		assert_int_equal(starter_clock(&guests[i], &second, &given), err);
	}
	/* One leaves, and there is room. */
	starter_close(&guests[0]);
	while (starter_invite(&starter, &one_more) == -EAGAIN)
		;
	assert_true(one_more >= 0);
	for (int i = 1; i < ORDERS_GUESTS_MAX; i++)
		starter_close(&guests[i]);
	starter_close(&starter);
}

/* What a guest sends that is no question for a clock ends it, and nobody else. */
static void a_guest_has_no_other_word(void **state)
{
	static const size_t sizes[] = { 1, 4, 40, 48, 4000 };
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int ours = -1, given = -1;
	int err = cpu_clock_open(&second, &ours);

	(void)state;
	assert_int_equal(starter_open(&starter), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_fd_ int fd = -1;
		char bytes[4000] = "", answer[64];

		assert_int_equal(starter_invite(&starter, &fd), 0);
		assert_int_equal(send(fd, bytes, sizes[i], MSG_NOSIGNAL), sizes[i]);
		assert_true(recv(fd, answer, sizeof(answer), 0) <= 0);
	}
	assert_int_equal(starter_clock(&starter, &second, &given), err);
	starter_close(&starter);
}

/* We may have rights that it gave up, so it has no stand-in. */
static void what_a_lost_starter_did_is_done_by_nobody(void **state)
{
	struct starter starter = STARTER_INIT;
	struct child child = CHILD_INIT;
	_cleanup_fd_ int given = -1;

	(void)state;
	assert_int_equal(starter_open(&starter), 0);
	assert_false(starter_lost(&starter));
	assert_int_equal(kill(starter.child.pid, SIGKILL), 0);
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
	assert_int_equal(child.pid, 0);
	assert_true(starter_lost(&starter));
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
	starter_close(&starter);
	/* Nobody asks for anything, and it is noticed. */
	starter = (struct starter)STARTER_INIT;
	assert_int_equal(starter_open(&starter), 0);
	assert_int_equal(kill(starter.child.pid, SIGKILL), 0);
	while (!starter_lost(&starter))
		;
	assert_int_equal(starter.child.fd, -1);
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_comes_as_if_we_had_opened_it),
		cmocka_unit_test(guests_are_served_beside_the_owner),
		cmocka_unit_test(a_guest_has_no_other_word),
		cmocka_unit_test(what_a_lost_starter_did_is_done_by_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
