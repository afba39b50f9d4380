/* SPDX-License-Identifier: Apache-2.0 */
/* client/calls.h - asks a worker which calls of a file are possible. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sym/elf_calls.h"
#include "wire/status.h"

struct worker_client;

struct worker_calls {
	uint64_t id; /* of the object: blamed if a worker is lost */
	int fd;      /* the mapped file; borrowed for the call */
	const struct elf_call_query *queries;
	size_t len;
	uint64_t until_ns; /* deadline */
};

/* Waits. WORKER_OK: out has len verdicts; else it is unset from some place on. After WORKER_LATE,
 * WORKER_REFUSED and WORKER_DOWN a later query may succeed. */
enum worker_status worker_client_calls(
	struct worker_client *client, const struct worker_calls *calls, struct elf_call *out);
