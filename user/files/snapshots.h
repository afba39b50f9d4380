/* SPDX-License-Identifier: Apache-2.0 */
/* files/snapshots.h - the mappings of processes whose samples wait, as they were soon after the
 * tick: the process may be gone when the tables are there. An account's snapshots have a share of
 * the room (base/share.h), and the time to take them is its account's, too (files/file_time.h). */
#pragma once

#include <stdint.h>

#include "base/share.h"
#include "base/vec.h"
#include "bpf/abi.h"

#define SNAPSHOTS_MAX 1024
#define SNAPSHOTS_BYTES_MAX (8U << 20)
/* Each is charged as much at least, so shares of bytes are shares of places, too. */
#define SNAPSHOT_BYTES_MIN (SNAPSHOTS_BYTES_MAX / SNAPSHOTS_MAX)

struct file_time;
struct sampler;

struct snapshot {
	uint32_t tgid;
	uint64_t start_ns, account;
	uint64_t taken_ns, cost_ns; /* when, by CLOCK_MONOTONIC, and its CPU time */
	uint64_t bytes; /* charged to the account */
	VEC(struct scan_mapping) mappings;
};

/* All zero but for the first two: none yet. */
struct snapshots {
	struct sampler *sampler;
	struct file_time *time;
	VEC(struct snapshot *) all;
	struct share share;
	uint64_t dropped; /* the account of each had most, and others needed the room */
};

void snapshots_done(struct snapshots *snapshots);
void snapshots_clear(struct snapshots *snapshots);
/* The one there is, or a new one, read now. NULL: out of memory. Valid until the next call. */
struct snapshot *snapshots_of(
	struct snapshots *snapshots, uint32_t tgid, uint64_t start_ns, uint64_t account);
/* Reads the mappings again, unless that was done just now or takes long. */
void snapshots_freshen(struct snapshots *snapshots, struct snapshot *snapshot);
/* From when on it is read again, by CLOCK_MONOTONIC. */
uint64_t snapshots_stale_ns(const struct snapshot *snapshot);
/* A process has just started a new file: reads its mappings, not while its account owes time. */
void snapshots_watch(struct snapshots *snapshots, struct event_exec event, uint64_t account);
