/* SPDX-License-Identifier: Apache-2.0 */
/* output/record_jit.c - one session a process, from enable to disable. A process whose runtime
 * refuses is sampled all the same: its JIT frames have no names, and a warning says why. */
#include "output/record_jit.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"

#define AGAIN_US 500000

static void warn(struct record_jit *jit, struct log *log, const char *text)
{
	if (jit->warned < RECORD_JIT_WARNINGS_MAX)
		log_warn(log, "--jit: %s", text);
	else if (jit->warned == RECORD_JIT_WARNINGS_MAX)
		log_warn(log, "--jit: further processes have no perf map either");
	jit->warned++;
}

/* Takes the control. */
static int start(struct record_jit *jit, struct jit_control *control, struct log *log)
{
	struct jit_control *slot;
	struct why why;
	int err = jit_control_enable(control, DOTNET_IPC_PERF_MAP, &why);

	/* While it starts, a JVM may listen already and close the connection. */
	if (err == -EPROTO) {
		usleep(AGAIN_US);
		err = jit_control_enable(control, DOTNET_IPC_PERF_MAP, &why);
	}
	jit->hung += err == -ETIMEDOUT;
	if (err < 0) {
		warn(jit, log, why.text);
		jit_control_close(control);
		return 0;
	}
	if (control->note[0])
		log_note(log, "process %d: %s", control->target.pid, control->note);
	slot = vec_add(&jit->sessions);
	if (!slot) {
		jit_control_close(control);
		return -ENOMEM;
	}
	*slot = *control;
	return 0;
}

static bool has(const struct record_jit *jit, const struct jit_target *target)
{
	vec_each (&jit->sessions, session)
		if (session->target.pid == target->pid &&
			session->target.start_ticks == target->start_ticks)
			return true;
	return false;
}

static int ask(struct record_jit *jit, uint32_t pid, struct log *log)
{
	struct jit_control control;
	struct why why;
	int err;

	err = jit_control_open((pid_t)pid, &control, &why);
	if (err < 0) {
		if (err != -ESRCH)
			warn(jit, log, why.text);
		return 0;
	}
	if (has(jit, &control.target)) {
		jit_control_close(&control);
		return 0;
	}
	return start(jit, &control, log);
}

int record_jit_meet(struct record_jit *jit, uint32_t pid, struct log *log)
{
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	int err;

	if (jit->hung >= RECORD_JIT_HUNG_MAX || jit->spent_ns >= RECORD_JIT_SPENT_NS ||
		jit->sessions.len >= RECORD_JIT_SESSIONS_MAX)
		return 0;
	err = ask(jit, pid, log);
	jit->spent_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
	return err;
}

int record_jit_start(struct record_jit *jit, const uint32_t *pids, size_t len, struct log *log)
{
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++)
		err = ask(jit, pids[i], log);
	return err;
}

void record_jit_refresh(struct record_jit *jit, struct log *log)
{
	struct why why;

	vec_each (&jit->sessions, session)
		if (!jit_target_ended(&session->target) && jit_control_refresh(session, &why) < 0)
			warn(jit, log, why.text);
}

void record_jit_stop(struct record_jit *jit, struct log *log)
{
	struct why why;

	vec_each (&jit->sessions, session) {
		unsigned int removed;

		if (jit_control_disable(session, &removed, &why) < 0)
			log_warn(log, "--jit: %s", why.text);
		jit_control_close(session);
	}
	vec_done(&jit->sessions);
}
