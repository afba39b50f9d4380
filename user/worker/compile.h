/* SPDX-License-Identifier: Apache-2.0 */
/* worker/compile.h - a file's descriptor → what the agent wants of it.
 * Between the descriptor and the result lie the parsers; nothing is kept here. A file that shrinks
 * meanwhile is WORKER_UNREADABLE, whatever had been made of it. */
#pragma once

#include "wire/proto.h"
#include "worker/symbols.h"

/* Fills out. *rows_fd is the caller's: a sealed memfd with the rows, or -1 where there are none
 * (out->rows_status says why). WORKER_OK when the file could be read, with or without rows. */
enum worker_status compile_rows(int fd, struct proto_rows *out, int *rows_fd);

struct compile_wants {
	const uint64_t *offsets; /* of the file; near them its symbols are wanted */
	size_t len;
	const struct elf_sym *before; /* what was known of this file; NULL: nothing */
	bool whole;                   /* all of it is wanted */
	bool lines;                   /* and lines, for which all of it is */
};

/* The file's symbols and those of the first of the debug files that belongs to it and, if they are
 * wanted, what it takes for lines; *symbols is the caller's. debug_fds_len <= PROTO_DEBUG_MAX */
enum worker_status compile_symbols(int fd, const int *debug_fds, size_t debug_fds_len,
	const struct compile_wants *wants, struct proto_symbols *out, struct symbols **symbols);
