/* SPDX-License-Identifier: Apache-2.0 */
/* agent/workers.c - starts the agent's workers, which inherit nothing of what it opens later. */
#include "agent/agent.h"
#include "agent/privileges.h"
#include "base/child.h"
#include "client/client.h"
#include "containers/container.h"

int agent_open_workers(int clocks_fd, bool fetches, struct worker_client **out, struct why *why)
{
	const struct worker_client_options options = { .clocks_fd = clocks_fd,
		.fetches = fetches,
		.account = container_account_of };
	int err;

	privileges_raise();
	child_set_nice(SAMPLING_NICE);
	err = privileges_check(why);
	return err < 0 ? err : worker_client_open(&options, out, why);
}
