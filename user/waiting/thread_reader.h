/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_reader.h - the iterator of bpf/threads.bpf.c, loaded and attached, and its passes.
 * Loading takes rights that are given up afterwards; a pass takes those that an agent keeps. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/err.h"
#include "waiting/thread_table.h"

struct thread_reader;

struct thread_reader_options {
	uint32_t pid_namespace;      /* namespace of the reported pids; 0: the host's */
	const struct cgroup_v1 *v1;  /* hierarchies to use, at most CGROUP_V1_MAX */
	size_t v1_len;
};

/* With why. -EOPNOTSUPP: the kernel has no iterator of tasks. */
int thread_reader_open(
	const struct thread_reader_options *options, struct thread_reader **out, struct why *why);
void thread_reader_free(struct thread_reader *reader);

/* Visits all threads. *out is valid until the next pass. Accounts share THREAD_TABLE_MAX records.
 * Waits for nobody: no lock of a thread is taken and no user memory is read. 0 or -errno. */
int thread_reader_pass(struct thread_reader *reader, const struct thread_takers *takers,
	struct thread_pass *out);
