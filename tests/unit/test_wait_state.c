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
		{ { "do_epoll_ctl" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { "poll_schedule_timeout.constprop.0", "do_sys_poll" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_POLL },
		{ { "wait_woken", "sk_wait_data", "tcp_recvmsg_locked" }, THREAD_SLEEPING,
			PROFILE_BLOCKED_SOCKET },
		{ { "wait_woken", "inotify_read" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { "do_wait_intr_irq", "eventfd_read" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { "do_wait", "kernel_wait4" }, THREAD_SLEEPING, PROFILE_BLOCKED_CHILD },
		{ { "do_wait.isra.0" }, THREAD_SLEEPING, PROFILE_BLOCKED_CHILD },
		{ { "hrtimer_nanosleep" }, THREAD_SLEEPING, PROFILE_SLEEPING },
		{ { "unix_accept" }, THREAD_SLEEPING, PROFILE_BLOCKED_ACCEPT },
		{ { "flock_lock_inode_wait" }, THREAD_SLEEPING, PROFILE_BLOCKED_FILE_LOCK },
		{ { "folio_wait_bit_common" }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "io_schedule" }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "handle_userfault" }, THREAD_DISK, PROFILE_BLOCKED_PAGE },
		{ { "anything" }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { NULL }, THREAD_SLEEPING, PROFILE_BLOCKED },
		{ { NULL }, THREAD_DISK, PROFILE_BLOCKED_DISK },
		{ { "futex_do_wait" }, THREAD_RUNNABLE, PROFILE_RUNNABLE },
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

static void who_waits_for_work_is_idle_and_who_waits_for_an_answer_is_not(void **state)
{
	(void)state;
	assert_true(wait_state_is_idle(PROFILE_BLOCKED_EPOLL));
	assert_true(wait_state_is_idle(PROFILE_BLOCKED_ACCEPT));
	assert_false(wait_state_is_idle(PROFILE_BLOCKED_SOCKET));
	assert_false(wait_state_is_idle(PROFILE_BLOCKED_FUTEX));
	assert_true(wait_state_may_idle(PROFILE_BLOCKED_FUTEX));
	assert_false(wait_state_may_idle(PROFILE_BLOCKED_SOCKET));
	assert_false(wait_state_may_idle(PROFILE_BLOCKED_DISK));
	assert_false(wait_state_may_idle(PROFILE_RUNNABLE));
	assert_true(wait_function_is_idle("java.lang.ref.ReferenceQueue.remove", false));
	assert_false(wait_function_is_idle("java.lang.ref.ReferenceQueue.remove", true));
	assert_true(wait_function_is_idle("uv__io_poll", true));
	assert_false(wait_function_is_idle("uv__io_poll", false));
	assert_false(wait_function_is_idle("uv__io_pollute", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_functions_of_a_wait_say_its_state),
		cmocka_unit_test(every_state_is_a_mark_that_no_code_can_have_for_a_name),
		cmocka_unit_test(who_waits_for_work_is_idle_and_who_waits_for_an_answer_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
