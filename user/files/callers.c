/* SPDX-License-Identifier: Apache-2.0 */
/* files/callers.c - looks at each word of a stack copy once. A word that is no return address
 * costs a page of rows at most; neighbours of one page are looked up once. */
#include "files/callers.h"

#include <string.h>

#include "unwind/publish.h"

static const struct scan_mapping *find_mapping(
	const struct scan_mapping *mappings, size_t len, uint64_t addr)
{
	size_t low = 0, high = len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addr < mappings[middle].start)
			high = middle;
		else if (addr >= mappings[middle].end)
			low = middle + 1;
		else
			return &mappings[middle];
	}
	return NULL;
}

/* The file's page that a return address is in; NULL: no file's code is there. */
static const struct scan_mapping *find_page(
	const struct scan_mapping *mappings, size_t len, uint64_t word, uint64_t *page)
{
	const struct scan_mapping *m;

	if (len == 0 || word <= mappings[0].start || word > mappings[len - 1].end)
		return NULL;
	m = find_mapping(mappings, len, word - 1);
	if (!m || !m->object)
		return NULL;
	*page = (word - 1 - m->start + m->file_offset) >> ROWS_PAGE_SHIFT;
	return m;
}

struct search {
	const struct publish *publish;
	const struct scan_mapping *mappings;
	size_t mappings_len;
	uint64_t last_page;
	uint32_t last_object, left; /* left: pages that may still be passed */
	void (*fn)(void *ctx, uint32_t object, uint64_t page);
	void *ctx;
};

static void search_piece(struct search *s, const uint8_t *stack, size_t bytes)
{
	uint64_t word, page;

	for (size_t at = 0; s->left > 0 && at + sizeof(word) <= bytes; at += sizeof(word)) {
		const struct scan_mapping *m;

		memcpy(&word, stack + at, sizeof(word));
		m = find_page(s->mappings, s->mappings_len, word, &page);
		if (!m || (m->object == s->last_object && page == s->last_page))
			continue;
		s->last_object = m->object;
		s->last_page = page;
		if (!publish_lacks_page(s->publish, m->object, page))
			continue;
		s->fn(s->ctx, m->object, page);
		s->left--;
	}
}

void callers_missing(const struct publish *publish, const struct event_deferred *deferred,
	const struct scan_mapping *mappings, size_t mappings_len,
	void (*fn)(void *ctx, uint32_t object, uint64_t page), void *ctx)
{
	struct search search = {
		.publish = publish,
		.mappings = mappings,
		.mappings_len = mappings_len,
		.last_page = UINT64_MAX,
		.left = CALLERS_PAGES_MAX,
		.fn = fn,
		.ctx = ctx,
	};

	search_piece(&search, deferred_stack(deferred), deferred->stack_bytes);
	search_piece(&search, deferred_root(deferred), deferred->root_bytes);
}
