/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ps_print.h - prints the rows of `stoker ps`: a table for a terminal, or JSON for a
 * program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroup/state_file.h"
#include "files/runtimes.h"
#include "waiting/wait_sums.h"

/* Texts are borrowed; "": unknown. */
struct ps_row {
	const char *kind;
	char name[STATE_NAME_MAX];
	const char *id; /* of a container, in full */
	const char *pod, *namespace_;
	const char *cgroup;
	const struct state_facts *facts; /* NULL: unknown */
	struct runtimes runtime;
	uint64_t samples;
	uint64_t walked;   /* samples with a user stack */
	uint64_t complete; /* samples with a complete one */
	uint32_t threads;  /* and what they did */
	struct thread_split split;
};

/* hz and seconds of the capture convert samples to CPU use. */
void ps_print_table(const struct ps_row *rows, size_t len, unsigned int hz, double seconds);
/* {"duration_s", "hz", "rows": [...], "processes": [...]}; each row with all fields above.
 * -ENOMEM. */
int ps_print_json(const struct ps_row *rows, size_t len, unsigned int hz, double seconds,
	const struct wait_sum *processes, size_t processes_len);
