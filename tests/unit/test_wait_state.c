/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait_state.c - states by the kernel functions in which threads were seen to wait, on several
 * kernels; and which of them may be idle. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "waiting/wait_state.h"

static void the_functions_of_a_wait_say_its_state(void **state)
{
	static const struct {
		const char *functions[WAIT_FUNCTIONS];
		enum thread_class class;
		const char *state;
	} rows[] = {
		{ { "futex_do_wait", "__futex_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_FUTEX },
		{ { "futex_wait_queue_me" }, THREAD_SLEEPING, PROFILE_BLOCKED_FUTEX },
		{ { "do_epoll_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_EPOLL },
		{ { "blk_io_schedule", "submit_bio_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_DISK },
		{ { "folio_wait_writeback" }, THREAD_SLEEPING, PROFILE_BLOCKED_DISK },
		{ { "jbd2_log_wait_commit" }, THREAD_SLEEPING, PROFILE_BLOCKED_DISK },
		{ { "do_epoll_ctl" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { "poll_schedule_timeout.constprop.0", "do_sys_poll" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_POLL },
		{ { "wait_woken", "sk_wait_data", "tcp_recvmsg_locked" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_SOCKET },
		{ { "wait_woken", "inotify_read" }, THREAD_SLEEPING, PROFILE_BLOCKED_INOTIFY },
		{ { "do_wait_intr_irq", "eventfd_read" }, THREAD_SLEEPING, PROFILE_BLOCKED_EVENT },
		{ { "timerfd_read_iter" }, THREAD_SLEEPING, PROFILE_SLEEPING },
		{ { "__do_semtimedop" }, THREAD_SLEEPING, PROFILE_BLOCKED_SEMAPHORE },
		{ { "do_msgrcv" }, THREAD_SLEEPING, PROFILE_BLOCKED_MESSAGE },
		{ { "schedule_hrtimeout_range_clock", "wq_sleep" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_MESSAGE },
		{ { "wait_woken", "n_tty_read" }, THREAD_SLEEPING, PROFILE_BLOCKED_TERMINAL },
		{ { "io_cqring_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_IO_URING },
		{ { "do_wait", "kernel_wait4" }, THREAD_SLEEPING, PROFILE_BLOCKED_CHILD },
		{ { "kernel_clone", "__do_sys_vfork" }, THREAD_SLEEPING, PROFILE_BLOCKED_CHILD },
		{ { "do_wait.isra.0" }, THREAD_SLEEPING, PROFILE_BLOCKED_CHILD },
		{ { "hrtimer_nanosleep" }, THREAD_SLEEPING, PROFILE_SLEEPING },
		{ { "unix_accept" }, THREAD_SLEEPING, PROFILE_BLOCKED_ACCEPT },
		{ { "__skb_wait_for_more_packets", "skb_recv_datagram", "unix_accept" },
			THREAD_SLEEPING, PROFILE_BLOCKED_ACCEPT },
		{ { "__skb_wait_for_more_packets", "unix_dgram_recvmsg" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_SOCKET },
		{ { "flock_lock_inode_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_FILE_LOCK },
		{ { "folio_wait_bit_common" }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "io_schedule" }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "handle_userfault" }, THREAD_DISK, PROFILE_BLOCKED_PAGE },
		{ { "anything" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { NULL }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { NULL }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "futex_do_wait" }, THREAD_RUNNABLE, PROFILE_RUNNABLE },
		{ { "futex_do_wait" }, THREAD_THROTTLED, PROFILE_THROTTLED },
		{ { "futex_do_wait" }, THREAD_STOPPED, PROFILE_STOPPED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = 0;

		while (len < WAIT_FUNCTIONS && rows[i].functions[len])
			len++;
		assert_string_equal(
			wait_state(rows[i].class, rows[i].functions, len), rows[i].state);
	}
}

static void every_state_is_a_mark_that_no_code_can_have_for_a_name(void **state)
{
	static const char *const marks[] = { PROFILE_MARKS };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		assert_true(profile_is_mark(marks[i], strlen(marks[i])));
	assert_false(profile_is_mark("[blocked on love]", strlen("[blocked on love]")));
}

/* Frames of a language's code, and of a file. */
#define IN(function)           \
	{                      \
		function, true \
	}
#define OF(function)            \
	{                       \
		function, false \
	}

static void who_waits_for_work_is_idle_and_who_waits_for_an_answer_is_not(void **state)
{
	static const struct {
		const char *state;
		struct wait_frame frames[6]; /* leaf first */
		bool idle;
	} rows[] = {
		{ PROFILE_BLOCKED_EPOLL, { OF("epoll_wait"), OF("main") }, true },
		{ PROFILE_BLOCKED_ACCEPT, { OF("accept"), OF("serve") }, true },
		{ PROFILE_BLOCKED_SOCKET, { OF("recv"), OF("uv__io_poll") }, false },
		{ PROFILE_BLOCKED_DISK, { OF("read") }, false },
		{ PROFILE_RUNNABLE, { OF("uv__io_poll") }, false },
		{ PROFILE_BLOCKED_FUTEX, { OF("pthread_cond_wait"), OF("main") }, false },
		{ PROFILE_BLOCKED_FUTEX, { OF("__futex_wait"), OF("uv__io_poll") }, true },
		{ PROFILE_BLOCKED_FUTEX, { OF("uv__io_pollute") }, false },
		{ PROFILE_BLOCKED_FUTEX, { IN("uv__io_poll") }, false },
		{ PROFILE_BLOCKED_FUTEX, { IN("java.lang.ref.ReferenceQueue.remove") }, true },
		{ PROFILE_BLOCKED_FUTEX, { OF("java.lang.ref.ReferenceQueue.remove") }, false },
		/* A pool's worker without work, and with some that is blocked. */
		{ PROFILE_BLOCKED_FUTEX,
			{ OF("sem_wait"), IN("concurrent.futures.thread:_worker"),
				IN("threading:Thread.run") },
			true },
		{ PROFILE_BLOCKED_FUTEX,
			{ OF("sem_wait"), IN("shop:take_lock"),
				IN("concurrent.futures.thread:_worker") },
			false },
		{ PROFILE_SLEEPING, { OF("clock_nanosleep"), IN("shop:main") }, false },
		/* poll(2): an event loop's, a socket with a time limit, an answer's. */
		{ PROFILE_BLOCKED_POLL, { OF("__poll"), OF("g_main_loop_run") }, true },
		{ PROFILE_BLOCKED_POLL,
			{ OF("__poll"), IN("selectors:_PollLikeSelector.select"),
				IN("socketserver:BaseServer.serve_forever") },
			true },
		{ PROFILE_BLOCKED_POLL, { OF("__poll"), IN("shop:ask") }, false },
		{ PROFILE_BLOCKED_POLL,
			{ OF("__poll"), IN("sun.nio.ch.NioSocketImpl.park"),
				IN("sun.nio.ch.NioSocketImpl.implRead") },
			false },
		{ PROFILE_BLOCKED_POLL,
			{ OF("__poll"), IN("sun.nio.ch.NioSocketImpl.park"),
				IN("sun.nio.ch.NioSocketImpl.accept") },
			true },
		{ PROFILE_BLOCKED_POLL, { OF("__poll"), OF("pqSocketPoll"), OF("PQexec") }, false },
		/* The loop itself, and what it called. */
		{ PROFILE_BLOCKED_FUTEX,
			{ OF("__futex_wait"), OF("pthread_cond_wait"), OF("Atomics"),
				OF("on_headers"), OF("uv__io_poll") },
			false },
		{ PROFILE_BLOCKED_EPOLL, { OF("epoll_wait"), OF("WaitLatch"), OF("ProcSleep") },
			false },
		{ PROFILE_BLOCKED_POLL,
			{ OF("__poll"), IN("selectors:_PollLikeSelector.select"),
				IN("subprocess:Popen._communicate") },
			false },
		{ PROFILE_BLOCKED_FUTEX, { OF("__futex_wait"), OF("GangWorker::loop()") }, true },
		{ PROFILE_BLOCKED_FUTEX, { OF("__futex_wait"), OF("GangWorker::looped()") },
			false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = 0;

		while (len < ARRAY_SIZE(rows[i].frames) && rows[i].frames[len].name)
			len++;
		if (wait_is_idle(rows[i].state, false, rows[i].frames, len) != rows[i].idle)
			fail_msg("row %zu: %s in %s", i, rows[i].state, rows[i].frames[0].name);
	}
}

/* Node's own: the wait is right below its function, or in the work that the function does. */
static void a_worker_is_idle_right_below_its_own_function(void **state)
{
	static const struct wait_frame idle[] = { OF("__futex_wait"), OF("pthread_cond_wait"),
		OF("uv_cond_wait"),
		OF("node::(anonymous namespace)::PlatformWorkerThread(void*)") };
	static const struct wait_frame pool[] = { OF("pthread_cond_wait"), OF("uv_cond_wait"),
		OF("worker") };
	static const struct wait_frame other[] = { OF("pthread_cond_wait"), OF("worker") };
	static const struct wait_frame works[] = { OF("__futex_wait"), OF("pthread_cond_wait"),
		OF("uv_cond_wait"), OF("compile"),
		OF("node::(anonymous namespace)::PlatformWorkerThread(void*)") };

	(void)state;
	assert_true(wait_is_idle(PROFILE_BLOCKED_FUTEX, false, idle, 4));
	assert_false(wait_is_idle(PROFILE_BLOCKED_FUTEX, false, works, 5));
	assert_true(wait_is_idle(PROFILE_BLOCKED_FUTEX, false, pool, 3));
	assert_false(wait_is_idle(PROFILE_BLOCKED_FUTEX, false, other, 2));
}

static void who_polls_the_one_whom_it_asked_is_not_idle(void **state)
{
	static const struct wait_frame frames[] = { OF("__poll"), OF("app+0x1234") };

	(void)state;
	assert_true(wait_is_idle(PROFILE_BLOCKED_POLL, false, frames, 2));
	assert_false(wait_is_idle(PROFILE_BLOCKED_POLL, true, frames, 2));
	assert_true(wait_is_idle(PROFILE_BLOCKED_EPOLL, true, frames, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_is_idle_right_below_its_own_function),
		cmocka_unit_test(who_polls_the_one_whom_it_asked_is_not_idle),
		cmocka_unit_test(the_functions_of_a_wait_say_its_state),
		cmocka_unit_test(every_state_is_a_mark_that_no_code_can_have_for_a_name),
		cmocka_unit_test(who_waits_for_work_is_idle_and_who_waits_for_an_answer_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
