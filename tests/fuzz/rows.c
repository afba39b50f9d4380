/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - an ELF file to unwind rows, which must be as the agent wants to see them. */
#include "fuzz.h"
#include "rows_find.h"
#include "unwind/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct unwind_rows_view view;
	struct image image;
	struct why why;

	if (image_init(&image, data, size, &why) < 0)
		return 0;
	if (unwind_rows_build(&image, &rows, &why) == 0) {
		must(unwind_rows_view(rows->bytes, rows->size, &view) == 0);
		for (uint64_t at = 0; at < size; at += size / 256 + 1)
			rows_find(&view, at);
	}
	image_done(&image);
	return 0;
}
