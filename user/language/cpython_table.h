/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython_table.h - a table of CPython's structs as a file: stoker-tables(5) has the
 * format. A release brings one for a version that this program has no table for. Its first line is
 * "stoker-table 1"; each other one is a key and a value, a comment from '#' on, or empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/build_id.h"
#include "language/cpython.h"

#define CPYTHON_TABLE_BYTES_MAX 16384

/* Key in the file, the largest value, and whether a table must have it. Offsets are bytes from the
 * beginning of the struct that the key begins with. */
#define CPYTHON_KEYS(X)                                                                       \
	X(RUNTIME_INTERPRETERS, "runtime.interpreters", UINT16_MAX, true)                     \
	X(RUNTIME_KEY, "runtime.key", UINT16_MAX, false)                                      \
	X(RUNTIME_CURRENT, "runtime.current", UINT16_MAX, false)                              \
	X(INTERPRETER_THREADS, "interpreter.threads", UINT16_MAX, true)                       \
	X(THREAD_NEXT, "thread.next", UINT16_MAX, true)                                       \
	X(THREAD_ID, "thread.id", UINT16_MAX, true)                                           \
	X(THREAD_FRAME, "thread.frame", UINT16_MAX, false)                                    \
	X(THREAD_LINK, "thread.link", UINT16_MAX, false)                                      \
	X(LINK_FRAME, "link.frame", UINT16_MAX, false)                                        \
	X(LINK_PREVIOUS, "link.previous", UINT16_MAX, false)                                  \
	X(FRAME_CODE, "frame.code", LANGUAGE_FRAME_LARGE - 8, true)                           \
	X(FRAME_PREVIOUS, "frame.previous", LANGUAGE_FRAME_LARGE - 8, true)                   \
	X(FRAME_PLACE, "frame.place", LANGUAGE_FRAME_LARGE - 8, true)                         \
	X(FRAME_END, "frame.end", LANGUAGE_FRAME_LARGE - 1, false)                            \
	X(FRAME_COPY, "frame.copy", LANGUAGE_FRAME_LARGE - 4, false)                          \
	X(PLACE_KIND, "place", PLACE_ADDRESS, true)                                           \
	X(SEGMENT_KIND, "segment", SEGMENT_SHIM, true)                                        \
	X(SEGMENT_VALUE, "segment.value", UINT8_MAX, false)                                   \
	X(CODE_FILE, "code.file", UINT8_MAX, true)                                            \
	X(CODE_NAME, "code.name", UINT8_MAX, true)                                            \
	X(CODE_LINES, "code.lines", UINT8_MAX, true)                                          \
	X(CODE_FIRST_LINE, "code.first_line", UINT8_MAX, true)                                \
	X(CODE_FIRST, "code.first", UINT16_MAX, false)                                        \
	X(CODE_COPIES, "code.copies", UINT16_MAX, false)                                      \
	X(CODE_TAG, "code.tag", 7, false)                                                     \
	X(TEXT_ASCII, "text.ascii", 128, true)                                                \
	X(TEXT_OTHER, "text.other", 128, true)                                                \
	X(TEXT_SHIFT, "text.shift", 24, true)                                                 \
	X(OBJECT_EXTRA, "object.extra", 64, false)

#define CPYTHON_KEY_ID(id, text, max, needed) KEY_##id,
enum cpython_key { CPYTHON_KEYS(CPYTHON_KEY_ID) KEYS_LEN };
#undef CPYTHON_KEY_ID

/* Why a file is no table. */
#define CPYTHON_TABLE_FAULTS(X)                                                               \
	X(CPYTHON_TABLE_OK, "it is one")                                                      \
	X(CPYTHON_TABLE_HEAD, "its first line is not \"stoker-table 1\"")                     \
	X(CPYTHON_TABLE_TEXT, "it is longer than 16 KiB, or no text")                         \
	X(CPYTHON_TABLE_LINE, "the line is no key and value")                                 \
	X(CPYTHON_TABLE_KEY, "the line has an unknown key")                                   \
	X(CPYTHON_TABLE_TWICE, "the line has a key that another line has")                    \
	X(CPYTHON_TABLE_VALUE, "the line's value is out of range, or no such value")          \
	X(CPYTHON_TABLE_RUNTIME, "it has no line \"runtime cpython\"")                        \
	X(CPYTHON_TABLE_VERSION, "it has no line \"version 3.N\"")                            \
	X(CPYTHON_TABLE_MISSING, "a key is missing that every table has")                     \
	X(CPYTHON_TABLE_WINDOW, "its offsets do not fit what is read of a frame or a code")   \
	X(CPYTHON_TABLE_LINK, "thread.frame or thread.link is missing, or a key of links")

#define CPYTHON_TABLE_FAULT_ID(id, text) id,
enum cpython_table_fault {
	CPYTHON_TABLE_FAULTS(CPYTHON_TABLE_FAULT_ID) CPYTHON_TABLE_FAULTS_LEN
};
#undef CPYTHON_TABLE_FAULT_ID

/* As a worker sends it. */
struct cpython_table {
	uint32_t version;       /* 3.version */
	uint32_t release;       /* the one that it is for, as Py_Version; 0: all final ones */
	uint32_t free_threaded; /* 1: for builds without the global lock */
	uint32_t build_id_len;  /* 0: for all builds */
	uint8_t build_id[BUILD_ID_BYTES_MAX];
	uint32_t line;  /* of the fault; 0: it is in no line */
	uint32_t fault; /* enum cpython_table_fault */
	uint16_t values[KEYS_LEN];
	uint16_t given[KEYS_LEN]; /* 1: the file has the key */
	uint16_t pad[2];
};

/* Bytes → a table; its fault says whether it is one. */
void cpython_table_parse(const char *text, size_t len, struct cpython_table *out);
/* For who did not parse it: CPYTHON_TABLE_OK, or what is wrong with its numbers. */
enum cpython_table_fault cpython_table_check(const struct cpython_table *table);
const char *cpython_table_text(enum cpython_table_fault fault);
/* Is it for this file, whose build ID is given? */
bool cpython_table_fits(const struct cpython_table *table, const struct cpython_facts *facts,
	const struct build_id *id);
/* The table has no fault, and fits the file. */
void cpython_table_describe(const struct cpython_table *table, const struct cpython_facts *facts,
	struct language *out);
