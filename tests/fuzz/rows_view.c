/* SPDX-License-Identifier: Apache-2.0 */
/* rows_view.c - rows as a worker that was taken over could hand them to the agent. */
#include "fuzz.h"
#include "rows_find.h"
#include "unwind/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) void *aligned = malloc(size + 1);
	struct unwind_rows_view view;

	must(aligned != NULL);
	memcpy(aligned, data, size);
	if (unwind_rows_view(aligned, size, &view) < 0)
		return 0;
	for (uint32_t i = 0; i < view.head->pages_len; i++) {
		struct bytes page = unwind_rows_page_data(&view, i);
		uint64_t base = (uint64_t)view.pages[i].number << ROWS_PAGE_SHIFT;

		touch(page.data, page.len);
		for (uint64_t at = 0; at < 1U << ROWS_PAGE_SHIFT; at += 251)
			rows_find(&view, base + at);
	}
	return 0;
}
