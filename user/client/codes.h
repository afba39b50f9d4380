/* SPDX-License-Identifier: Apache-2.0 */
/* client/codes.h - asks a worker for the names of a language's code, and for the table of a
 * runtime that a file has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "language/cpython_table.h"
#include "wire/name.h"
#include "wire/proto_body.h"
#include "wire/status.h"

struct worker_client;

struct worker_codes {
	uint64_t id; /* of their process: blamed if a worker is lost */
	const struct proto_code *all;
	size_t len;
	bool lines;        /* source files and lines, too */
	uint64_t until_ns; /* deadline */
};

/* Waits. fn gets the number of a place, counted through all codes. 0 or fn's error. *status as
 * that of worker_client_names(): WORKER_OK if each place was looked up. */
int worker_client_codes(struct worker_client *client, const struct worker_codes *codes,
	worker_name_fn fn, void *ctx, enum worker_status *status);

struct worker_table {
	uint64_t id;       /* number of the file, less than 2^32: blamed if a worker is lost */
	int fd;            /* borrowed for the call */
	uint64_t until_ns; /* deadline */
};

/* Waits. WORKER_OK: *out is set, and its fault says whether it is a table; without one it is as
 * cpython_table_check() wants it. */
enum worker_status worker_client_language(
	struct worker_client *client, const struct worker_table *table, struct cpython_table *out);
