/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/session.c - the child does the work; the parent stays in the terminal's job, passes
 * signals on and watches the kill switch. */
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
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "guard/kill_switch.h"
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

struct session {
	struct child child;
	struct kill_switch kill_switch;
	int signals;
};

/* When the switch is on, the child has so long to end by itself, whatever it waits for. */
static void look_at_switch(struct session *s)
{
	if (kill_switch_look(&s->kill_switch) && s->child.deadline_ns == 0)
		s->child.deadline_ns = clock_ns(CLOCK_MONOTONIC) + KILL_SWITCH_NS;
}

static int wait_ms(const struct session *s)
{
	int wait = s->kill_switch.fd < 0 ? KILL_SWITCH_LOOK_MS : -1;

	if (s->child.deadline_ns > 0 && !s->child.late)
		wait = clock_wait_ms(clock_ns(CLOCK_MONOTONIC), s->child.deadline_ns);
	return s->child.pidfd < 0 ? BLIND_MS : wait;
}

/* 0; -ECHILD: somebody else reaped it. */
static int wait_for_child(struct session *s, struct child_end *end)
{
	struct pollfd fds[] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->child.pidfd, .events = POLLIN },
		{ .fd = s->kill_switch.fd, .events = POLLIN },
	};
	struct signalfd_siginfo signal;
	int err;

	while ((err = child_wait(&s->child, 0, end)) == -EAGAIN) {
		poll(fds, ARRAY_SIZE(fds), wait_ms(s));
		if (read(s->signals, &signal, sizeof(signal)) == sizeof(signal))
			child_signal(&s->child, (int)signal.ssi_signo);
		look_at_switch(s);
		fds[2].fd = s->kill_switch.fd;
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

int session_run(int (*run)(void *ctx), void *ctx, struct log *log)
{
	struct work work = { .run = run, .ctx = ctx };
	const struct child_plan plan = {
		.run = run_work, .ctx = &work, .death_signal = SIGKILL
	};
	struct session s = { .child = CHILD_INIT, .kill_switch = KILL_SWITCH_INIT, .signals = -1 };
	struct child_end end;
	struct why why;
	int err = child_start(&plan, &s.child);

	if (err < 0) {
		log_error(log, "cannot start the process that samples: %s", err_text(err));
		return EXIT_FAILED;
	}
	/* The caller waits for this process, which the session's others would keep from its end. */
	child_set_own_nice(SAMPLING_NICE);
	give_up_rights();
	kill_switch_open(&s.kill_switch);
	/* Without it a signal ends us, and so the child. */
	(void)signals_open(&s.signals, &why);
	err = wait_for_child(&s, &end);
	fd_close(&s.signals);
	if (err == 0 && end.late)
		log_warn(log, "%s exists: sampling was ended before the profile was written",
			s.kill_switch.found);
	kill_switch_close(&s.kill_switch);
	if (err < 0 || end.late)
		return EXIT_FAILED;
	if (WIFSIGNALED(end.status))
		end_by(WTERMSIG(end.status));
	return WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 128 + WTERMSIG(end.status);
}
