/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/processes.h - the processes that run JIT code, and their perf maps.
 * A map is opened when the process's first JIT frame is seen and kept open, so that its names
 * outlive the process; it is read on from where the last reading ended, and from the start when it
 * was truncated, rewritten or replaced. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "sym/perfmap.h"

#define PROCESSES_MAX 4096
#define PROCESS_MAP_BYTES_MAX (256UL << 20)

struct processes;

int processes_new(struct processes **out);
void processes_free(struct processes *processes);

/* Opens what can be opened of this process now. -ENOSPC at the limit. */
int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* Looks again for maps that were not there yet. Cheap; call it a few times a second. */
void processes_retry(struct processes *processes);
/* Reads all maps up to date; to be called before an interval's frames are named. */
void processes_refresh(struct processes *processes);
/* Drops those that no lookup has asked for in the last intervals. */
void processes_next(struct processes *processes);

/* The process's perf map; NULL: none was found. Counts as use. */
struct perfmap *processes_map(struct processes *processes, uint32_t tgid, uint64_t start_ns);
