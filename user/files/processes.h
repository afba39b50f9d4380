/* SPDX-License-Identifier: Apache-2.0 */
/* files/processes.h - the processes with JIT code, and the files of their JITs: perf map and
 * jitdump. Both are opened at the process's first JIT frame and kept open, so that names outlive
 * the process. A worker reads the contents. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/reasons.h"

#define PROCESSES_MAX 4096

struct file_time;
struct java_layout;
struct objects;
struct opener_process;
struct processes;
struct sampler;
struct worker_client;

struct processes_options {
	void (*drop)(void *ctx, uint64_t id); /* of each process that is removed */
	void *ctx;
	struct worker_client *worker;
	/* Who pays for a process's place (base/share.h), as container_account_of, and for the
	 * time of its searches. */
	uint64_t (*account)(pid_t process);
	/* For files/hotspots.h. NULL: processes are not described to BPF. */
	struct objects *objects;
	struct sampler *sampler;
};

int processes_new(const struct processes_options *options, struct processes **out);
void processes_free(struct processes *processes);
/* The time of searches, without a limit at first. It is not that of files: on a host where many
 * programs have just begun, all of them owe some. */
struct file_time *processes_time(struct processes *processes);

/* Opens the existing files of this process. processes_id returns its id, which is never reused.
 * -ENOSPC: the places are taken, or the account has as many as it may have of the last ones. */
int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* Runs code without a file: likewise, and again where it is known, for exec may have made it
 * another program. */
int processes_runs(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* Searches again for missing files, of each process less and less often. Call it when it is due
 * (CLOCK_NEVER_NS: nothing is), or earlier. */
void processes_retry(struct processes *processes, uint64_t now_ns);
uint64_t processes_due_ns(const struct processes *processes);
/* Finds files that were removed and rewritten; call it before an interval's frames are named. */
void processes_refresh(struct processes *processes);
/* An interval's frames are named. Removes processes that ended before it began, and those whose id
 * was not requested in the latest intervals. */
void processes_next(struct processes *processes);

struct processes_met {
	uint32_t pid;
	uint64_t account; /* 0: unknown */
};

/* The next process in the order in which they were added; false: all have been given. *after is the
 * caller's place in that order, at first 0. */
bool processes_met(
	const struct processes *processes, uint64_t *after, struct processes_met *out);
/* 0: unknown. Marks it as used. */
uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns);
/* How tables of HotSpot's code are read in the process, and who pays for it. NULL: it is not
 * described. Valid until the next call of another function. */
const struct java_layout *processes_java(const struct processes *processes,
	const struct opener_process *process, uint64_t *account);
/* Was the process, a JVM, started with -XX:+PreserveFramePointer? */
bool processes_preserve_fp(const struct processes *processes, uint64_t id);
/* Number of processes with existing but unread maps, by reason; a process may count under
 * several. */
void processes_refused(const struct processes *processes, uint64_t out[FILE_REASONS_LEN]);

/* JVMs that found no place to be described. */
uint64_t processes_undescribed(const struct processes *processes);

#define PROCESSES_NAME_BYTES 32

struct processes_name {
	uint32_t tgid; /* 0: unknown */
	/* Name of its program's file when it was met; its comm if that cannot be read. */
	char name[PROCESSES_NAME_BYTES];
	bool is_described; /* a JVM whose code BPF walks: it needs no map */
};

struct processes_name processes_name(const struct processes *processes, uint64_t id);

/* Borrowed; -1: none. */
struct processes_files {
	uint32_t tgid;
	int map_fd;
	int dump_fd;
	bool shared; /* one is missing, because another living process has begun it, too */
	bool last;   /* the process has ended, and has no ticks in the next interval */
	bool unread; /* the account has no time to read on in them */
};

struct processes_files processes_files(struct processes *processes, uint64_t id);
/* So much CPU time its files took a worker. Where searches have a limit of time, accounts may read
 * for PROCESSES_READ_NS at once, and for a tenth of a per cent of a core in the long run. */
void processes_charge(struct processes *processes, uint64_t id, uint64_t took_ns);

#define PROCESSES_READ_NS 5000000000ULL /* about 400 MB of perf maps */
#define PROCESSES_READ_PART 1000
