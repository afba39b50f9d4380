/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - an ELF file to its outline and single pages of rows, those that it has and others. */
#include "fuzz.h"
#include "rows_find.h"
#include "unwind/rows_build.h"

#define REQUESTS 4
#define NUMBERS 8

/* Rising, from a few bytes of the file. */
static void take_numbers(const uint8_t *data, size_t size, uint32_t first, uint32_t *numbers)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		numbers[i] = first % UNWIND_ROWS_PAGE_MAX;
		if (i > 0 && numbers[i] <= numbers[i - 1])
			numbers[i] = numbers[i - 1] + 1;
		first = numbers[i] + 1 + data[(i * 7 + first) % size] % 5;
	}
}

static void build_pages(struct image *image, const uint32_t *numbers, size_t len)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct unwind_rows_view view;
	struct why why;

	if (unwind_rows_build_pages(image, numbers, len, &rows, &why) < 0)
		return;
	must(unwind_rows_view(rows->bytes, rows->size, &view) == 0);
	must(view.head->kind == UNWIND_ROWS_PAGES && view.head->pages_len == len);
	for (uint32_t i = 0; i < len; i++) {
		must(view.pages[i].number == numbers[i]);
		for (uint64_t at = 0; at < 1U << ROWS_PAGE_SHIFT; at += 4093)
			rows_find(&view, ((uint64_t)numbers[i] << ROWS_PAGE_SHIFT) + at);
	}
}

static void build_all(struct image *image, const uint8_t *data, size_t size)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct unwind_rows_view view;
	uint32_t numbers[NUMBERS], first = 0;
	struct why why;

	if (unwind_rows_begin(image, &rows, &why) == 0) {
		must(unwind_rows_view(rows->bytes, rows->size, &view) == 0);
		must(view.head->kind != UNWIND_ROWS_PAGES);
		first = unwind_rows_first(&view);
	}
	for (uint32_t i = 0; i < REQUESTS; i++) {
		take_numbers(data, size, first + i * data[size - 1 - i % size], numbers);
		build_pages(image, numbers, 1 + i % NUMBERS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image;
	struct why why;

	if (image_init(&image, data, size, &why) < 0)
		return 0;
	build_all(&image, data, size);
	image_done(&image);
	return 0;
}
