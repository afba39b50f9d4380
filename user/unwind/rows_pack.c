/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_pack.c - cuts the rows of an image into pages and lays each page out.
 * One page is open at a time. It begins with a row at its offset 0 that continues the current rule,
 * so a search never needs another page; pages without rules are never opened.
 * The layout is defined in bpf/abi_rows.h; rows.c checks and searches it. */
#include "unwind/rows_pack.h"

#include <errno.h>
#include <string.h>

#include "unwind/rule_set.h"

void rows_pack_free(struct rows_pack *pack)
{
	if (pack) {
		vec_done(&pack->pages);
		buf_done(&pack->data);
	}
	free(pack);
}

/* first[] counts rows in 16 bits, and so a page with a row at each of its bytes is one too long. */
static void limit_rows(struct rows_pack *p)
{
	if (p->len <= UINT16_MAX)
		return;
	p->len = 1;
	p->rules[0] = RULE_UNSUPPORTED;
	p->pages_refused++;
}

static void lay_out(const struct rows_pack *p, char *out)
{
	uint16_t first[ROWS_CHUNKS + 1];
	uint32_t row = 0;

	for (uint32_t chunk = 0; chunk <= ROWS_CHUNKS; chunk++) {
		while (row < p->len && p->at[row] >> ROWS_CHUNK_SHIFT < chunk)
			row++;
		first[chunk] = (uint16_t)row;
	}
	memcpy(out, first, sizeof(first));
	out += sizeof(first);
	memcpy(out, p->rules, p->len * sizeof(p->rules[0]));
	out += p->len * sizeof(p->rules[0]);
	for (row = 0; row < p->len; row++)
		out[row] = (char)p->at[row];
}

static int close_page(struct rows_pack *p)
{
	struct unwind_rows_page *page;
	uint32_t size;
	char *room;

	limit_rows(p);
	size = (ROWS_INDEX_BYTES + 3 * p->len + 3) & ~3U;
	if (p->pages.len == UNWIND_ROWS_SPAN_MAX || p->data.len > UINT32_MAX - size)
		return -EFBIG;
	if (buf_reserve(&p->data, size, &room) < 0)
		return -ENOMEM;
	page = vec_add(&p->pages);
	if (!page)
		return -ENOMEM;
	page->number = p->number;
	page->rows_len = p->len;
	page->data_offset = (uint32_t)p->data.len;
	page->data_bytes = size;
	memset(room + size - 4, 0, 4);
	lay_out(p, room);
	buf_commit(&p->data, size);
	p->rows_len += p->len;
	p->open = false;
	return 0;
}

static void add_row(struct rows_pack *p, uint16_t at, uint16_t rule)
{
	if (p->len > 0 && p->at[p->len - 1] == at)
		p->len--;
	if (p->len > 0 && p->rules[p->len - 1] == rule)
		return;
	p->at[p->len] = at;
	p->rules[p->len++] = rule;
}

static void open_page(struct rows_pack *p, uint32_t number)
{
	p->number = number;
	p->open = true;
	p->len = 0;
	add_row(p, 0, p->rule);
}

/* Makes the page of that number the open one, by way of those that the last rule fills. */
static int reach_page(struct rows_pack *p, uint32_t number)
{
	while (p->open && p->number < number) {
		int err = close_page(p);

		if (err < 0)
			return err;
		if (p->rule != RULE_NONE)
			open_page(p, p->number + 1);
	}
	if (!p->open)
		open_page(p, number);
	return 0;
}

int rows_pack_put(struct rows_pack *pack, uint64_t offset, uint16_t rule)
{
	int err;

	if (rule == pack->rule)
		return 0;
	err = reach_page(pack, (uint32_t)(offset >> ROWS_PAGE_SHIFT));
	if (err < 0)
		return err;
	add_row(pack, offset & (ROWS_PAGE_BYTES - 1), rule);
	pack->rule = rule;
	return 0;
}

int rows_pack_finish(struct rows_pack *pack)
{
	return pack->open ? close_page(pack) : 0;
}

int rows_pack_fits(const struct rows_pack *pack)
{
	size_t len = pack->pages.len;

	return len == 0 ||
			unwind_rows_span_fits(pack->pages.data[0].number,
				pack->pages.data[len - 1].number, (uint32_t)len)
		? 0
		: -EFBIG;
}

int rows_pack_pick(struct rows_pack *pack, const uint32_t *numbers, size_t len)
{
	struct {
		__typeof__(pack->pages) pages;
		struct buf data;
		uint32_t rows_len;
	} picked = { .data = BUF_INIT };
	size_t at = 0;
	int err = vec_reserve(&picked.pages, len);

	for (size_t i = 0; i < len && err == 0; i++) {
		struct unwind_rows_page page = { .number = numbers[i] };

		while (at < pack->pages.len && pack->pages.data[at].number < numbers[i])
			at++;
		if (at < pack->pages.len && pack->pages.data[at].number == numbers[i])
			page = pack->pages.data[at];
		if (page.data_bytes > 0)
			err = buf_put(&picked.data, pack->data.data + page.data_offset,
				page.data_bytes);
		page.data_offset = (uint32_t)(picked.data.len - page.data_bytes);
		picked.rows_len += page.rows_len;
		*(struct unwind_rows_page *)vec_add(&picked.pages) = page;
	}
	vec_done(&pack->pages);
	buf_done(&pack->data);
	memcpy(&pack->pages, &picked.pages, sizeof(pack->pages));
	pack->data = picked.data;
	pack->rows_len = picked.rows_len;
	return err;
}
