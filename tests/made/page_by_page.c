/* SPDX-License-Identifier: Apache-2.0 */
/* page_by_page.c - see page_by_page.h. Rule numbers are each table's own: rules are compared. */
#include "page_by_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "unwind/rows_build.h"
#include "unwind/rows_index.h"

static void differ(struct page_by_page *out, uint32_t number, const char *what)
{
	if (out->text[0])
		return;
	out->differs = number;
	snprintf(out->text, sizeof(out->text), "page %u: %s", number, what);
}

static struct unwind_rule rule_at(
	const struct unwind_rows_view *v, const struct bytes *data, uint32_t row)
{
	uint16_t id;

	memcpy(&id, data->data + ROWS_INDEX_BYTES + 2 * (size_t)row, sizeof(id));
	return v->rules[id];
}

static void compare_page(struct page_by_page *out, const struct unwind_rows_view *whole,
	const struct unwind_rows_view *pages, uint32_t i)
{
	const struct unwind_rows_page *page = &pages->pages[i];
	int64_t at = unwind_rows_page_index(whole, page->number);
	struct bytes want, have;

	out->pages++;
	out->empty += page->rows_len == 0;
	if (at < 0 || page->rows_len == 0) {
		if ((at < 0) != (page->rows_len == 0))
			differ(out, page->number, "one of them has no functions");
		return;
	}
	if (whole->pages[at].rows_len != page->rows_len) {
		differ(out, page->number, "another number of rows");
		return;
	}
	want = unwind_rows_page_data(whole, (uint32_t)at);
	have = unwind_rows_page_data(pages, i);
	if (memcmp(want.data, have.data, ROWS_INDEX_BYTES) != 0 ||
		memcmp(want.data + ROWS_INDEX_BYTES + 2 * (size_t)page->rows_len,
			have.data + ROWS_INDEX_BYTES + 2 * (size_t)page->rows_len,
			page->rows_len) != 0)
		differ(out, page->number, "rows begin at other places");
	for (uint32_t row = 0; row < page->rows_len; row++) {
		struct unwind_rule a = rule_at(whole, &want, row), b = rule_at(pages, &have, row);

		if (memcmp(&a, &b, sizeof(a)) != 0)
			differ(out, page->number, "another rule");
	}
}

static int compare_batch(struct image *image, const struct unwind_rows_view *whole,
	const uint32_t *numbers, size_t len, struct page_by_page *out)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *pages = NULL;
	struct why why;
	int err = unwind_rows_build_pages(image, numbers, len, &pages, &why);

	if (err == -ESTALE)
		differ(out, numbers[0], "the index does not belong to .eh_frame");
	if (err < 0)
		return err == -ESTALE ? 0 : err;
	if (pages->view.head->kind != UNWIND_ROWS_PAGES || pages->view.head->pages_len != len) {
		differ(out, numbers[0], "other pages");
		return 0;
	}
	for (uint32_t i = 0; i < len; i++)
		compare_page(out, whole, &pages->view, i);
	return 0;
}

int page_by_page_compare(struct image *image, size_t batch, struct page_by_page *out)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *whole = NULL;
	struct rows_outline outline;
	struct why why;
	int err = unwind_rows_build(image, &whole, &why);

	*out = (struct page_by_page){ 0 };
	if (err < 0)
		return err;
	err = rows_index_outline(image, &outline);
	if (err < 0)
		return err == -ENODATA ? 0 : err;
	out->indexed = true;
	for (uint32_t i = 0; i < whole->view.head->pages_len; i++)
		if (whole->view.pages[i].number - outline.first >= outline.len)
			differ(out, whole->view.pages[i].number, "is not in the outline");
	for (uint32_t i = 0; i < outline.len && err == 0; i += (uint32_t)batch) {
		uint32_t numbers[PAGE_BY_PAGE_BATCH];
		size_t len = 0;

		for (; len < batch && i + len < outline.len; len++)
			numbers[len] = outline.first + i + (uint32_t)len;
		err = compare_batch(image, &whole->view, numbers, len, out);
	}
	return err;
}
