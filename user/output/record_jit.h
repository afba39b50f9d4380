/* SPDX-License-Identifier: Apache-2.0 */
/* output/record_jit.h - `record --jit`: runtimes are made to write perf maps for as long as the
 * capture lasts, and their files are removed again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "jit/jit_control.h"

#define RECORD_JIT_HUNG_MAX 2
#define RECORD_JIT_SPENT_NS 20000000000ULL /* any process may claim to be a runtime, and be slow */
#define RECORD_JIT_SESSIONS_MAX 1024
#define RECORD_JIT_WARNINGS_MAX 8

struct record_jit {
	VEC(struct jit_control) sessions;
	uint32_t warned; /* number of warnings */
	uint32_t hung;   /* number of runtimes that did not answer */
	uint64_t spent_ns; /* with runtimes that were met */
};

/* Warns of a process whose runtime refuses, up to RECORD_JIT_WARNINGS_MAX times; it is sampled all
 * the same. */
int record_jit_start(struct record_jit *jit, const uint32_t *pids, size_t len, struct log *log);
/* One more that runs code compiled at run time. After RECORD_JIT_HUNG_MAX runtimes that did not
 * answer, or RECORD_JIT_SPENT_NS, none is asked any more. -ENOMEM. */
int record_jit_meet(struct record_jit *jit, uint32_t pid, struct log *log);
/* Before names are read. */
void record_jit_refresh(struct record_jit *jit, struct log *log);
void record_jit_stop(struct record_jit *jit, struct log *log);
