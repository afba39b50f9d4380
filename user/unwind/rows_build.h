/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_build.h - a table page by page: first its outline, then the pages that are needed.
 * Errors are those of unwind_rows_build() in unwind/rows.h. */
#pragma once

#include "unwind/rows.h"

/* The whole table of so many pages costs less than to be asked for each. */
#define UNWIND_ROWS_SMALL_PAGES 4

/* An outline if the file's pages can be compiled one by one and it has more, else the table. */
int unwind_rows_begin(struct image *image, struct unwind_rows **out, struct why *why);
/* The pages of these numbers, which rise, of a file that has an outline. They are as in the whole
 * table, except where a function lies in another one that begins long before the page. -ESTALE: the
 * file's index turns out to be wrong. len > 0; numbers up to UNWIND_ROWS_PAGE_MAX */
int unwind_rows_build_pages(struct image *image, const uint32_t *numbers, size_t len,
	struct unwind_rows **out, struct why *why);
