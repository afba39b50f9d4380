/* SPDX-License-Identifier: Apache-2.0 */
/* store/merge.h - folded texts → one, lines that read the same added up. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/strtab.h"
#include "base/vec.h"

struct merge {
	struct strtab stacks;
	VEC(uint64_t) ns; /* by stack's id: what its samples stand for */
};

int merge_init(struct merge *merge);
void merge_done(struct merge *merge);

/* The id of a stack, given without its count. 0 or -ENOMEM. */
int merge_id(struct merge *merge, struct bytes stack, uint32_t *id);
void merge_count(struct merge *merge, uint32_t id, uint64_t ns);
/* Both. */
int merge_add(struct merge *merge, struct bytes stack, uint64_t ns);
/* All lines of a text, each sample of period_ns. -EBADMSG: a line without a count, or of more than
 * can be; those before it are in. */
int merge_add_text(struct merge *merge, struct bytes text, uint64_t period_ns);
/* Samples of period_ns, rounded; what rounds to none counts as one. */
uint64_t merge_samples(const struct merge *merge, uint32_t id, uint64_t period_ns);
/* Appends sorted lines, counted in such samples. */
int merge_write(const struct merge *merge, uint64_t period_ns, struct buf *out);
uint64_t merge_total(const struct merge *merge);
