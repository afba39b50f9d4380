/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_maps.c - any process of the capture gets a map that had a sample in code compiled at
 * run time, whatever the target is. */
#include "cmd/record_maps.h"

#include "agent/agent.h"
#include "files/processes.h"

static bool is_on(const struct record_maps *maps)
{
	return maps->clerk.child.fd >= 0;
}

int record_maps_open(
	struct record_maps *maps, const struct clerk_options *options, struct why *why)
{
	int err = clerk_open(&maps->clerk, options, why);

	return err < 0 ? err : clerk_jit_start(&maps->clerk, why);
}

void record_maps_meet(struct record_maps *maps, struct agent *agent)
{
	while (is_on(maps)) {
		if (maps->pid == 0)
			maps->pid = processes_met(agent_parts(agent).processes, &maps->after);
		if (maps->pid == 0 || !clerk_jit_meet(&maps->clerk, maps->pid))
			return;
		maps->pid = 0;
	}
}

void record_maps_refresh(struct record_maps *maps)
{
	struct why ignored;

	if (is_on(maps))
		clerk_jit_refresh(&maps->clerk, &ignored);
}

void record_maps_close(struct record_maps *maps)
{
	clerk_close(&maps->clerk);
}
