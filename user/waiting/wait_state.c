/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_state.c - tables of functions by the beginnings of their names, which differ between
 * kernels at their ends: futex_wait_queue, futex_wait_queue_me, futex_do_wait. */
#include "waiting/wait_state.h"

#include <stddef.h>
#include <string.h>

#include "base/own.h"
#include "profile/marks.h"

static const struct {
	const char *begins, *state;
} states[] = {
	{ "futex_", PROFILE_BLOCKED_FUTEX },
	{ "do_epoll", PROFILE_BLOCKED_EPOLL },
	{ "ep_poll", PROFILE_BLOCKED_EPOLL },
	{ "schedule_hrtimeout", PROFILE_BLOCKED_EPOLL },
	{ "do_sys_poll", PROFILE_BLOCKED_POLL },
	{ "do_poll", PROFILE_BLOCKED_POLL },
	{ "poll_schedule", PROFILE_BLOCKED_POLL },
	{ "do_select", PROFILE_BLOCKED_POLL },
	{ "anon_pipe_", PROFILE_BLOCKED_PIPE },
	{ "pipe_", PROFILE_BLOCKED_PIPE },
	{ "fifo_open", PROFILE_BLOCKED_PIPE },
	{ "inet_csk_accept", PROFILE_BLOCKED_ACCEPT },
	{ "unix_accept", PROFILE_BLOCKED_ACCEPT },
	{ "unix_stream_", PROFILE_BLOCKED_SOCKET },
	{ "__skb_wait", PROFILE_BLOCKED_SOCKET },
	{ "wait_for_more_packets", PROFILE_BLOCKED_SOCKET },
	{ "sk_wait_data", PROFILE_BLOCKED_SOCKET },
	{ "sk_stream_wait", PROFILE_BLOCKED_SOCKET },
	{ "tcp_", PROFILE_BLOCKED_SOCKET },
	{ "inet_wait", PROFILE_BLOCKED_SOCKET },
	{ "__inet_stream_connect", PROFILE_BLOCKED_SOCKET },
	{ "hrtimer_nanosleep", PROFILE_SLEEPING },
	{ "do_nanosleep", PROFILE_SLEEPING },
	{ "common_nsleep", PROFILE_SLEEPING },
	{ "do_wait", PROFILE_BLOCKED_CHILD },
	{ "kernel_wait", PROFILE_BLOCKED_CHILD },
	{ "do_sigtimedwait", PROFILE_BLOCKED_SIGNAL },
	{ "sigsuspend", PROFILE_BLOCKED_SIGNAL },
	{ "__do_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "__ia32_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "__x64_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "do_coredump", PROFILE_STOPPED },
	{ "ptrace_stop", PROFILE_STOPPED },
	{ "do_signal_stop", PROFILE_STOPPED },
	{ "userfaultfd", PROFILE_BLOCKED_PAGE },
	{ "handle_userfault", PROFILE_BLOCKED_PAGE },
	{ "fuse_", PROFILE_BLOCKED_FUSE },
	{ "request_wait_answer", PROFILE_BLOCKED_FUSE },
};

/* Where pools wait for work: of the JVM, .NET, Go, libuv, Python and PostgreSQL. */
static const char *const idle_functions[] = {
	"java.util.concurrent.ThreadPoolExecutor.getTask",
	"java.util.concurrent.ForkJoinPool.awaitWork",
	"java.lang.ref.ReferenceQueue.remove",
	"java.lang.ref.Reference.waitForReferencePendingList",
	"GangWorker::loop",
	"WorkerThread::run",
	"WatcherThread::run",
	"CompileQueue::get",
	"os::signal_wait",
	"System.Threading.LowLevelLifoSemaphore.WaitForSignal",
	"System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart",
	"runtime.findRunnable",
	"runtime.sysmon",
	"uv__io_poll",
	"concurrent.futures.thread:_worker",
	"WaitLatch",
};

const char *wait_state(enum thread_class class, const char *function)
{
	if (class == THREAD_RUNNABLE)
		return PROFILE_RUNNABLE;
	if (class == THREAD_STOPPED)
		return PROFILE_STOPPED;
	for (size_t i = 0; function && i < ARRAY_SIZE(states); i++)
		if (strncmp(function, states[i].begins, strlen(states[i].begins)) == 0)
			return states[i].state;
	return class == THREAD_DISK ? PROFILE_BLOCKED_DISK : PROFILE_BLOCKED;
}

bool wait_state_is_idle(const char *state)
{
	return strcmp(state, PROFILE_BLOCKED_EPOLL) == 0 || strcmp(state, PROFILE_BLOCKED_POLL) == 0 ||
		strcmp(state, PROFILE_BLOCKED_ACCEPT) == 0;
}

bool wait_function_is_idle(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(idle_functions); i++)
		if (strcmp(name, idle_functions[i]) == 0)
			return true;
	return false;
}
