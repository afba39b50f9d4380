/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/perf_maps.h - has runtimes write perf maps: each process with a sample in code of a JIT
 * is asked once. A clerk does it (output/jit_sessions.h): a runtime that does not answer takes it
 * seconds. For `record --jit` and `[jit]` of the daemon. */
#pragma once

#include "base/caps.h"
#include "base/err.h"
#include "files/processes.h"
#include "output/clerk.h"

/* Notes of `record`, and below the daemon's store. */
#define PERF_MAPS_NOTES "/run/stoker/jit"
#define PERF_MAPS_NOTES_IN_STORE "jit"

/* A clerk whose owner limits it needs these: to find processes and their folders, to become a
 * runtime's user or speak for it, and to remove its files. */
#define PERF_MAPS_CAPS                                                                          \
	(CAPS_BIT(CAP_SYS_PTRACE) | CAPS_BIT(CAP_DAC_READ_SEARCH) |                            \
		CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_SETUID) |     \
		CAPS_BIT(CAP_SETGID))

struct agent;

/* For clerk_options.jit_notes: those of a daemon with this store, and of `record`. */
struct perf_maps_notes {
	char in_store[256 + sizeof(PERF_MAPS_NOTES_IN_STORE)];
	const char *paths[3];
};
const char *const *perf_maps_notes(const char *store, struct perf_maps_notes *notes);

struct perf_maps {
	struct clerk clerk;
	struct log *log;
	uint64_t after; /* as of processes_met */
	struct processes_met next; /* one that the clerk did not take yet; pid 0: none */
	bool refreshing; /* the clerk's answer is due */
	struct jit_stats stats;
};

#define PERF_MAPS_INIT               \
	{                            \
		.clerk = CLERK_INIT, \
	}

/* Undoes what a stoker that was killed had switched on, in any case. The first processes are those
 * of options, of which each gets its map before this returns. */
int perf_maps_open(
	struct perf_maps *maps, const struct clerk_options *options, struct why *why);
/* A daemon with this store. Not always: nobody is asked, and the clerk ends when it has undone what
 * was left. */
int perf_maps_open_daemon(struct perf_maps *maps, const char *store, bool always, struct log *log,
	struct why *why);
/* A capture: its daemon's starter has the clerk. Takes the descriptor. */
void perf_maps_join(struct perf_maps *maps, int fd, struct log *log);
/* Asks the processes that the agent has met since the last call. Does not wait. */
void perf_maps_meet(struct perf_maps *maps, struct agent *agent);
/* Before names are read: JVMs write their maps anew. */
void perf_maps_refresh(struct perf_maps *maps);
/* The same without waiting: names that come too late are found at the next. */
void perf_maps_begin_refresh(struct perf_maps *maps);
/* As of the last refresh. */
void perf_maps_stats(struct perf_maps *maps, struct jit_stats *out);
/* Turns them off and removes their files: begins it, or waits for it until then (CLOCK_MONOTONIC).
 * The next start undoes the rest. */
void perf_maps_end(struct perf_maps *maps);
void perf_maps_wait(struct perf_maps *maps, uint64_t until_ns);
/* Waits as long as it takes. */
void perf_maps_close(struct perf_maps *maps);
