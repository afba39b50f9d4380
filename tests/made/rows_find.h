/* SPDX-License-Identifier: Apache-2.0 */
/* rows_find.h - the rule at a file offset, by the layout of a page in bpf/abi_rows.h. */
#pragma once

#include "unwind/rows.h"

/* CFA_NONE where there is no page. */
static inline struct unwind_rule rows_find(const struct unwind_rows_view *view, uint64_t offset)
{
	int64_t index = unwind_rows_page_index(view, offset >> ROWS_PAGE_SHIFT);
	const struct unwind_rows_page *page = index < 0 ? NULL : &view->pages[index];
	uint32_t chunk = (offset >> ROWS_CHUNK_SHIFT) & (ROWS_CHUNKS - 1);
	uint32_t at = offset & ((1U << ROWS_CHUNK_SHIFT) - 1), row;
	const uint16_t *first, *rule;
	const uint8_t *start;

	if (!page || page->rows_len == 0)
		return view->rules[0];
	first = (const uint16_t *)(const void *)(view->data + page->data_offset);
	rule = first + ROWS_CHUNKS + 1;
	start = (const uint8_t *)(rule + page->rows_len);
	/* If no row of the chunk is at or before the address, the one before the chunk applies. */
	for (row = first[chunk]; row < first[chunk + 1] && start[row] <= at;)
		row++;
	return view->rules[rule[row - 1]];
}
