/* SPDX-License-Identifier: Apache-2.0 */
/* client/worker_rows.h - the rows and facts of a file that a worker has read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_file.h"
#include "elf/build_id.h"
#include "language/cpython.h"
#include "language/hotspot.h"
#include "unwind/rows.h"
#include "wire/status.h"

/* Without symbols: client/namer.h has those. */
struct worker_rows {
	uint64_t id;
	enum worker_status status; /* not WORKER_OK: the file cannot be used, maybe only for now */
	enum worker_status rows_status;
	const struct unwind_rows_view *rows; /* checked; NULL unless rows_status is WORKER_OK */
	const uint32_t *pages; /* requested pages; they come without the next fields, except ns */
	size_t pages_len;      /* 0: the table, or an outline, was requested */
	size_t rows_bytes;
	struct build_id build_id; /* len 0: none */
	struct debug_link link;   /* name "": none */
	uint32_t contents;        /* WORKER_HAS_* */
	struct cpython_facts cpython;
	struct hotspot_facts hotspot;
	uint64_t eh_frame_bytes;  /* compiled */
	uint64_t ns;              /* time spent */
};

/* The result and its pointers are valid during the call. */
typedef void (*worker_rows_fn)(void *ctx, const struct worker_rows *rows);
