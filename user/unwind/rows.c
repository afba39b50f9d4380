/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows.c - reads compact rows: checks untrusted bytes, and searches.
 * After unwind_rows_view() no search can read outside its page or the rules, here or in BPF: page
 * numbers rise within the allowed span, a page's size follows from its number of rows, first[]
 * rises from 0 to that number, starts rise within a chunk, a row begins at offset 0, and every rule
 * has known kinds. It cannot check that the rows are true: a worker may lie. rows_build.c compiles
 * rows. */
#include "unwind/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(struct unwind_rows_head) % 4 == 0, "rules and pages follow aligned");

/* One page's arrays. */
struct page {
	const uint16_t *first;
	const uint16_t *rule;
	const uint8_t *start;
};

static struct page page_arrays(const uint8_t *data, uint32_t rows_len)
{
	const uint16_t *first = (const uint16_t *)(const void *)data;
	const uint16_t *rule = first + ROWS_CHUNKS + 1;

	return (struct page){ first, rule, (const uint8_t *)(rule + rows_len) };
}

static bool rule_valid(const struct unwind_rule *rule)
{
	return rule->cfa < CFA_KINDS && rule->ra <= RA_UNSUPPORTED && rule->fp <= FP_REG;
}

static bool starts_rise(const struct page *p, uint32_t chunk)
{
	for (uint32_t i = p->first[chunk] + 1U; i < p->first[chunk + 1]; i++) {
		if (p->start[i] <= p->start[i - 1])
			return false;
	}
	return true;
}

static bool page_data_valid(const struct page *p, uint32_t rows_len, uint32_t rules_len)
{
	if (p->first[0] != 0 || p->first[ROWS_CHUNKS] != rows_len)
		return false;
	for (uint32_t c = 0; c < ROWS_CHUNKS; c++) {
		if (p->first[c + 1] < p->first[c])
			return false;
	}
	/* Monotone and ending at rows_len, so every index below is in range. */
	for (uint32_t c = 0; c < ROWS_CHUNKS; c++) {
		if (!starts_rise(p, c))
			return false;
	}
	if (p->first[1] == 0 || p->start[0] != 0)
		return false;
	for (uint32_t i = 0; i < rows_len; i++) {
		if (p->rule[i] >= rules_len)
			return false;
	}
	return true;
}

bool unwind_rows_span_fits(uint32_t first, uint32_t last, uint32_t pages_len)
{
	uint64_t span = (uint64_t)last - first + 1;

	return span <= UNWIND_ROWS_SPAN_MAX && span <= UNWIND_ROWS_SPAN_SPARSE((uint64_t)pages_len);
}

uint32_t unwind_rows_first(const struct unwind_rows_view *v)
{
	if (v->head->kind == UNWIND_ROWS_OUTLINE)
		return v->head->first;
	return v->head->pages_len > 0 ? v->pages[0].number : 0;
}

uint32_t unwind_rows_span(const struct unwind_rows_view *v)
{
	uint32_t len = v->head->pages_len;

	if (v->head->kind == UNWIND_ROWS_OUTLINE)
		return v->head->span;
	return len > 0 ? v->pages[len - 1].number - v->pages[0].number + 1 : 0;
}

static bool outline_valid(const struct unwind_rows_head *head)
{
	return head->pages_len == 0 && head->span > 0 && head->span <= UNWIND_ROWS_SPAN_MAX &&
		head->used <= head->span &&
		head->first <= UNWIND_ROWS_PAGE_MAX - (head->span - 1) &&
		unwind_rows_span_fits(head->first, head->first + head->span - 1, head->used);
}

static bool kind_valid(const struct unwind_rows_view *v)
{
	const struct unwind_rows_head *head = v->head;
	uint32_t len = head->pages_len;

	switch (head->kind) {
	case UNWIND_ROWS_OUTLINE:
		return outline_valid(head);
	case UNWIND_ROWS_TABLE:
		if (len > 0 &&
			!unwind_rows_span_fits(v->pages[0].number, v->pages[len - 1].number, len))
			return false;
		break;
	case UNWIND_ROWS_PAGES:
		break;
	default:
		return false;
	}
	return head->first == 0 && head->span == 0 && head->used == 0;
}

static uint32_t page_bytes(uint32_t rows_len)
{
	return (ROWS_INDEX_BYTES + 3 * rows_len + 3) & ~3U;
}

static bool may_be_empty(const struct unwind_rows_view *v, const struct unwind_rows_page *page)
{
	return v->head->kind == UNWIND_ROWS_PAGES && page->rows_len == 0 && page->data_bytes == 0;
}

static bool pages_valid(const struct unwind_rows_view *v)
{
	uint64_t offset = 0, rows = 0;

	for (uint32_t i = 0; i < v->head->pages_len; i++) {
		const struct unwind_rows_page *page = &v->pages[i];
		struct page arrays;

		if (page->number > UNWIND_ROWS_PAGE_MAX ||
			(i > 0 && page->number <= v->pages[i - 1].number))
			return false;
		if (page->data_offset != offset)
			return false;
		if (may_be_empty(v, page))
			continue;
		if (page->rows_len == 0 || page->rows_len > UINT16_MAX ||
			page->data_bytes != page_bytes(page->rows_len) ||
			page->data_bytes > v->head->data_bytes - offset)
			return false;
		offset += page->data_bytes;
		rows += page->rows_len;
		arrays = page_arrays(v->data + page->data_offset, page->rows_len);
		if (!page_data_valid(&arrays, page->rows_len, v->head->rules_len))
			return false;
	}
	return offset == v->head->data_bytes && rows == v->head->rows_len;
}

static bool rules_valid(const struct unwind_rows_view *v)
{
	if (v->head->rules_len == 0 || v->rules[0].cfa != CFA_NONE)
		return false;
	for (uint32_t i = 0; i < v->head->rules_len; i++) {
		if (!rule_valid(&v->rules[i]))
			return false;
	}
	return true;
}

int unwind_rows_view(const void *bytes, size_t size, struct unwind_rows_view *out)
{
	struct cursor c = cursor_init(bytes, size);
	struct unwind_rows_view v;

	if ((uintptr_t)bytes % sizeof(uint32_t) != 0)
		return -EBADMSG;
	v.head = (const void *)cursor_bytes(&c, sizeof(*v.head)).data;
	if (c.bad || v.head->magic != UNWIND_ROWS_MAGIC ||
		v.head->pages_len > UNWIND_ROWS_SPAN_MAX || v.head->rules_len > UINT16_MAX + 1U)
		return -EBADMSG;
	v.pages = (const void *)cursor_bytes(&c, v.head->pages_len * sizeof(*v.pages)).data;
	v.rules = (const void *)cursor_bytes(&c, v.head->rules_len * sizeof(*v.rules)).data;
	v.data = cursor_bytes(&c, v.head->data_bytes).data;
	if (c.bad || cursor_left(&c) > 0 || !rules_valid(&v) || !pages_valid(&v) || !kind_valid(&v))
		return -EBADMSG;
	*out = v;
	return 0;
}

struct bytes unwind_rows_page_data(const struct unwind_rows_view *view, uint32_t i)
{
	const struct unwind_rows_page *page = &view->pages[i];

	return (struct bytes){ view->data + page->data_offset, page->data_bytes };
}

int64_t unwind_rows_page_index(const struct unwind_rows_view *v, uint64_t number)
{
	uint32_t low = 0, high = v->head->pages_len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (v->pages[mid].number == number)
			return mid;
		if (v->pages[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

void unwind_rows_free(struct unwind_rows *rows)
{
	if (rows)
		free(rows->bytes);
	free(rows);
}
