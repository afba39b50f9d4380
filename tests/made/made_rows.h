/* SPDX-License-Identifier: Apache-2.0 */
/* made_rows.h - compact rows as a worker hands them over, from a few numbers: which pages, how many
 * rows in each, which rules. Every row's rule can be told from where it stands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

struct made_shape {
	uint32_t first;    /* number of the first page */
	uint32_t pages;    /* that have functions */
	uint32_t apart;    /* each so many after the one before; 1: without a gap */
	uint32_t rows_len; /* of each page: 1 to 20000 */
	uint32_t rules_len;
	uint32_t flavour; /* of the rules */
};

struct made_rows {
	void *bytes;
	size_t size;
	struct unwind_rows_view view;
};

/* Bytes that unwind_rows_view takes, unless the shape spans too many pages. */
void made_rows_make(const struct made_shape *shape, struct made_rows *out);
/* The outline of a table that has pages, and the pages of some rising numbers of it. */
void made_rows_outline(const struct unwind_rows_view *table, struct made_rows *out);
void made_rows_pages(const struct unwind_rows_view *table, const uint32_t *numbers, size_t len,
	struct made_rows *out);
void made_rows_free(struct made_rows *rows);
