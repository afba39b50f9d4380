/* SPDX-License-Identifier: Apache-2.0 */
/* wire/status.h - what became of a request, and of a debug file that was offered. */
#pragma once

#include "bpf/reasons.h"

#define WORKER_STATUS_LIST(X)                                                                     \
	X(WORKER_OK, "done")                                                                      \
	X(WORKER_NOT_ELF, "no ELF file or .NET assembly of a kind that is read")                  \
	X(WORKER_DAMAGED, "a file that contradicts itself")                                       \
	X(WORKER_TOO_LARGE, "the file, or a table in it, is larger than is read")                 \
	X(WORKER_UNREADABLE, "no regular file, not to be mapped, or it shrank while it was read") \
	X(WORKER_NO_DATA, "the file has no unwind table")                                         \
	X(WORKER_MACHINE, "of a machine whose tables are not read")                               \
	X(WORKER_MEMORY, "it takes more memory than a worker may have")                           \
	X(WORKER_UNKNOWN, "the worker keeps nothing under this id")                               \
	X(WORKER_BYTE_ORDER, "of the other byte order, or of a version that is not read")         \
	/* What follows is found by the client and never told by a worker. */                     \
	X(WORKER_REFUSED, "a worker died or hung over it: not tried again for now")               \
	X(WORKER_LATE, "no answer yet; the work goes on")                                         \
	X(WORKER_DOWN, "there is no worker for the moment")

#define WORKER_STATUS_ID(id, text) id,
enum worker_status { WORKER_STATUS_LIST(WORKER_STATUS_ID) WORKER_STATUSES };
#undef WORKER_STATUS_ID

#define WORKER_STATUSES_TOLD WORKER_REFUSED

enum worker_debug {
	WORKER_DEBUG_NONE, /* it was not looked at */
	WORKER_DEBUG_SEEN, /* and from here on enum debug_reason */
	WORKER_DEBUG_USED = WORKER_DEBUG_SEEN + DEBUG_BELONGS,
	WORKER_DEBUGS = WORKER_DEBUG_SEEN + DEBUG_REASONS_LEN,
};

/* What a file has itself. */
#define WORKER_HAS_SYMBOLS 1U /* .symtab */
#define WORKER_HAS_LINES 2U   /* .debug_info */

const char *worker_status_text(enum worker_status status);
