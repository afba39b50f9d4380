/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_state.c - a table of the kernel's functions that wait, whose names differ between
 * kernels, and one of those where threads wait for work. */
#include "waiting/wait_state.h"

#include <stddef.h>
#include <string.h>

#include "base/own.h"
#include "profile/marks.h"

/* A star stands for any end of a name, and a compiler's suffix is no part of it. */
static const struct {
	const char *name, *state;
} states[] = {
	{ "futex_*", PROFILE_BLOCKED_FUTEX },
	{ "__futex_*", PROFILE_BLOCKED_FUTEX },
	{ "do_epoll_wait", PROFILE_BLOCKED_EPOLL },
	{ "ep_poll", PROFILE_BLOCKED_EPOLL },
	{ "do_sys_poll", PROFILE_BLOCKED_POLL },
	{ "do_poll", PROFILE_BLOCKED_POLL },
	{ "poll_schedule_timeout", PROFILE_BLOCKED_POLL },
	{ "do_select", PROFILE_BLOCKED_POLL },
	{ "anon_pipe_*", PROFILE_BLOCKED_PIPE },
	{ "pipe_*", PROFILE_BLOCKED_PIPE },
	{ "fifo_open", PROFILE_BLOCKED_PIPE },
	{ "wait_for_partner", PROFILE_BLOCKED_PIPE },
	{ "inet_csk_accept", PROFILE_BLOCKED_ACCEPT },
	{ "inet_csk_wait_for_connect", PROFILE_BLOCKED_ACCEPT },
	{ "unix_accept", PROFILE_BLOCKED_ACCEPT },
	{ "unix_*", PROFILE_BLOCKED_SOCKET },
	{ "__skb_wait*", PROFILE_BLOCKED_SOCKET },
	{ "sk_wait_data", PROFILE_BLOCKED_SOCKET },
	{ "sk_stream_wait*", PROFILE_BLOCKED_SOCKET },
	{ "sock_alloc_send_pskb", PROFILE_BLOCKED_SOCKET },
	{ "sock_wait*", PROFILE_BLOCKED_SOCKET },
	{ "tcp_*", PROFILE_BLOCKED_SOCKET },
	{ "inet_wait*", PROFILE_BLOCKED_SOCKET },
	{ "__inet_stream_connect", PROFILE_BLOCKED_SOCKET },
	{ "hrtimer_nanosleep", PROFILE_SLEEPING },
	{ "do_nanosleep", PROFILE_SLEEPING },
	{ "common_nsleep", PROFILE_SLEEPING },
	{ "do_wait", PROFILE_BLOCKED_CHILD },
	{ "wait_for_vfork_done", PROFILE_BLOCKED_CHILD },
	{ "kernel_clone", PROFILE_BLOCKED_CHILD },
	{ "kernel_wait4", PROFILE_BLOCKED_CHILD },
	{ "do_sigtimedwait", PROFILE_BLOCKED_SIGNAL },
	{ "sigsuspend", PROFILE_BLOCKED_SIGNAL },
	{ "__do_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "__ia32_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "__x64_sys_pause", PROFILE_BLOCKED_SIGNAL },
	{ "signalfd_*", PROFILE_BLOCKED_SIGNAL },
	{ "handle_userfault", PROFILE_BLOCKED_PAGE },
	{ "folio_wait_*", PROFILE_BLOCKED_DISK },
	{ "wait_on_page_*", PROFILE_BLOCKED_DISK },
	{ "__wait_on_buffer", PROFILE_BLOCKED_DISK },
	{ "bit_wait_io*", PROFILE_BLOCKED_DISK },
	{ "submit_bio_wait", PROFILE_BLOCKED_DISK },
	{ "blkdev_*", PROFILE_BLOCKED_DISK },
	{ "jbd2_log_wait_commit", PROFILE_BLOCKED_DISK },
	{ "wait_for_completion_io*", PROFILE_BLOCKED_DISK },
	{ "fuse_*", PROFILE_BLOCKED_FUSE },
	{ "request_wait_answer", PROFILE_BLOCKED_FUSE },
	{ "flock_*", PROFILE_BLOCKED_FILE_LOCK },
	{ "locks_lock_*", PROFILE_BLOCKED_FILE_LOCK },
	{ "fcntl_setlk", PROFILE_BLOCKED_FILE_LOCK },
	{ "do_lock_file_wait", PROFILE_BLOCKED_FILE_LOCK },
	{ "timerfd_read*", PROFILE_SLEEPING },
	{ "eventfd_*", PROFILE_BLOCKED_EVENT },
	{ "do_semtimedop", PROFILE_BLOCKED_SEMAPHORE },
	{ "__do_semtimedop", PROFILE_BLOCKED_SEMAPHORE },
	{ "do_msgrcv", PROFILE_BLOCKED_MESSAGE },
	{ "do_msgsnd", PROFILE_BLOCKED_MESSAGE },
	{ "do_mq_timedreceive", PROFILE_BLOCKED_MESSAGE },
	{ "do_mq_timedsend", PROFILE_BLOCKED_MESSAGE },
	{ "wq_sleep", PROFILE_BLOCKED_MESSAGE },
	{ "inotify_read", PROFILE_BLOCKED_INOTIFY },
	{ "n_tty_*", PROFILE_BLOCKED_TERMINAL },
	{ "io_cqring_wait*", PROFILE_BLOCKED_IO_URING },
	{ "__do_sys_io_uring_enter", PROFILE_BLOCKED_IO_URING },
	{ "__x64_sys_io_uring_enter", PROFILE_BLOCKED_IO_URING },
	{ "__arm64_sys_io_uring_enter", PROFILE_BLOCKED_IO_URING },
};

enum place {
	ANYWHERE,
	INNERMOST, /* none of a language's is below it */
	LAST,      /* but for the functions of a library that ask the kernel */
	OF_LIBUV,  /* right above uv_cond_wait: many programs have a function of the name */
};

#define LAST_FRAMES 4 /* from the leaf on, with that function itself */

/* Where pools wait for work, event loops for events, and runtimes' own threads for something to do:
 * of the JVM, .NET, Go, libuv, V8, Python and C. Some have work, too, above them. */
static const struct {
	const char *name;
	bool native;
	enum place place;
} idle_functions[] = {
	{ "java.util.concurrent.ThreadPoolExecutor.getTask", false, ANYWHERE },
	{ "java.util.concurrent.ForkJoinPool.awaitWork", false, ANYWHERE },
	{ "java.lang.ref.ReferenceQueue.remove", false, ANYWHERE },
	{ "java.lang.ref.Reference.waitForReferencePendingList", false, ANYWHERE },
	{ "sun.nio.ch.NioSocketImpl.accept", false, ANYWHERE },
	{ "sun.nio.ch.PollSelectorImpl.doSelect", false, ANYWHERE },
	{ "GangWorker::loop", true, ANYWHERE },
	{ "WorkerThread::run", true, ANYWHERE },
	{ "WatcherThread::run", true, ANYWHERE },
	{ "WatcherThread::sleep", true, ANYWHERE },
	{ "VMThread::run", true, ANYWHERE },
	{ "CompileQueue::get", true, ANYWHERE },
	{ "ConcurrentGCThread::run", true, ANYWHERE },
	{ "G1ServiceThread::run_service", true, ANYWHERE },
	{ "MonitorDeflationThread::monitor_deflation_thread_entry", true, ANYWHERE },
	{ "ServiceThread::service_thread_entry", true, ANYWHERE },
	{ "NMethodSweeper::sweeper_loop", true, ANYWHERE },
	{ "os::signal_wait", true, ANYWHERE },
	{ "System.Threading.LowLevelLifoSemaphore.WaitForSignal", false, ANYWHERE },
	{ "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart", false, INNERMOST },
	{ "runtime.findRunnable", true, ANYWHERE },
	{ "runtime.sysmon", true, ANYWHERE },
	{ "NotificationThread::notification_thread_entry", true, ANYWHERE },
	{ "runtime.templateThread", true, ANYWHERE },
	{ "uv__io_poll", true, LAST },
	{ "worker", true, OF_LIBUV },
	{ "bioProcessBackgroundJobs", true, LAST }, /* of Redis */
	{ "background_thread_entry", true, LAST },  /* of jemalloc */
	{ "node::DelayedTaskScheduler::Run", true, LAST },
	{ "node::(anonymous namespace)::PlatformWorkerThread", true, LAST },
	{ "node::inspector::(anonymous namespace)::StartIoThreadMain", true, LAST },
	{ "concurrent.futures.thread:_worker", false, INNERMOST },
	{ "socketserver:BaseServer.serve_forever", false, ANYWHERE },
};

/* Where a program that has the loop waits for somebody who is to answer or to let go. */
static const char *const request_functions[] = {
	"pqSocketPoll", "pqSocketCheck", "vio_io_wait", "Curl_poll", "Curl_socket_check",
	"__res_context_send", "__libc_res_nsend", "BIO_wait", "redisBufferRead", "ProcSleep",
	"curl_multi_poll", "curl_multi_wait", "curl_easy_perform", "PQgetResult", "PQexec",
	"mysql_real_query", "mysql_store_result",
};

static bool fits(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strncmp(name, pattern, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

static const char *state_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (fits(function, states[i].name))
			return states[i].state;
	return NULL;
}

const char *wait_state(enum thread_class class, const char *const *functions, size_t len)
{
	const char *state = NULL;

	if (class == THREAD_RUNNABLE)
		return PROFILE_RUNNABLE;
	if (class == THREAD_THROTTLED)
		return PROFILE_THROTTLED;
	if (class == THREAD_STOPPED)
		return PROFILE_STOPPED;
	for (size_t i = 0; i < len; i++) {
		const char *one = state_of(functions[i]);

		/* A wait for a packet may be one for a connection. */
		if (one && (!state || strcmp(one, PROFILE_BLOCKED_ACCEPT) == 0))
			state = one;
		if (state && strcmp(state, PROFILE_BLOCKED_SOCKET) != 0)
			break;
	}
	if (!state)
		state = class == THREAD_DISK ? PROFILE_BLOCKED_DISK : PROFILE_BLOCKED;
	return state;
}

/* A demangled name has its parameters. */
static bool is_name(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return strncmp(name, wanted, len) == 0 && (name[len] == '\0' || name[len] == '(');
}

/* innermost: no frame below it is of a language. */
static bool is_there(enum place place, const struct wait_frame *frames, size_t at, bool innermost)
{
	switch (place) {
	case ANYWHERE:
		return true;
	case INNERMOST:
		return innermost;
	case LAST:
		return at < LAST_FRAMES;
	case OF_LIBUV:
		return at > 0 && is_name(frames[at - 1].name, "uv_cond_wait");
	}
	return false;
}

static bool is_idle_function(const struct wait_frame *frames, size_t at, bool innermost)
{
	for (size_t i = 0; i < ARRAY_SIZE(idle_functions); i++)
		if (frames[at].language != idle_functions[i].native &&
			is_there(idle_functions[i].place, frames, at, innermost) &&
			is_name(frames[at].name, idle_functions[i].name))
			return true;
	return false;
}

static bool is_request_function(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_functions); i++)
		if (strcmp(name, request_functions[i]) == 0)
			return true;
	return false;
}

bool wait_is_idle(const char *state, bool peer, const struct wait_frame *frames, size_t len)
{
	bool accept = strcmp(state, PROFILE_BLOCKED_ACCEPT) == 0;
	bool events = strcmp(state, PROFILE_BLOCKED_EPOLL) == 0;
	bool language = false;

	events |= strcmp(state, PROFILE_BLOCKED_POLL) == 0;
	if (!accept && !events && strcmp(state, PROFILE_BLOCKED_FUTEX) != 0 &&
		strcmp(state, PROFILE_SLEEPING) != 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!frames[i].language && is_request_function(frames[i].name))
			return false;
		if (is_idle_function(frames, i, frames[i].language && !language))
			return true;
		language |= frames[i].language;
	}
	if (accept || strcmp(state, PROFILE_BLOCKED_EPOLL) == 0)
		return true;
	/* A C program that polls mostly has an event loop; languages do so in each call that has a
	 * time limit. */
	return events && !language && !peer;
}
