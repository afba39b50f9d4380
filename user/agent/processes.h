/* SPDX-License-Identifier: Apache-2.0 */
/* agent/processes.h - the processes that run JIT code, and what their JITs write of it: perf map
 * and jitdump. Both are opened when the process's first JIT frame is seen and kept open, so that
 * names outlive the process. What is in them is read by a worker. */
#pragma once

#include <stdint.h>

#include "bpf/reasons.h"

#define PROCESSES_MAX 4096

struct processes;

/* drop: called with the id of each process that is forgotten. */
int processes_new(void (*drop)(void *ctx, uint64_t id), void *ctx, struct processes **out);
void processes_free(struct processes *processes);

/* Opens what can be opened of this process now. Its id, never given again, is the result of
 * processes_id; -ENOSPC at the limit. */
int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* Looks again for files that were not there yet. Cheap; call it a few times a second. */
void processes_retry(struct processes *processes);
/* Looks for files that were removed and made anew; to be called before an interval's frames are
 * named. */
void processes_refresh(struct processes *processes);
/* Drops those whose id nobody has asked for in the last intervals. */
void processes_next(struct processes *processes);

/* 0: not known. Counts as use. */
uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* Processes whose maps were there and not read, by reason; one may have had several. */
void processes_refused(const struct processes *processes, uint64_t out[FILE_REASONS_LEN]);

/* Borrowed; -1: there is none. */
struct processes_files {
	uint32_t tgid;
	int map_fd;
	int dump_fd;
};

struct processes_files processes_files(const struct processes *processes, uint64_t id);
