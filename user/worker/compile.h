/* SPDX-License-Identifier: Apache-2.0 */
/* worker/compile.h - compiles a file's descriptor into unwind rows or symbols.
 * The parsers run in between; nothing is cached here. A file that shrinks meanwhile is
 * WORKER_UNREADABLE, whatever the result was. */
#pragma once

#include "wire/proto.h"
#include "worker/symbols.h"

/* Pages of rows of a file that was last written at written_ns, or else is WORKER_UNREADABLE; 0:
 * whenever. len 0: the whole table, or an outline. */
struct compile_pages {
	const uint64_t *numbers; /* in rising order */
	size_t len;
	bool whole; /* the table; else without numbers an outline, if there is an index */
	uint64_t written_ns;
};

/* Fills out, for pages without what identifies the file, and writes the rows into the memory, which
 * is empty. out->rows_bytes 0: it has none that count, out->rows_status has the reason. WORKER_OK
 * if the file could be read, with or without rows. */
enum worker_status compile_rows(
	int fd, const struct compile_pages *pages, int memory, struct proto_rows *out);

struct compile_wants {
	const uint64_t *offsets; /* file offsets: symbols near them are needed */
	size_t len;
	const struct elf_sym *before; /* earlier symbols of this file; NULL: none */
	bool whole;                   /* all symbols are needed */
	bool lines;                   /* lines too, which need all symbols */
	uint64_t written_ns;          /* as in struct compile_pages */
};

/* Loads the file's symbols, those of the first debug file that belongs to it and, if requested, the
 * data for lines; *symbols is the caller's. debug_fds_len <= PROTO_DEBUG_MAX. WORKER_UNREADABLE:
 * the file was written since. */
enum worker_status compile_symbols(int fd, const int *debug_fds, size_t debug_fds_len,
	const struct compile_wants *wants, struct proto_symbols *out, struct symbols **symbols);

/* Checks calls of the file: out has len verdicts, which are all ELF_CALL_POSSIBLE unless the result
 * is WORKER_OK. */
enum worker_status compile_calls(
	int fd, const struct elf_call_query *queries, size_t len, struct elf_call *out);
