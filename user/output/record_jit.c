/* SPDX-License-Identifier: Apache-2.0 */
/* output/record_jit.c - one session a process, from enable to disable. A process whose runtime
 * refuses is sampled all the same: its JIT frames have no names, and a warning says why. */
#include "output/record_jit.h"

#include <errno.h>

static int start_one(struct record_jit *jit, pid_t pid, struct log *log)
{
	struct jit_control control, *slot;
	struct why why;

	if (jit_control_open(pid, &control, &why) < 0) {
		log_warn(log, "--jit: %s", why.text);
		return 0;
	}
	if (jit_control_enable(&control, DOTNET_IPC_PERF_MAP, &why) < 0) {
		log_warn(log, "--jit: %s", why.text);
		jit_control_close(&control);
		return 0;
	}
	if (control.note[0])
		log_note(log, "process %d: %s", pid, control.note);
	slot = vec_add(&jit->sessions);
	if (!slot) {
		jit_control_close(&control);
		return -ENOMEM;
	}
	*slot = control;
	return 0;
}

int record_jit_start(struct record_jit *jit, const uint32_t *pids, size_t len, struct log *log)
{
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++)
		err = start_one(jit, (pid_t)pids[i], log);
	return err;
}

void record_jit_refresh(struct record_jit *jit, struct log *log)
{
	struct why why;

	vec_each (&jit->sessions, session)
		if (jit_control_refresh(session, &why) < 0)
			log_warn(log, "--jit: %s", why.text);
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
