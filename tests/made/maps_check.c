/* SPDX-License-Identifier: Apache-2.0 */
/* maps_check.c - see maps_check.h. A page of two objects, a page in use that no object has, bytes
 * of two pages, bytes outside of the slabs, rules that there are not: each is said. */
#include "maps_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wrong(struct maps_seen *seen, const char *format, ...)
{
	char text[256];
	va_list args;

	seen->wrong++;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (seen->complain)
		seen->complain(seen->ctx, text);
}

/* Whose each page is: an index of objects + 1. Pages that two objects have are complained of. */
static uint32_t *find_owners(struct maps_seen *seen)
{
	uint32_t *owners = calloc(seen->pages_len, sizeof(*owners));

	for (uint32_t i = 0; owners && i < seen->objects_len; i++) {
		const struct object_value *v = &seen->objects[i].value;

		for (uint32_t other = 0; other < i; other++)
			if (seen->objects[other].value.id == v->id && v->id != 0)
				wrong(seen, "two files are object %u", v->id);
		if (v->table != TABLE_READY) {
			if (v->pages_len > 0)
				wrong(seen, "object %u is not ready and has pages", v->id);
			continue;
		}
		if (v->page_base > seen->pages_len ||
			v->pages_len > seen->pages_len - v->page_base) {
			wrong(seen, "object %u has pages that there are not", v->id);
			continue;
		}
		for (uint32_t page = v->page_base; page < v->page_base + v->pages_len; page++) {
			if (owners[page])
				wrong(seen, "page %u belongs to objects %u and %u", page,
					seen->objects[owners[page] - 1].value.id, v->id);
			owners[page] = i + 1;
		}
	}
	return owners;
}

struct maps_extent {
	uint64_t start, end;
	uint32_t page;
};

static int by_start(const void *a, const void *b)
{
	const struct maps_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The bytes of a page that is loaded; false: they are not where bytes can be. */
static bool extent_of(struct maps_seen *seen, uint32_t page, struct maps_extent *out)
{
	uint64_t start = (uint64_t)seen->pages[page].place << ROWS_PLACE_SHIFT, room;
	uint16_t rows, rule;

	if (start >= seen->slabs_bytes)
		return false;
	room = ROWS_SLAB_BYTES - start % ROWS_SLAB_BYTES;
	if (room < ROWS_INDEX_BYTES)
		return false;
	memcpy(&rows, seen->slabs + start + 2 * ROWS_CHUNKS, sizeof(rows));
	if (rows == 0 || ROWS_INDEX_BYTES + 3U * rows > room)
		return false;
	for (uint32_t i = 0; i < rows && !seen->shallow; i++) {
		memcpy(&rule, seen->slabs + start + ROWS_INDEX_BYTES + 2 * i, sizeof(rule));
		if (rule >= seen->rules_len) {
			wrong(seen, "page %u names rule %u of %u", page, rule, seen->rules_len);
			break;
		}
	}
	*out = (struct maps_extent){ start, start + ROWS_INDEX_BYTES + 3U * rows, page };
	return true;
}

bool maps_check(struct maps_seen *seen)
{
	uint32_t *owners = find_owners(seen);
	struct maps_extent *used = malloc((seen->pages_len + 1) * sizeof(*used));
	size_t len = 0;

	seen->wrong += !owners || !used;
	for (uint32_t page = 0; owners && used && page < seen->pages_len; page++) {
		if (seen->pages[page].place <= ROWS_PAGE_EMPTY)
			continue;
		if (!owners[page] && !seen->between)
			wrong(seen, "page %u is in use and belongs to no object", page);
		if (extent_of(seen, page, &used[len]))
			len++;
		else
			wrong(seen, "page %u leads to no page's bytes", page);
	}
	if (used)
		qsort(used, len, sizeof(*used), by_start);
	for (size_t i = 1; i < len; i++)
		if (used[i].start < used[i - 1].end)
			wrong(seen, "pages %u and %u share bytes", used[i - 1].page, used[i].page);
	free(owners);
	free(used);
	return seen->wrong == 0;
}
