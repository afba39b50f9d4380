/* SPDX-License-Identifier: Apache-2.0 */
/* output/jit_sessions.c - a session is a note; there is no descriptor of a process, as its file
 * system may not answer. Each thing that is done to a process is an errand: a child that opens it,
 * talks to its runtime and ends. A late errand is killed, and left if it is stuck in a call. A
 * process whose runtime refuses is sampled all the same: a warning says why. */
#include "output/jit_sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jit/jit_left.h"
#include "jit/unix_client.h"
#include "output/folder.h"

#define AGAIN_US 500000
#define ERRAND_NS (45 * NSEC_PER_SEC) /* jit/dotnet_ipc.c and jit/jvm_attach.c end before */
#define UNDO_NS (8 * NSEC_PER_SEC)
#define UNDO_LATE_NS NSEC_PER_SEC
#define END_MS 500

enum stage {
	STAGE_NOTED = 1, /* the note is written: the map may be on from now on */
	STAGE_ALREADY,   /* somebody else has switched it on */
	STAGE_UNNOTED,
	STAGE_DONE,
};

struct said {
	enum stage stage;
	int err;
	struct why why; /* with err 0: advice, or "" */
	struct jit_note note;
};

struct errand {
	const struct jit_sessions *sessions;
	int folder; /* of notes, in the child */
	void (*run)(const struct errand *errand, struct said *said, int fd);
	uint64_t limit_ns;
	pid_t pid;
	const struct jit_note *note;
	bool ended;
};

/* ---- errands -------------------------------------------------------------------------------- */

static int start_maps(struct jit_control *control, struct why *why)
{
	int err = jit_control_enable(control, DOTNET_IPC_PERF_MAP, why);

	/* While it starts, a JVM may listen already and close the connection. */
	if (err == -EPROTO) {
		usleep(AGAIN_US);
		err = jit_control_enable(control, DOTNET_IPC_PERF_MAP, why);
	}
	/* A runtime that does not answer may do it later. */
	if (err < 0 && err != -ETIMEDOUT)
		jit_control_remove(control);
	return err;
}

static int write_note(const struct errand *e, const struct jit_control *control,
	struct jit_note *note, struct why *why)
{
	int err = jit_note_make(control, note);

	if (err == 0 && e->folder >= 0)
		err = jit_note_write(e->folder, note, &e->sessions->self);
	return err < 0
		? why_set(why, err, "process %d: cannot note that its map is switched on: %s",
			  control->target.pid, err_text(err))
		: 0;
}

static void switch_on(const struct errand *e, struct said *said, int fd)
{
	struct jit_control control;

	said->stage = STAGE_DONE;
	said->err = jit_control_open(e->pid, &control, &said->why);
	if (said->err < 0)
		return;
	said->stage = STAGE_ALREADY;
	if (control.was_on)
		return;
	if (jit_control_is_writing(&control)) {
		said->note.pid = (uint64_t)e->pid;
		said->note.start_ticks = control.target.start_ticks;
		return;
	}
	jit_control_prepare(&control);
	said->stage = STAGE_UNNOTED;
	said->err = write_note(e, &control, &said->note, &said->why);
	if (said->err < 0)
		return;
	said->stage = STAGE_NOTED;
	if (fd_write_all(fd, said, sizeof(*said)) < 0)
		return;
	said->stage = STAGE_DONE;
	said->err = start_maps(&control, &said->why);
	if (said->err == 0 && control.note[0])
		why_set(&said->why, 0, "process %d: %s", e->pid, control.note);
}

static void refresh(const struct errand *e, struct said *said, int fd)
{
	struct jit_control control;

	(void)fd;
	said->stage = STAGE_DONE;
	said->err = jit_control_open((pid_t)e->note->pid, &control, &said->why);
	if (said->err == 0 && control.target.start_ticks == e->note->start_ticks)
		said->err = jit_control_refresh(&control, &said->why);
}

static void undo(const struct errand *e, struct said *said, int fd)
{
	(void)fd;
	said->stage = STAGE_DONE;
	said->err = jit_left_undo(e->note, e->ended, &said->why);
}

static int run_errand(void *ctx, int fd)
{
	const struct errand *e = ctx;
	struct said said = { .stage = 0 };

	e->run(e, &said, fd);
	return fd_write_all(fd, &said, sizeof(said)) < 0;
}

/* *out is the last message: STAGE_NOTED without an end is -ETIMEDOUT, too. The child has none of
 * our sockets: whoever holds the other ends notices our end, also while the child is stuck. */
static void run(struct jit_sessions *s, struct errand *errand, struct said *out)
{
	const int fds[] = { child_standard[0], child_standard[1], child_standard[2], s->folder };
	const struct child_plan plan = { .run = run_errand,
		.ctx = errand,
		.fds = fds,
		.fds_len = ARRAY_SIZE(fds),
		.socket = true,
		.death_signal = SIGKILL };
	uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + errand->limit_ns;
	int err = s->stuck >= JIT_SESSIONS_STUCK_MAX ? -EAGAIN : 0;
	int pid = errand->note ? (int)errand->note->pid : (int)errand->pid;
	struct child child = CHILD_INIT;
	struct said said;
	size_t got = 1;

	errand->folder = s->folder >= 0 ? CHILD_STANDARD : -1;
	if (err == 0)
		err = child_start(&plan, &child);
	*out = (struct said){ .stage = STAGE_DONE };
	out->err = why_set(&out->why, err < 0 ? err : -EPIPE, "process %d: %s", pid,
		err_text(err < 0 ? err : -EPIPE));
	while (err == 0 && got > 0) {
		err = unix_client_receive(child.fd, &said, sizeof(said), deadline_ns, &got);
		if (err == 0 && got == sizeof(said))
			*out = said;
		if (out->stage == STAGE_DONE && got == sizeof(said))
			break;
	}
	if (child.pid == 0)
		return;
	if (err < 0 || out->stage == STAGE_NOTED)
		out->err = why_set(&out->why, -ETIMEDOUT, "process %d does not answer", pid);
	fd_close(&child.fd);
	child_signal(&child, SIGKILL);
	if (child_wait(&child, END_MS, NULL) == -EAGAIN) {
		s->stuck++;
		fd_close(&child.pidfd);
	}
}

/* ---- limits --------------------------------------------------------------------------------- */

static void warn(struct jit_sessions *s, const char *text)
{
	if (s->warned < JIT_SESSIONS_WARNINGS_MAX)
		log_warn(s->log, "perf maps: %s", text);
	else if (s->warned == JIT_SESSIONS_WARNINGS_MAX)
		log_warn(s->log, "perf maps: further processes have none either");
	s->warned++;
}

/* May nothing be asked of this account now? */
static bool owes(struct jit_sessions *s, uint64_t account)
{
	uint64_t level;

	if (account == JIT_SESSIONS_NAMED)
		return false;
	share_debt_pass(&s->spent, JIT_SESSIONS_SPENT_PART, clock_ns(CLOCK_MONOTONIC));
	level = share_debt_level(&s->spent, JIT_SESSIONS_SPENT_NS);
	return share_owes_more(&s->spent, account, level) ||
		share_held(&s->hung, account) >= JIT_SESSIONS_HUNG_MAX;
}

static void charge(struct jit_sessions *s, uint64_t account, uint64_t began_ns, int err)
{
	/* Without memory it is nobody's. */
	(void)share_charge(&s->spent.held, account, clock_ns(CLOCK_MONOTONIC) - began_ns);
	if (err == -ETIMEDOUT) {
		(void)share_charge(&s->hung, account, 1);
		s->stats.hung++;
	}
}

static bool has(const struct jit_sessions *s, uint32_t pid)
{
	vec_each (&s->all, session)
		if (session->note.pid == pid && jit_note_lives(pid, session->note.start_ticks))
			return true;
	return false;
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void remove_note(const struct jit_sessions *s, const struct jit_note *note)
{
	if (s->folder >= 0)
		jit_note_remove(s->folder, note, &s->self);
}

static int undo_note(
	struct jit_sessions *s, const struct jit_note *note, bool ended, struct why *why)
{
	struct errand errand = { .sessions = s,
		.run = undo,
		.limit_ns = s->deaf < JIT_SESSIONS_DEAF_MIN ? UNDO_NS : UNDO_LATE_NS,
		.note = note,
		.ended = ended };
	struct said said;

	if (s->deaf >= JIT_SESSIONS_DEAF_MAX)
		return why_set(why, -ETIMEDOUT,
			"process %d is left as it is until the next start: too many do not answer",
			(int)note->pid);
	run(s, &errand, &said);
	s->deaf += said.err == -ETIMEDOUT;
	*why = said.why;
	return said.err;
}

static void add_session(struct jit_sessions *s, const struct said *said, uint64_t account)
{
	struct jit_session *session = vec_add(&s->all);
	struct why why;

	if (!session && said->stage == STAGE_ALREADY)
		return;
	if (!session) {
		if (undo_note(s, &said->note, false, &why) == 0)
			remove_note(s, &said->note);
		return;
	}
	*session = (struct jit_session){ .note = said->note,
		.account = account,
		.foreign = said->stage == STAGE_ALREADY,
		.mute = said->err < 0 };
	/* Without memory it is nobody's. */
	(void)share_charge(&s->places, account, 1);
	s->stats.on += !session->foreign;
}

static void drop_session(struct jit_sessions *s, size_t at)
{
	struct jit_session *session = &s->all.data[at];
	struct why why;

	if (!session->foreign && undo_note(s, &session->note, session->ended, &why) < 0)
		log_warn(s->log, "perf maps: %s", why.text);
	else if (!session->foreign)
		remove_note(s, &session->note);
	share_return(&s->places, session->account, 1);
	s->stats.on -= !session->foreign;
	*session = s->all.data[--s->all.len];
}

static void take_said(struct jit_sessions *s, const struct said *said, uint64_t account)
{
	s->stats.failed += said->err < 0 && said->err != -ETIMEDOUT;
	s->stats.unnoted += said->stage == STAGE_UNNOTED;
	if (said->err < 0 && said->err != -ESRCH)
		warn(s, said->why.text);
	else if (said->err == 0 && said->why.text[0])
		log_note(s->log, "%s", said->why.text);
	if (said->note.pid == 0 || said->stage == STAGE_UNNOTED)
		return;
	if (said->err == 0 || said->err == -ETIMEDOUT)
		add_session(s, said, account);
	else
		remove_note(s, &said->note);
}

static void ask(struct jit_sessions *s, uint32_t pid, uint64_t account)
{
	struct errand errand = { .sessions = s,
		.run = switch_on,
		.limit_ns = ERRAND_NS,
		.pid = (pid_t)pid };
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct said said;

	run(s, &errand, &said);
	charge(s, account, began_ns, said.err);
	take_said(s, &said, account);
}

void jit_sessions_meet(struct jit_sessions *s, uint32_t pid, uint64_t account)
{
	if (has(s, pid))
		return;
	if (s->stuck >= JIT_SESSIONS_STUCK_MAX || owes(s, account) ||
		share_refuses(&s->places, account, 1, JIT_SESSIONS_MAX)) {
		s->stats.limited++;
		return;
	}
	s->stats.asked++;
	ask(s, pid, account);
}

static void refresh_session(struct jit_sessions *s, struct jit_session *session)
{
	struct errand errand = {
		.sessions = s, .run = refresh, .limit_ns = ERRAND_NS, .note = &session->note
	};
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct said said;

	if (session->note.runtime != JIT_CONTROL_JVM || session->mute || owes(s, session->account))
		return;
	run(s, &errand, &said);
	charge(s, session->account, began_ns, said.err);
	session->mute = said.err == -ETIMEDOUT;
	if (said.err < 0 && said.err != -ESRCH)
		warn(s, said.why.text);
}

/* The other stoker may have switched it off since. */
static void ask_again(struct jit_sessions *s, size_t at)
{
	const struct jit_session session = s->all.data[at];

	drop_session(s, at);
	if (jit_note_lives(session.note.pid, session.note.start_ticks))
		ask(s, (uint32_t)session.note.pid, session.account);
}

void jit_sessions_refresh(struct jit_sessions *s)
{
	for (size_t i = s->all.len; i-- > 0;) {
		struct jit_session *session = &s->all.data[i];

		if (session->foreign) {
			ask_again(s, i);
			continue;
		}
		if (session->ended) {
			drop_session(s, i);
			continue;
		}
		/* Its map may be read until the next call. */
		session->ended = !jit_note_lives(session->note.pid, session->note.start_ticks);
		if (!session->ended)
			refresh_session(s, session);
	}
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* make: also makes the folder and the one above it. -ENOENT: there is no such folder. */
static int open_folder(const char *path, bool make, int *fd, struct why *why)
{
	const char *slash = strrchr(path, '/');
	char above[256];
	int err;

	if (make && slash) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		(void)!mkdir(above, 0755);
		(void)!mkdir(path, 0700);
	}
	err = folder_open(path, true, fd, why);
	if (err == FOLDER_OPEN)
		return 0;
	return err == FOLDER_SHARED ? -EPERM
				    : why_set(why, err, "%s: %s", path, err_text(err));
}

static bool undo_left(void *ctx, const struct jit_note *note, bool ended)
{
	struct jit_sessions *s = ctx;
	struct why why;
	int err = undo_note(s, note, ended, &why);

	s->stats.left += err == 0;
	if (err < 0)
		warn(s, why.text);
	else
		log_note(s->log,
			"perf maps: process %d: what a stoker that was killed had switched on is "
			"off",
			(int)note->pid);
	return err == 0;
}

void jit_sessions_begin(struct jit_sessions *s, const char *const *notes, struct log *log)
{
	struct why why;

	*s = (struct jit_sessions){ .folder = -1, .log = log };
	s->spent.since_ns = clock_ns(CLOCK_MONOTONIC);
	if (!notes || jit_note_self(&s->self) < 0)
		return;
	for (size_t i = 0; notes[i]; i++) {
		_cleanup_fd_ int folder = -1;
		int err = open_folder(notes[i], i == 0, &folder, &why);

		if (err == 0)
			jit_note_take(folder, &s->self, undo_left, s);
		else if (i == 0)
			log_warn(log,
				"perf maps: %s; what is switched on is not noted: it stays on if "
				"stoker is killed",
				why.text);
		if (i == 0)
			s->folder = TAKE_FD(folder);
	}
}

void jit_sessions_end(struct jit_sessions *s)
{
	while (s->all.len > 0)
		drop_session(s, s->all.len - 1);
	vec_done(&s->all);
	share_done(&s->places);
	share_done(&s->hung);
	share_debt_done(&s->spent);
	fd_close(&s->folder);
}
