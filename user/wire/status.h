/* SPDX-License-Identifier: Apache-2.0 */
/* wire/status.h - results of a request, and of an offered debug file. */
#pragma once

#include "bpf/reasons.h"

#define WORKER_STATUS_LIST(X)                                                                    \
	X(WORKER_OK, "done")                                                                     \
	X(WORKER_NOT_ELF, "not an ELF file or .NET assembly of a supported kind")                \
	X(WORKER_DAMAGED, "a damaged file")                                                      \
	X(WORKER_TOO_LARGE, "the file, or a table in it, is larger than the limit")              \
	X(WORKER_UNREADABLE, "not a regular file, not mappable, or it shrank while it was read") \
	X(WORKER_NO_DATA, "the file has no unwind table")                                        \
	X(WORKER_MACHINE, "built for a machine that is not supported")                           \
	X(WORKER_MEMORY, "it needs more memory than a worker may use")                           \
	X(WORKER_UNKNOWN, "the worker has nothing under this id")                                \
	X(WORKER_BYTE_ORDER, "the other byte order, or an unsupported version")                  \
	X(WORKER_WRONG_INDEX, "the index of its unwind table is wrong: all of it is read")       \
	/* The client finds the following ones; a worker never sends them. */                    \
	X(WORKER_REFUSED, "a worker died or hung on it: not tried again for now")                \
	X(WORKER_LATE, "no answer yet; the work continues")                                      \
	X(WORKER_DOWN, "no worker is running at the moment")

#define WORKER_STATUS_ID(id, text) id,
enum worker_status { WORKER_STATUS_LIST(WORKER_STATUS_ID) WORKER_STATUSES };
#undef WORKER_STATUS_ID

#define WORKER_STATUSES_SENT WORKER_REFUSED

enum worker_debug {
	WORKER_DEBUG_NONE, /* not examined */
	WORKER_DEBUG_SEEN, /* from here on enum debug_reason */
	WORKER_DEBUG_USED = WORKER_DEBUG_SEEN + DEBUG_BELONGS,
	WORKER_DEBUGS = WORKER_DEBUG_SEEN + DEBUG_REASONS_LEN,
};

/* Contents of a file itself. */
#define WORKER_HAS_SYMBOLS 1U /* .symtab */
#define WORKER_HAS_LINES 2U   /* .debug_info */
/* A language runtime whose generated code keeps a chain of frame pointers. */
#define WORKER_KEEPS_CHAIN 4U
#define WORKER_IS_HOTSPOT 8U /* generated code does so with -XX:+PreserveFramePointer */
#define WORKER_IS_CPYTHON 16U
#define WORKER_HAS_HEAPS 32U /* HotSpot, which says where its heaps of code are */
#define WORKER_RUNTIMES (WORKER_KEEPS_CHAIN | WORKER_IS_HOTSPOT)

const char *worker_status_text(enum worker_status status);
