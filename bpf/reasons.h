/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/reasons.h - every way to lose a tick, event, frame, file or name: id, name in the account,
 * one sentence. Ids are positions: append new ones to the end of their list. */
#pragma once

/* Why a tick became neither a sample nor idle time. */
#define LOST_REASONS(X)                                                                        \
	X(LOST_COUNTS_FULL, "counts_full", "no room, or no share of it, in the count map")     \
	X(LOST_RING_FULL, "ring_full", "no room, or no share of it, in the ring buffer for a stack, task or tick") \
	X(LOST_DRAIN, "drain", "a drained count has an unknown stack or task")                 \
	X(LOST_MEMORY, "memory", "no memory, or no share of it, in user space for a stack, task or count")

/* Events that were lost because the ring buffer, for EVENT_DEFERRED half of it, or an account's
 * share was full, or user space out of memory. A loss of one of the first four kinds also loses a
 * tick, which LOST_REASONS counts. */
#define EVENT_LOSSES(X)                                                                          \
	X(EVENT_STACK, "stack", "a new stack: the next tick sends it again")                     \
	X(EVENT_LEAF, "leaf", "a new leaf of a known stack: the next tick sends it again")       \
	X(EVENT_TASK, "task", "a new task: its next tick sends it again")                        \
	X(EVENT_TICK, "tick", "a sample with its time")                                          \
	X(EVENT_OBJECT, "object", "a new mapped file: sent again at its next use")               \
	X(EVENT_JIT, "jit", "a process with JIT code: sent again at its next sample")            \
	X(EVENT_PRESSURE, "pressure", "a count map is half full: user space also checks it")     \
	X(EVENT_EXEC, "exec", "a new program: its unwind table is made at its first sample")     \
	X(EVENT_PAGE, "page", "a missing page of unwind rows: requested again at the next need") \
	X(EVENT_DEFERRED, "deferred", "a deferred sample: its stack is truncated")               \
	X(EVENT_CGROUP, "cgroup", "a cgroup was made, removed or renamed: all are read again")   \
	X(EVENT_CODE, "code", "a language's code that is new: sent again at its next sample")

/* Parts of the target that did not fit into their table. */
#define TARGET_LOSSES(X)                                                                       \
	X(TARGET_LOST_CGROUP, "cgroup", "a new cgroup below the target, which is not sampled") \
	X(TARGET_LOST_PROCESS, "process", "a process of the target: each tick searches its parents")

/* Why a user stack ended. */
#define STACK_ENDS(X)                                                                 \
	X(END_NONE, "none", "no user stack: a kernel thread")                         \
	X(END_ROOT, "root", "the outermost frame was reached by rule")                \
	X(END_DEPTH, "depth", "more frames than the limit")                           \
	X(END_NO_MAPPING, "no_mapping", "an address in no mapping")                   \
	X(END_NOT_CODE, "not_code", "an address in memory that is not executable")    \
	X(END_VMA_READ, "vma_read", "the mappings changed while they were read")      \
	X(END_STACK_READ, "stack_read", "stack memory could not be read")             \
	X(END_FP_CHAIN, "fp_chain", "the frame pointer does not lead up the stack")   \
	X(END_NO_REGS, "no_regs", "the task has no saved user registers")             \
	X(END_COMPAT, "compat", "32-bit code: only the leaf is known")                \
	X(END_UNSUPPORTED, "unsupported", "an unsupported rule in the file's CFI")    \
	X(END_REGISTER, "register", "a rule needs a register that only the leaf has") \
	X(END_CFA, "cfa", "a rule does not lead up the stack")                        \
	X(END_NO_TABLE, "no_table", "the file's unwind table was not ready in time")  \
	X(END_TIME, "time", "the tick took too long: --tick-limit")                   \
	X(END_IMPOSSIBLE, "impossible",                                               \
		"a guessed caller, or the root, did not call the frame below")        \
	X(END_LIMITED, "limited", "its container's ticks took more than their share of the time") \
	X(END_UNREAD, "unread", "the memory of a thread without a CPU cannot be read on this kernel")

/* Why a file could not be used. */
#define OBJECT_REASONS(X)                                                                         \
	X(OBJECT_GONE, "gone", "the process or mapping was gone before the file was opened")      \
	X(OBJECT_CHANGED, "changed", "the mapping's address holds another file now")              \
	X(OBJECT_NOT_REGULAR, "not_regular", "not a regular file")                                \
	X(OBJECT_DENIED, "denied", "permission denied")                                           \
	X(OBJECT_OPEN, "open", "the file could not be opened")                                    \
	X(OBJECT_TOO_LARGE, "too_large", "larger than the limit")                                 \
	X(OBJECT_NOT_ELF, "not_elf", "not an ELF file of this machine, nor a .NET assembly")      \
	X(OBJECT_DAMAGED, "damaged", "a damaged file")                                            \
	X(OBJECT_LIMIT, "limit", "more files than the limit")                                     \
	X(OBJECT_FORGOTTEN, "forgotten", "removed from the table because it was not used lately") \
	X(OBJECT_REFUSED, "refused", "a worker failed on the file, or no worker is running")      \
	X(OBJECT_UNPROVEN, "unproven", "the kernel could not say whether it is the mapped file")  \
	X(OBJECT_HUNG, "hung", "its file system does not answer: not tried again for a while")    \
	X(OBJECT_TIME, "time", "files of its container took more CPU time than their share")

/* Why an existing perf map or debug file is not read. */
#define FILE_REASONS(X)                                                                       \
	X(FILE_NOT_REGULAR, "not_regular", "a FIFO, device, socket or directory")             \
	X(FILE_LINK, "link", "a symbolic link that must not be followed, or a loop of links") \
	X(FILE_OWNER, "owner", "it belongs to another user than the process")                 \
	X(FILE_DENIED, "denied", "permission denied")                                         \
	X(FILE_STALE, "stale", "older than the process")                                      \
	X(FILE_TOO_LARGE, "too_large", "larger than the limit")                               \
	X(FILE_OTHER, "other", "it could not be opened")                                      \
	X(FILE_LIMIT, "limit", "more such files than the limit")                              \
	X(FILE_SHARED, "shared", "another living process has the same file")                  \
	X(FILE_LATE, "late", "not searched, or not read on, each time: it takes long for its container")     \
	X(FILE_HUNG, "hung", "its file system does not answer, or may not")

/* Why a frame has no name. */
#define UNNAMED_REASONS(X)                                                                         \
	X(UNNAMED_NO_FILE, "no_file", "the file could not be read")                                \
	X(UNNAMED_NO_SYMBOLS, "no_symbols", "the file has no symbols")                             \
	X(UNNAMED_NO_SYMBOL, "no_symbol", "no symbol covers the address")                          \
	X(UNNAMED_NO_MAP, "no_map", "the process wrote no perf map")                               \
	X(UNNAMED_NOT_IN_MAP, "not_in_map", "the process's perf map has no entry for the address") \
	X(UNNAMED_KERNEL, "kernel", "kernel symbols are hidden or do not cover the address")       \
	X(UNNAMED_WORKER, "worker",                                                                \
		"the worker that reads names failed, was too slow or refused the file")            \
	X(UNNAMED_OBJECT, "object", "the table of files was full when the file was met")           \
	X(UNNAMED_JITDUMP, "jitdump", "a damaged jitdump, or one of the other byte order")         \
	X(UNNAMED_SHARED_MAP, "shared_map", "another living process writes the same perf map")     \
	X(UNNAMED_CODE, "code", "code of a language that could not be read in its process's memory")

/* Results of checking a candidate debug file. */
#define DEBUG_REASONS(X)                                                 \
	X(DEBUG_BELONGS, "belongs", "it belongs to the file")            \
	X(DEBUG_DAMAGED, "damaged", "not an ELF file, or a damaged one") \
	X(DEBUG_MACHINE, "machine", "built for another machine")         \
	X(DEBUG_BUILD_ID, "build_id", "its build ID differs")            \
	X(DEBUG_CRC, "crc", "its checksum differs from .gnu_debuglink")  \
	X(DEBUG_UNPROVEN, "unproven", "no build ID to compare, and no .gnu_debuglink")

/* Results of a request to debuginfod servers. */
#define FETCH_REASONS(X)                                                                       \
	X(FETCH_DONE, "done", "fetched")                                                       \
	X(FETCH_NOT_FOUND, "not_found", "no server has the file")                              \
	X(FETCH_UNREACHABLE, "unreachable", "a server cannot be reached, or failed too often") \
	X(FETCH_TIMEOUT, "timeout", "a server is too slow")                                    \
	X(FETCH_TOO_LARGE, "too_large", "larger than the limit")                               \
	X(FETCH_FAILED, "failed", "a server failed")                                           \
	X(FETCH_LIMIT, "limit", "the capture's limit of files or bytes is reached")            \
	X(FETCH_NO_LIBRARY, "no_library", "libcurl.so.4 and libcurl-gnutls.so.4 are missing")  \
	X(FETCH_LOST, "lost", "the fetching process was lost")

#define REASON_ID(id, name, text) id,
enum lost_reason { LOST_REASONS(REASON_ID) LOST_REASONS_LEN };
enum target_loss { TARGET_LOSSES(REASON_ID) TARGET_LOSSES_LEN };
enum stack_end { STACK_ENDS(REASON_ID) STACK_ENDS_LEN };
enum object_reason { OBJECT_REASONS(REASON_ID) OBJECT_REASONS_LEN };
enum debug_reason { DEBUG_REASONS(REASON_ID) DEBUG_REASONS_LEN };
enum file_reason { FILE_REASONS(REASON_ID) FILE_REASONS_LEN };
enum fetch_reason { FETCH_REASONS(REASON_ID) FETCH_REASONS_LEN };
enum unnamed_reason { UNNAMED_REASONS(REASON_ID) UNNAMED_REASONS_LEN };
#undef REASON_ID
