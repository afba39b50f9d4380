/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython.h - describes the frames of CPython's threads for BPF. Addresses come from a
 * file's exported symbols; offsets in structs from a table by version, as CPython up to 3.12 does
 * not describe itself. Source: CPython, Include/cpython and Include/internal of each version, and
 * the debug information of builds of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "elf/image.h"

/* Offsets in structs, by which 3.13 and later describe themselves. */
enum cpython_offset {
	CPYTHON_INTERPRETERS, /* as in struct language */
	CPYTHON_THREADS,
	CPYTHON_THREAD_NEXT,
	CPYTHON_THREAD_FRAME,
	CPYTHON_THREAD_ID,
	CPYTHON_FRAME_PREVIOUS,
	CPYTHON_FRAME_CODE,
	CPYTHON_FRAME_PLACE,
	CPYTHON_FRAME_END,
	CPYTHON_CODE_FILE,
	CPYTHON_CODE_NAME,
	CPYTHON_CODE_LINES,
	CPYTHON_CODE_FIRST_LINE,
	CPYTHON_CODE_FIRST,
	CPYTHON_TEXT_ASCII,
	CPYTHON_OFFSETS
};

/* Addresses are relative to where the file's offset 0 is or would be mapped, if that were part
 * of the mapping of its code. */
struct cpython_facts {
	uint32_t version;                 /* 3.version; 0: the file is no CPython */
	uint16_t offsets[CPYTHON_OFFSETS]; /* the first is 0: the file has none */
	uint16_t free_threaded; /* 1: built without the global lock */
	uint32_t release; /* Py_Version, which has the release; 0: before 3.11 */
	int64_t runtime, code_type;
	uint64_t eval_begin, eval_end; /* file offsets of the function that runs frames */
};

/* False: the file is no CPython, or it does not say what is needed. */
bool cpython_find(struct image *image, struct cpython_facts *out);
/* Does a function of this name run code, or pass calls on to it? */
bool cpython_runs_code(const char *name);
/* False: this version is not known, or this build of it. */
bool cpython_describe(const struct cpython_facts *facts, struct language *out);
/* Has 3.version a built-in table? */
bool cpython_is_built_in(uint32_t version);
