/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/perf_maps.c - the order in which processes are met decides who is asked first. A clerk
 * that is lost has no stand-in, as it has rights that its owner gave up; its notes are undone at
 * the next start. */
#include "daemon/perf_maps.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/fd.h"

const char *const *perf_maps_notes(const char *store, struct perf_maps_notes *notes)
{
	snprintf(notes->in_store, sizeof(notes->in_store), "%s/" PERF_MAPS_NOTES_IN_STORE, store);
	notes->paths[0] = notes->in_store;
	notes->paths[1] = geteuid() == 0 ? PERF_MAPS_NOTES : NULL;
	notes->paths[2] = NULL;
	return notes->paths;
}

static bool is_on(const struct perf_maps *maps)
{
	return maps->clerk.child.fd >= 0;
}

/* -EAGAIN is no loss. */
static void lose(struct perf_maps *maps, int err)
{
	if (err == 0 || err == -EAGAIN || !is_on(maps))
		return;
	log_warn(maps->log,
		"the process that turns perf maps on was lost: what it switched on is switched off "
		"at the next start");
	fd_close(&maps->clerk.child.fd);
	maps->refreshing = false;
}

int perf_maps_open(struct perf_maps *maps, const struct clerk_options *options, struct why *why)
{
	int err;

	maps->log = options->log;
	err = clerk_open_jit(&maps->clerk, options, why);
	return err < 0 || options->jit_pids_len == 0 ? err : clerk_jit_start(&maps->clerk, why);
}

static bool may_be_noted(const char *const *paths)
{
	for (size_t i = 0; paths[i]; i++)
		if (access(paths[i], F_OK) == 0)
			return true;
	return false;
}

int perf_maps_open_daemon(struct perf_maps *maps, const char *store, bool always, struct log *log,
	struct why *why)
{
	struct perf_maps_notes notes;
	const struct clerk_options options = {
		.jit_notes = perf_maps_notes(store, &notes), .log = log
	};
	int err = 0;

	if (always || may_be_noted(options.jit_notes))
		err = perf_maps_open(maps, &options, why);
	if (!always)
		perf_maps_end(maps);
	return err;
}

void perf_maps_join(struct perf_maps *maps, int fd, struct log *log)
{
	maps->log = log;
	maps->clerk.child.fd = fd;
}

void perf_maps_meet(struct perf_maps *maps, struct agent *agent)
{
	while (is_on(maps)) {
		int err;

		if (maps->next.pid == 0 &&
			!processes_met(agent_parts(agent).processes, &maps->after, &maps->next))
			return;
		err = clerk_jit_meet(&maps->clerk, maps->next.pid, maps->next.account);
		lose(maps, err);
		if (err < 0)
			return;
		maps->next.pid = 0;
	}
}

void perf_maps_refresh(struct perf_maps *maps)
{
	struct why why;

	if (is_on(maps))
		lose(maps, clerk_jit_refresh(&maps->clerk, &maps->stats, &why));
}

static void hear(struct perf_maps *maps)
{
	int err = maps->refreshing ? clerk_jit_hear(&maps->clerk, &maps->stats) : -EAGAIN;

	if (err == 0)
		maps->refreshing = false;
	lose(maps, err);
}

void perf_maps_begin_refresh(struct perf_maps *maps)
{
	int err;

	if (!is_on(maps)) {
		child_wait(&maps->clerk.child, 0, NULL);
		return;
	}
	hear(maps);
	if (maps->refreshing || !is_on(maps))
		return;
	err = clerk_jit_begin_refresh(&maps->clerk);
	maps->refreshing = err == 0;
	lose(maps, err);
}

void perf_maps_stats(struct perf_maps *maps, struct jit_stats *out)
{
	if (is_on(maps))
		hear(maps);
	*out = maps->stats;
}

void perf_maps_end(struct perf_maps *maps)
{
	fd_close(&maps->clerk.child.fd);
}

void perf_maps_wait(struct perf_maps *maps, uint64_t until_ns)
{
	perf_maps_end(maps);
	if (maps->clerk.child.pid > 0)
		child_wait(&maps->clerk.child,
			clock_wait_ms(clock_ns(CLOCK_MONOTONIC), until_ns), NULL);
	child_leave(&maps->clerk.child);
}

void perf_maps_close(struct perf_maps *maps)
{
	clerk_close(&maps->clerk);
}
