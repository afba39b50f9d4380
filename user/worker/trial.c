/* SPDX-License-Identifier: Apache-2.0 */
/* worker/trial.c - a child enters a sandbox and ends: what was achieved is its exit status. Whoever
 * asks stays as it is. */
#include "worker/trial.h"

#include <sys/wait.h>

#include "base/child.h"
#include "worker/opening.h"
#include "worker/sandbox.h"

/* As a worker does, and an opener. The exit status is what was achieved. */
static int try_worker(void *ctx, int fd)
{
	uint32_t report;

	(void)ctx;
	(void)fd;
	return sandbox_enter(&report) < 0 ? TRIAL_NONE : (int)report;
}

static int try_opener(void *ctx, int fd)
{
	uint32_t report;

	(void)ctx;
	(void)fd;
	return sandbox_enter_opener(OPENING_CAPS, &report) < 0 ? TRIAL_NONE : (int)report;
}

/* TRIAL_NONE or more: none. */
static uint32_t find_sandbox(int (*run)(void *ctx, int fd))
{
	const struct child_plan plan = {
		.run = run, .fds = child_null, .fds_len = CHILD_STANDARD
	};
	struct child child;
	struct child_end end;

	if (child_start(&plan, &child) < 0)
		return TRIAL_NONE;
	child_close(&child, &end);
	return WIFEXITED(end.status) ? (uint32_t)WEXITSTATUS(end.status) : TRIAL_NONE;
}

uint32_t trial_worker(void)
{
	return find_sandbox(try_worker);
}

uint32_t trial_opener(void)
{
	return find_sandbox(try_opener);
}
