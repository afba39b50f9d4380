/* SPDX-License-Identifier: Apache-2.0 */
/* output/record_jit.h - `record --jit`: the targets' runtimes are made to write perf maps for as
 * long as the capture lasts, and their files are removed again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "jit/jit_control.h"

struct record_jit {
	VEC(struct jit_control) sessions;
};

/* Warns of a process whose runtime refuses; it is sampled all the same. */
int record_jit_start(struct record_jit *jit, const uint32_t *pids, size_t len, struct log *log);
/* Before names are read. */
void record_jit_refresh(struct record_jit *jit, struct log *log);
void record_jit_stop(struct record_jit *jit, struct log *log);
