/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/session.c - the child does the work; the parent stays in the terminal's job and passes
 * signals on. */
#include "daemon/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/signals.h"
#include "wire/exit_status.h"
#include "worker/filter.h"

#define BLIND_MS 100 /* where the system gives no pidfd */

struct work {
	int (*run)(void *ctx);
	void *ctx;
};

/* By exit(3), as main would: what is registered for the end is called, and files are flushed. */
static int run_work(void *ctx, int fd)
{
	const struct work *work = ctx;

	(void)fd;
	exit(work->run(work->ctx));
}

/* 0; -ECHILD: somebody else reaped it. */
static int pass_signals_on(int signals, struct child *child, struct child_end *end)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = child->pidfd, .events = POLLIN },
	};
	struct signalfd_siginfo signal;
	int err;

	while ((err = child_wait(child, 0, end)) == -EAGAIN) {
		poll(fds, ARRAY_SIZE(fds), child->pidfd < 0 ? BLIND_MS : -1);
		if (read(signals, &signal, sizeof(signal)) == sizeof(signal))
			child_signal(child, (int)signal.ssi_signo);
	}
	return err;
}

/* Whoever could make this process do something else would have its user and nothing more. A kernel
 * without filters refuses the child's work, which says so. */
static void give_up_rights(void)
{
	caps_bound(0);
	(void)caps_limit(0);
	(void)filter_deny(FILTER_DENY_KERNEL | FILTER_DENY_BPF | FILTER_DENY_EVENTS);
}

/* The caller must see that it was a signal, as of any command. Our core dump would overwrite the
 * child's. */
static void end_by(int signo)
{
	const struct rlimit none = { 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	raise(signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int session_run(int (*run)(void *ctx), void *ctx)
{
	struct work work = { .run = run, .ctx = ctx };
	const struct child_plan plan = {
		.run = run_work, .ctx = &work, .death_signal = SIGKILL
	};
	_cleanup_fd_ int signals = -1;
	struct child child = CHILD_INIT;
	struct child_end end;
	struct why why;

	if (getsid(0) == getpid() || child_start(&plan, &child) < 0)
		return run(ctx);
	give_up_rights();
	/* Without it a signal ends us, and so the child. */
	(void)signals_open(&signals, &why);
	if (pass_signals_on(signals, &child, &end) < 0)
		return EXIT_FAILED;
	if (WIFSIGNALED(end.status))
		end_by(WTERMSIG(end.status));
	return WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 128 + WTERMSIG(end.status);
}
