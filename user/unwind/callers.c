/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/callers.c - looks at each word of a stack copy once. A word that is no return address
 * costs a page of rows at most; neighbours of one page are looked up once. */
#include "unwind/callers.h"

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

void callers_missing(const struct publish *publish, const struct event_deferred *deferred,
	const struct scan_mapping *mappings, size_t mappings_len,
	void (*fn)(void *ctx, uint32_t object, uint64_t page), void *ctx)
{
	const uint8_t *stack = deferred_stack(deferred);
	uint64_t word, page, last_page = UINT64_MAX;
	uint32_t last_object = 0, left = CALLERS_PAGES_MAX;

	for (size_t at = 0; left > 0 && at + sizeof(word) <= deferred->stack_bytes;
		at += sizeof(word)) {
		const struct scan_mapping *m;

		memcpy(&word, stack + at, sizeof(word));
		m = find_page(mappings, mappings_len, word, &page);
		if (!m || (m->object == last_object && page == last_page))
			continue;
		last_object = m->object;
		last_page = page;
		if (!publish_lacks_page(publish, m->object, page))
			continue;
		fn(ctx, m->object, page);
		left--;
	}
}
