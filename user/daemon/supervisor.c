/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor.c - one child at a time: it samples, or it is idle and says why. A change of
 * the kill switch ends the child, and another takes its place. A child that samples has
 * KILL_SWITCH_NS to end: with its end everything of it is detached, also where it was stopped.
 * Whenever no child samples, the mark of the guard is cleared. An order to end gives DAEMON_END_NS
 * for all. */
#include "daemon/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "agent/privileges.h"
#include "daemon/signals.h"
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "guard/guard.h"
#include "guard/kill_switch.h"
#include "daemon/notify.h"
#include "daemon/serve.h"
#include "http/listener.h"
#include "sampler/kernel_faults.h"
#include "store/store.h"
#include "wire/exit_status.h"

/* The store is its owner's, and its group may read it, whatever our caller's umask is. */
#define STORE_UMASK 027
#define EXIT_AGAIN 75 /* of the child: start another one */
#define MARK_MS 500 /* to clear the guard's mark, at least */
/* For the writers that a child left; then they are killed, and another child starts. */
#define ORPHAN_NS (3 * NSEC_PER_SEC / 2)
#define LOOK_AGAIN_NS (NSEC_PER_SEC / 10)
#define BACK_OFF_NS (NSEC_PER_SEC / 4)
#define BACK_OFF_MAX_NS (16 * NSEC_PER_SEC) /* less than the watchdog's time */
#define SETTLED_NS (60 * NSEC_PER_SEC)

enum stage {
	STAGE_BEGINNING,
	STAGE_READY,
	STAGE_WRITTEN, /* has nothing to lose any more */
};

struct supervisor {
	const struct supervisor_options *options;
	struct log *log;
	struct config config;
	struct notify notify;
	struct kill_switch kill_switch;
	struct guard_mark mark;
	bool guarded;          /* the host went down too often: idle */
	const char *fault;     /* of the kernel: idle */
	const char *switch_on; /* the file; NULL: off */
	struct child child;
	struct child clearing;    /* the mark, on a disk that may be slow */
	struct listener listener; /* of HTTP: no other process gets its port meanwhile */
	enum stage stage;         /* as the child says */
	char idle[WHY_MAX];       /* why the child does not sample; "": it does */
	bool idle_by_switch;      /* the kill switch is on */
	bool changing;            /* the child got the signal to end, for another one */
	bool over;                /* for good */
	bool owed;                /* the child has no room for the configuration now */
	bool marked;              /* the child set the mark: another daemon's is not cleared */
	uint64_t started_ns, deadline_ns, again_ns, back_off_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t ended_ns; /* of the last child */
	int signals;
	int ends; /* SIGCHLD: an orphan is to be reaped */
};

/* ---- the configuration ---------------------------------------------------------------------- */

static const char *config_path(const struct supervisor *s)
{
	return s->options->config_path ? s->options->config_path : CONFIG_PATH;
}

/* That of the start decides what there may be: of the file's only what may change is taken. False:
 * nothing is. */
static bool take_config(struct supervisor *s)
{
	_cleanup_(buf_done) struct buf fixed = BUF_INIT;
	struct config now;
	struct why why;

	if (config_load(s->options->config_path, &now, &why) < 0) {
		log_error(s->log, "%s; the configuration stays as it was", why.text);
		return false;
	}
	if (config_reload(&s->config, &now, &fixed) < 0 || fixed.len > 0)
		log_warn(s->log, "%s: these changes need a restart: %s", config_path(s),
			buf_text(&fixed));
	log_note(s->log, "reloaded %s", config_path(s));
	return true;
}

/* The child says when it has it. A stopped one takes a few, and the last when it goes on. */
static void give_config(struct supervisor *s)
{
	bool owed = s->owed;
	int err = notify_give(s->child.fd, &s->config);

	s->owed = err == -EAGAIN;
	if (s->owed && !owed)
		log_warn(s->log,
			"the process that samples does not take its configuration now: it is sent "
			"when that process goes on");
	else if (err < 0 && !s->owed)
		log_warn(s->log,
			"the process that samples does not take its configuration: %s; the next "
			"one will have it",
			err_text(err));
	if (err < 0 && !s->owed)
		notify_send(&s->notify, NOTIFY_READY);
}

static void reload(struct supervisor *s)
{
	notify_send(&s->notify, NOTIFY_RELOADING);
	if (take_config(s) && s->child.fd >= 0)
		give_config(s);
	else
		notify_send(&s->notify, NOTIFY_READY);
}

/* ---- the child ------------------------------------------------------------------------------ */

static int run_idle(struct supervisor *s, int fd, struct why *why)
{
	struct notify notify;

	notify_to(&notify, fd, s->notify.watchdog_ns);
	return serve_idle(&s->config, config_path(s), &s->listener, s->idle, &notify, s->log, why);
}

static int run_sampling(struct supervisor *s, int fd, bool *opened, struct why *why)
{
	const struct daemon_options options = { .config = &s->config,
		.config_path = config_path(s),
		.listener = &s->listener,
		.supervisor_fd = fd,
		.watchdog_ns = s->notify.watchdog_ns,
		.mark = &s->mark,
		.log = s->log };
	struct daemon *d = NULL;
	int err = daemon_open(&options, &d, why);

	*opened = err == 0;
	if (err == 0)
		err = daemon_run(d, why);
	daemon_free(d);
	return err;
}

static int run_child(void *ctx, int fd)
{
	struct supervisor *s = ctx;
	bool opened = true;
	struct why why;
	int err;

	if (s->listener.fd >= 0) {
		s->listener.fd = CHILD_STANDARD; /* after those, as start_child has it */
		fcntl(s->listener.fd, F_SETFD, FD_CLOEXEC);
	}
	/* The agent's nice value is one of its session (child_set_nice). */
	setsid();
	umask(STORE_UMASK);
	err = s->idle[0] ? run_idle(s, fd, &why) : run_sampling(s, fd, &opened, &why);

	if (err < 0)
		log_error(s->log, "%s", why.text);
	if (err == -EPIPE)
		return EXIT_AGAIN;
	/* No mistake of the configuration: a full disk. */
	opened |= err_unwritable(err);
	return err == 0 ? EXIT_OK : opened ? EXIT_FAILED : EXIT_USAGE;
}

static bool must_idle(const struct supervisor *s)
{
	return s->switch_on || s->fault || s->guarded;
}

/* Why nothing is sampled now; "": it is. */
static void find_reason(struct supervisor *s)
{
	s->idle[0] = '\0';
	s->idle_by_switch = s->switch_on != NULL;
	if (s->switch_on)
		snprintf(s->idle, sizeof(s->idle),
			"%s exists; nothing is sampled until it is removed", s->switch_on);
	else if (s->fault)
		snprintf(s->idle, sizeof(s->idle),
			"%s; until stoker starts again nothing is sampled", s->fault);
	else if (s->guarded)
		snprintf(s->idle, sizeof(s->idle),
			"this host went down %u times while stoker %s sampled on this kernel; "
			"nothing is sampled until another kernel or version, or until this ends "
			"and `stoker daemon --after-crash` starts in its place (a unit: remove "
			"the file `" GUARD_FILE "` of the store, then restart it)",
			s->mark.deaths, s->mark.facts.version);
}

static int start_child(struct supervisor *s)
{
	const int fds[] = { child_standard[0], child_standard[1], child_standard[2],
		s->listener.fd };
	const struct child_plan plan = { .run = run_child,
		.ctx = s,
		.fds = fds,
		.fds_len = CHILD_STANDARD + (s->listener.fd >= 0),
		.socket = true,
		.death_signal = SIGKILL };
	int err;

	if (s->started_ns > 0)
		take_config(s);
	find_reason(s);
	err = child_start(&plan, &s->child);
	if (err < 0)
		return err;
	s->started_ns = clock_ns(CLOCK_MONOTONIC);
	s->deadline_ns = s->again_ns = 0;
	s->changing = s->owed = false;
	s->stage = STAGE_BEGINNING;
	if (s->idle[0])
		log_warn(s->log, "idle: %s", s->idle);
	notify_status(&s->notify, s->idle[0] ? s->idle : "sampling");
	return 0;
}

/* ---- what comes ----------------------------------------------------------------------------- */

/* Once: a second order to end gives no more time. */
static void end_child(struct supervisor *s)
{
	s->over = true;
	child_signal(&s->child, SIGTERM);
	if (s->deadline_ns == 0)
		s->deadline_ns = clock_ns(CLOCK_MONOTONIC) + DAEMON_END_NS;
}

/* Before it was ready there was nothing to lose. */
static void kill_child(struct supervisor *s)
{
	s->deadline_ns = 0;
	child_signal(&s->child, SIGKILL);
	if (!s->changing && s->stage == STAGE_READY)
		log_error(s->log,
			"the process that samples does not end: it is killed, and what it had not "
			"written is lost");
}

static void hear_signals(struct supervisor *s)
{
	struct signalfd_siginfo signal;

	while (read(s->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP)
			reload(s);
		else
			end_child(s);
	}
}

/* Processes of a child that has ended are ours to reap. Those of other users, which it could not
 * end because its starter was lost, are killed. */
static void hear_ends(struct supervisor *s)
{
	struct signalfd_siginfo signal;

	while (read(s->ends, &signal, sizeof(signal)) == sizeof(signal))
		;
	if (s->child.pid == 0)
		child_kill_orphans(&s->clearing, false);
	/* Nothing waits for a process that has no rights: whoever has its user stopped it. */
	if (s->idle[0] && child_was_stopped(&s->child))
		child_signal(&s->child, SIGCONT);
	child_reap_orphans(&s->child);
}

static int open_ends(int *fd, struct why *why)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? why_set(why, -errno, "cannot wait for processes: %s", err_text(errno)) : 0;
}

/* A child that breaks the protocol is no longer listened to; the watchdog ends it. */
static void hear_child(struct supervisor *s)
{
	int word;

	while (s->child.fd >= 0 && (word = notify_hear(s->child.fd)) != 0) {
		if (word < 0)
			fd_close(&s->child.fd);
		else if (word == NOTIFY_MARKED)
			s->marked = true;
		else if (word == NOTIFY_STOPPING)
			s->stage = STAGE_WRITTEN;
		else if (word == NOTIFY_READY && !s->over) /* ready too late, it has nothing */
			s->stage = STAGE_READY;
		if (word > 0 && word != NOTIFY_MARKED && (!s->changing || word == NOTIFY_ALIVE))
			notify_send(&s->notify, (enum notify_word)word);
	}
}

static void look_at_switch(struct supervisor *s, uint64_t now)
{
	bool idle = s->idle[0] != '\0';

	s->switch_on = kill_switch_look(&s->kill_switch);
	if (s->child.pid == 0 || s->changing ||
		(idle == must_idle(s) && s->idle_by_switch == (s->switch_on != NULL)))
		return;
	if (s->switch_on)
		log_warn(s->log, "%s: sampling ends", s->switch_on);
	else
		log_warn(s->log, "the file of the kill switch is gone%s",
			must_idle(s) ? "" : ": sampling goes on");
	s->changing = true;
	s->deadline_ns = clock_sooner(
		s->deadline_ns > 0 ? s->deadline_ns : CLOCK_NEVER_NS, now + KILL_SWITCH_NS);
	child_signal(&s->child, SIGTERM);
}

static int run_clear(void *ctx, int fd)
{
	struct supervisor *s = ctx;
	struct why why;
	int err = guard_stopped(s->config.store, &why);

	(void)fd;
	if (err < 0 && err != -ENOENT)
		log_warn(s->log, "%s", why.text);
	return 0;
}

/* In a process that may wait for its disk. A child that samples waits for it, the end of ours for
 * what is left of its time. */
static void clear_mark(struct supervisor *s, uint64_t now)
{
	const struct child_plan plan = { .run = run_clear, .ctx = s };
	int left_ms = s->over && s->deadline_ns > now ? clock_wait_ms(now, s->deadline_ns) : 0;

	if (!s->marked)
		return;
	s->marked = false;
	child_leave(&s->clearing);
	if (child_start(&plan, &s->clearing) < 0)
		run_clear(s, -1);
	else if (child_wait(&s->clearing, left_ms > MARK_MS ? left_ms : MARK_MS, NULL) == -EAGAIN)
		log_warn(s->log, "%s does not answer: the guard's mark is there until it does",
			s->config.store);
}

/* Later each time it did not last. */
static void start_later(struct supervisor *s, uint64_t now)
{
	if (now - s->started_ns >= SETTLED_NS || s->back_off_ns == 0)
		s->back_off_ns = BACK_OFF_NS;
	else if (s->back_off_ns < BACK_OFF_MAX_NS)
		s->back_off_ns *= 2;
	s->again_ns = now + s->back_off_ns;
}

/* -EAGAIN: there will be another child; else the exit status of all. */
static int take_end(struct supervisor *s, const struct child_end *end, uint64_t now)
{
	bool killed = WIFSIGNALED(end->status);
	int status = killed ? EXIT_FAILED : WEXITSTATUS(end->status);

	hear_child(s);
	fd_close(&s->child.fd);
	child_kill_orphans(&s->clearing, false);
	s->ended_ns = now;
	clear_mark(s, now);
	if (s->over && killed && s->stage != STAGE_READY)
		return EXIT_OK;
	if (s->over)
		return status == EXIT_AGAIN ? EXIT_FAILED : status;
	if (s->changing) {
		s->again_ns = now;
		return -EAGAIN;
	}
	if (!killed && status != EXIT_AGAIN)
		return status;
	if (killed)
		log_error(s->log, "the process that samples was killed by signal %d (%s)",
			WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
	log_warn(s->log, "starting it again");
	start_later(s, now);
	return -EAGAIN;
}

/* Not beside a process of the last child, nor before its mark is cleared. */
static bool may_start(struct supervisor *s, uint64_t now)
{
	child_reap_orphans(&s->child);
	if (child_kill_orphans(&s->clearing, now - s->ended_ns >= ORPHAN_NS) > 0)
		return false;
	return must_idle(s) || s->clearing.pid == 0 ||
		child_wait(&s->clearing, 0, NULL) != -EAGAIN;
}

/* -EAGAIN: go on. */
static int look_at_child(struct supervisor *s, uint64_t now)
{
	struct child_end end;

	if (s->child.pid > 0 && s->deadline_ns > 0 && now >= s->deadline_ns)
		kill_child(s);
	if (s->child.pid > 0 && child_wait(&s->child, 0, &end) != -EAGAIN)
		return take_end(s, &end, now);
	if (s->child.pid == 0 && s->over)
		return EXIT_OK;
	if (s->child.pid > 0 || now < s->again_ns)
		return -EAGAIN;
	if (s->started_ns > 0 && !may_start(s, now)) {
		s->again_ns = now + LOOK_AGAIN_NS;
	} else if (start_child(s) < 0) {
		log_error(s->log, "cannot start the process that samples");
		start_later(s, now);
	}
	return -EAGAIN;
}

static void wait_for_events(struct supervisor *s)
{
	struct pollfd fds[] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->kill_switch.fd, .events = POLLIN },
		{ .fd = s->child.fd, .events = s->owed ? POLLIN | POLLOUT : POLLIN },
		{ .fd = s->child.pidfd, .events = POLLIN },
		{ .fd = s->ends, .events = POLLIN },
	};
	uint64_t due_ns = CLOCK_NEVER_NS;
	int wait_ms;

	if (s->child.pid == 0) {
		notify_send(&s->notify, NOTIFY_ALIVE);
		due_ns = s->again_ns;
	} else if (s->deadline_ns > 0) {
		due_ns = s->deadline_ns;
	}
	wait_ms = due_ns == CLOCK_NEVER_NS ? -1 : clock_wait_ms(clock_ns(CLOCK_MONOTONIC), due_ns);
	if (s->kill_switch.fd < 0 && (wait_ms < 0 || wait_ms > KILL_SWITCH_LOOK_MS))
		wait_ms = KILL_SWITCH_LOOK_MS;
	poll(fds, ARRAY_SIZE(fds), wait_ms);
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* Reads the mark of the last run. A store that does not exist yet has none. */
static void open_guard(struct supervisor *s)
{
	struct guard_mark found;
	struct guard_facts now;
	struct why why;
	int err = 0;

	if (s->options->after_crash && !store_is_written(s->config.store) &&
		guard_forget(s->config.store, &why) < 0)
		log_warn(s->log, "%s", why.text);
	err = guard_load(s->config.store, &found, &why);
	if (err < 0 && err != -ENOENT && err != -EPERM) /* the child refuses such a store */
		log_warn(s->log, "%s", why.text);
	guard_facts_now(&now);
	s->guarded = guard_decide(err == 0 ? &found : NULL, &now, &s->mark) == GUARD_STAY;
	if (err == 0 && s->mark.deaths > found.deaths)
		log_warn(s->log,
			"this host went down while stoker sampled, %u time(s) on this kernel",
			s->mark.deaths);
	/* A start that fails before it samples does not forget the death. */
	if ((s->guarded || (err == 0 && s->mark.deaths > found.deaths)) &&
		guard_save(s->config.store, &s->mark, &why) < 0)
		log_warn(s->log, "%s", why.text);
}

static int supervise(struct supervisor *s)
{
	int status = -EAGAIN;

	s->switch_on = kill_switch_look(&s->kill_switch);
	while (status == -EAGAIN) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		look_at_switch(s, now);
		hear_child(s);
		if (s->owed && s->child.fd >= 0)
			give_config(s);
		status = look_at_child(s, now);
		if (status != -EAGAIN)
			break;
		wait_for_events(s);
		hear_signals(s);
		hear_ends(s);
	}
	return status;
}

int supervisor_run(const struct supervisor_options *options)
{
	struct supervisor s = { .options = options,
		.log = options->log,
		.kill_switch = KILL_SWITCH_INIT,
		.child = CHILD_INIT,
		.clearing = CHILD_INIT,
		.listener = LISTENER_INIT,
		.signals = -1,
		.ends = -1 };
	struct why why;
	int status = EXIT_USAGE, err = config_load(options->config_path, &s.config, &why);

	if (err == 0) {
		status = EXIT_FAILED;
		err = privileges_check_files(&why);
	}
	if (err == 0) {
		status = EXIT_USAGE;
		err = serve_listen(&s.config, config_path(&s), s.log, &s.listener, &why);
	}
	if (err == 0)
		status = EXIT_FAILED;
	if (err == 0)
		err = signals_open(&s.signals, &why);
	if (err == 0)
		err = open_ends(&s.ends, &why);
	if (err < 0) {
		log_error(options->log, "%s", why.text);
		listener_close(&s.listener);
		return status;
	}
	notify_open(&s.notify);
	kill_switch_open(&s.kill_switch);
	s.fault = kernel_faults_here();
	open_guard(&s);
	status = supervise(&s);
	listener_close(&s.listener);
	child_leave(&s.clearing);
	kill_switch_close(&s.kill_switch);
	notify_close(&s.notify);
	fd_close(&s.ends);
	fd_close(&s.signals);
	return status;
}
