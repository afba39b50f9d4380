/* SPDX-License-Identifier: Apache-2.0 */
/* store/merge.h - adds up the equal lines of several folded texts. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/strtab.h"
#include "base/vec.h"

struct merge {
	struct strtab stacks;
	VEC(uint64_t) ns; /* by a stack's id: the time that its samples stand for */
};

int merge_init(struct merge *merge);
void merge_done(struct merge *merge);

/* The id of a stack, given without its count. 0 or -ENOMEM. */
int merge_id(struct merge *merge, struct bytes stack, uint32_t *id);
void merge_count(struct merge *merge, uint32_t id, uint64_t ns);
/* merge_id and merge_count. */
int merge_add(struct merge *merge, struct bytes stack, uint64_t ns);
/* Adds all lines of a text; a sample stands for period_ns. -EBADMSG: a line without a count, or
 * with a count that overflows; the lines before it are added. */
int merge_add_text(struct merge *merge, struct bytes text, uint64_t period_ns);
/* The number of samples of period_ns, rounded, but at least 1. */
uint64_t merge_samples(const struct merge *merge, uint32_t id, uint64_t period_ns);
/* Appends sorted lines with merge_samples as their counts. Returns buf_err(out). */
int merge_write(const struct merge *merge, uint64_t period_ns, struct buf *out);
uint64_t merge_total(const struct merge *merge);
