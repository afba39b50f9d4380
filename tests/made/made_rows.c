/* SPDX-License-Identifier: Apache-2.0 */
/* made_rows.c - see made_rows.h. */
#include "made_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct unwind_rule rule_of(const struct made_shape *shape, uint32_t i)
{
	if (i == 0)
		return (struct unwind_rule){ .cfa = CFA_NONE };
	return (struct unwind_rule){ .cfa = CFA_REG,
		.cfa_reg = 7,
		.cfa_off = (int32_t)(8 * i),
		.cfa_add = (int32_t)shape->flavour };
}

/* Spread over the page, the first at its start, so that no chunk has two at one place. */
static void page_of(uint8_t *to, const struct made_shape *shape, uint32_t salt)
{
	uint32_t n = shape->rows_len, step = (1U << ROWS_PAGE_SHIFT) / n, row = 0;
	uint16_t first[ROWS_CHUNKS + 1];
	uint8_t *rules = to + sizeof(first), *starts = rules + 2 * (size_t)n;

	for (uint32_t chunk = 0; chunk <= ROWS_CHUNKS; chunk++) {
		for (; row < n && row * step < chunk << ROWS_CHUNK_SHIFT; row++)
			;
		first[chunk] = (uint16_t)row;
	}
	first[ROWS_CHUNKS] = (uint16_t)n;
	memcpy(to, first, sizeof(first));
	for (row = 0; row < n; row++) {
		uint16_t rule = (uint16_t)((row + salt) % shape->rules_len);

		memcpy(rules + 2 * (size_t)row, &rule, sizeof(rule));
		starts[row] = (uint8_t)(row * step);
	}
}

void made_rows_make(const struct made_shape *shape, struct made_rows *out)
{
	uint32_t page_bytes = (ROWS_INDEX_BYTES + 3 * shape->rows_len + 3) & ~3U;
	struct unwind_rows_head head = {
		.magic = UNWIND_ROWS_MAGIC,
		.pages_len = shape->pages,
		.rules_len = shape->rules_len,
		.rows_len = shape->pages * shape->rows_len,
		.data_bytes = shape->pages * page_bytes,
	};
	struct unwind_rows_page *pages;
	struct unwind_rule *rules;
	uint8_t *data;

	*out = (struct made_rows){ 0 };
	out->size = sizeof(head) + shape->pages * sizeof(*pages) +
		shape->rules_len * sizeof(*rules) + head.data_bytes;
	out->bytes = calloc(1, out->size);
	assert(out->bytes);
	memcpy(out->bytes, &head, sizeof(head));
	pages = (void *)((uint8_t *)out->bytes + sizeof(head));
	rules = (void *)(pages + shape->pages);
	data = (uint8_t *)(rules + shape->rules_len);
	for (uint32_t i = 0; i < shape->rules_len; i++)
		rules[i] = rule_of(shape, i);
	for (uint32_t i = 0; i < shape->pages; i++) {
		pages[i] = (struct unwind_rows_page){
			.number = shape->first + i * shape->apart,
			.rows_len = shape->rows_len,
			.data_offset = i * page_bytes,
			.data_bytes = page_bytes,
		};
		page_of(data + i * page_bytes, shape, i);
	}
}

static void make(const struct unwind_rows_head *head, const struct unwind_rows_view *table,
	struct made_rows *out)
{
	size_t rules_bytes = head->rules_len * sizeof(*table->rules);
	size_t rules_at = sizeof(*head) + head->pages_len * sizeof(*table->pages);

	*out = (struct made_rows){ .size = rules_at + rules_bytes + head->data_bytes };
	out->bytes = calloc(1, out->size);
	assert(out->bytes);
	memcpy(out->bytes, head, sizeof(*head));
	memcpy((uint8_t *)out->bytes + rules_at, table->rules, rules_bytes);
}

void made_rows_outline(const struct unwind_rows_view *table, struct made_rows *out)
{
	const struct unwind_rows_head head = {
		.magic = UNWIND_ROWS_MAGIC,
		.kind = UNWIND_ROWS_OUTLINE,
		.first = unwind_rows_first(table),
		.span = unwind_rows_span(table),
		.used = table->head->pages_len,
		.rules_len = 1,
	};

	make(&head, table, out);
}

void made_rows_pages(const struct unwind_rows_view *table, const uint32_t *numbers, size_t len,
	struct made_rows *out)
{
	struct unwind_rows_head head = {
		.magic = UNWIND_ROWS_MAGIC,
		.kind = UNWIND_ROWS_PAGES,
		.pages_len = (uint32_t)len,
		.rules_len = table->head->rules_len,
	};
	struct unwind_rows_page *page;
	uint8_t *data;

	for (size_t i = 0; i < len; i++) {
		int64_t at = unwind_rows_page_index(table, numbers[i]);

		head.data_bytes += at < 0 ? 0 : table->pages[at].data_bytes;
		head.rows_len += at < 0 ? 0 : table->pages[at].rows_len;
	}
	make(&head, table, out);
	page = (void *)((uint8_t *)out->bytes + sizeof(head));
	data = (uint8_t *)out->bytes + out->size - head.data_bytes;
	for (uint32_t i = 0, used = 0; i < len; i++, page++) {
		int64_t at = unwind_rows_page_index(table, numbers[i]);
		struct bytes from = { 0 };

		*page = (struct unwind_rows_page){ .number = numbers[i], .data_offset = used };
		if (at < 0)
			continue;
		from = unwind_rows_page_data(table, (uint32_t)at);
		page->rows_len = table->pages[at].rows_len;
		page->data_bytes = (uint32_t)from.len;
		memcpy(data + used, from.data, from.len);
		used += page->data_bytes;
	}
}

void made_rows_free(struct made_rows *rows)
{
	free(rows->bytes);
	*rows = (struct made_rows){ 0 };
}
