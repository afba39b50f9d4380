/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_pages.c - page numbers and slab memory. Everything that can fail is done first. Then a
 * page is committed by stores to our list and to the map of pages, which BPF reads; stores cannot
 * fail. */
#include "unwind/row_pages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/extents.h"
#include "base/own.h"
#include "base/share.h"

#define UNIT (1U << ROWS_PLACE_SHIFT)
#define UNITS_RESERVED 4  /* the places 0 to 2 mean something else */
#define EVICT_PART 16     /* as much is freed at once, so that ticks are waited for once */
#define EVICTIONS_MAX 2   /* for one page */
#define WINDOWS 512       /* of 64 KiB, a power of two: most stacks need one, hostile ones all */
#define UNUSED_SECONDS 60 /* nobody needs such a page: it gives before all others */

struct page {
	uint32_t place; /* 0: not loaded */
	uint32_t bytes;
	uint32_t rows;
	uint32_t rules_len;
	uint16_t *rules; /* held ids, each once */
};

/* Mapped bytes of a slab. */
struct window {
	uint8_t *bytes; /* NULL: none */
	uint64_t at, len;
};

struct row_pages {
	const struct row_maps *maps;
	struct row_rules *rules;
	struct row_pages_order order;
	struct extents numbers, memory;
	struct page *all; /* maps->pages_len */
	struct window windows[WINDOWS]; /* by the number of the window */
	struct row_pages_stats stats;
};

/* ---- what BPF sees ----------------------------------------------------------------------------
 */

static void set_place(struct row_pages *p, uint32_t page, uint32_t place)
{
	struct rows_page *shown = &p->maps->pages[page];

	__atomic_store_n(&shown->used, *p->maps->second, __ATOMIC_RELAXED);
	__atomic_store_n(&shown->place, place, __ATOMIC_RELEASE);
}

static uint32_t place_of(const struct row_pages *p, uint32_t page)
{
	return __atomic_load_n(&p->maps->pages[page].place, __ATOMIC_RELAXED);
}

static void close_window(struct row_pages *p, struct window *w)
{
	if (w->bytes)
		p->maps->ops->bytes_unmap(p->maps->ctx, w->bytes, w->len);
	w->bytes = NULL;
}

void row_pages_unmap(struct row_pages *p)
{
	for (uint32_t i = 0; i < WINDOWS; i++)
		close_window(p, &p->windows[i]);
}

/* The bytes at a place, until the next call; NULL: no memory. */
static uint8_t *bytes_at(struct row_pages *p, uint64_t place, uint64_t len)
{
	uint64_t at = place * UNIT, start = at / ROWS_WINDOW_BYTES * ROWS_WINDOW_BYTES;
	uint64_t end = (at + len + ROWS_WINDOW_BYTES - 1) / ROWS_WINDOW_BYTES * ROWS_WINDOW_BYTES;
	struct window *w = &p->windows[at / ROWS_WINDOW_BYTES & (WINDOWS - 1)];

	if (w->bytes && at >= w->at && at + len <= w->at + w->len)
		return w->bytes + (at - w->at);
	close_window(p, w);
	*w = (struct window){ p->maps->ops->bytes_map(p->maps->ctx, start, end - start), start,
		end - start };
	return w->bytes ? w->bytes + (at - start) : NULL;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

struct victim {
	uint32_t page;
	uint32_t rank; /* UINT32_MAX: of a page that nobody needs */
	uint32_t idle; /* seconds */
};

static int gives_first(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->idle < y->idle ? 1 : x->idle > y->idle ? -1 : 0;
}

/* Pages that make room for one of this rank, in their order. */
static size_t find_victims(
	const struct row_pages *p, const uint32_t *ranks, uint32_t own, struct victim *victims)
{
	uint32_t now = *p->maps->second;
	size_t len = 0;

	for (uint32_t page = 0; page < p->maps->pages_len; page++) {
		struct victim victim = { page, ranks[page], 0 };
		uint32_t used;

		if (p->all[page].bytes == 0)
			continue;
		used = __atomic_load_n(&p->maps->pages[page].used, __ATOMIC_RELAXED);
		/* A tick may be later than our clock. */
		victim.idle = used < now ? now - used : 0;
		if (victim.idle >= UNUSED_SECONDS)
			victim.rank = UINT32_MAX;
		if (victim.rank > own || (victim.rank == own && victim.idle > 0))
			victims[len++] = victim;
	}
	qsort(victims, len, sizeof(*victims), gives_first);
	return len;
}

/* Gives a page's memory back; no tick may be in it any more. */
static void unload(struct row_pages *p, struct page *page)
{
	row_rules_release(p->rules, page->rules, page->rules_len);
	free(page->rules);
	extents_give(&p->memory, page->place, page->bytes / UNIT);
	p->stats.bytes -= page->bytes;
	p->stats.rows -= page->rows;
	*page = (struct page){ 0 };
}

/* Frees at least `bytes` for a page, waiting for ticks once. -ENOSPC: there is not that much to
 * free; -ENOMEM. */
static int evict(struct row_pages *p, uint32_t page, uint64_t bytes)
{
	_cleanup_(freep) struct victim *victims = malloc(p->maps->pages_len * sizeof(*victims));
	_cleanup_(freep) uint32_t *ranks = calloc(p->maps->pages_len, sizeof(*ranks));
	uint64_t freed = 0, want = p->stats.slabs_bytes / EVICT_PART;
	size_t len, gone = 0;

	if (!victims || !ranks || p->order.rank(p->order.ctx, ranks) < 0)
		return -ENOMEM;
	len = find_victims(p, ranks, ranks[page], victims);
	want = bytes > want ? bytes : want;
	for (; gone < len && freed < want; gone++) {
		set_place(p, victims[gone].page, ROWS_PAGE_ABSENT);
		freed += p->all[victims[gone].page].bytes;
	}
	if (gone > 0)
		p->maps->ops->wait_for_ticks(p->maps->ctx);
	for (size_t i = 0; i < gone; i++)
		unload(p, &p->all[victims[i].page]);
	p->stats.evicted += gone;
	return freed >= bytes ? 0 : -ENOSPC;
}

/* Room for a page's data. Freed memory may lie in pieces, so a second eviction may help. */
static int take_memory(struct row_pages *p, uint32_t page, uint32_t bytes, uint64_t *place)
{
	int err = extents_take(&p->memory, bytes / UNIT, place);

	for (int tries = 0; tries < EVICTIONS_MAX && err == -ENOSPC; tries++) {
		err = evict(p, page, bytes);
		if (err == 0)
			err = extents_take(&p->memory, bytes / UNIT, place);
	}
	return err;
}

/* ---- pages ------------------------------------------------------------------------------------
 */

int row_pages_take(struct row_pages *p, uint32_t len, uint32_t *base)
{
	uint64_t start;
	int err = extents_take(&p->numbers, len, &start);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < len; i++)
		set_place(p, (uint32_t)start + i, ROWS_PAGE_EMPTY);
	*base = (uint32_t)start;
	return 0;
}

bool row_pages_has_room(const struct row_pages *p, uint32_t len)
{
	return p->numbers.used + len <= share_room(p->maps->pages_len) &&
		extents_has(&p->numbers, len);
}

void row_pages_offer(struct row_pages *p, uint32_t page)
{
	assert(page < p->maps->pages_len);
	set_place(p, page, p->all[page].bytes > 0 ? p->all[page].place : ROWS_PAGE_ABSENT);
}

void row_pages_offer_asked(struct row_pages *p, uint32_t base, uint32_t len)
{
	for (uint32_t page = base; page < base + len; page++)
		if (place_of(p, page) == ROWS_PAGE_ASKED)
			row_pages_offer(p, page);
}

bool row_pages_is_loaded(const struct row_pages *p, uint32_t page)
{
	assert(page < p->maps->pages_len);
	return p->all[page].bytes > 0;
}

bool row_pages_is_empty(const struct row_pages *p, uint32_t page)
{
	assert(page < p->maps->pages_len);
	return place_of(p, page) == ROWS_PAGE_EMPTY;
}

void row_pages_set_empty(struct row_pages *p, uint32_t page)
{
	assert(page < p->maps->pages_len);
	if (p->all[page].bytes == 0)
		set_place(p, page, ROWS_PAGE_EMPTY);
}

/* A page's data with shared rule ids instead of the table's own. */
static void write_page(uint8_t *to, const struct bytes *data, uint32_t rows, const uint16_t *ids)
{
	memcpy(to, data->data, data->len);
	for (uint32_t i = 0; i < rows; i++) {
		uint16_t id;

		memcpy(&id, data->data + ROWS_INDEX_BYTES + 2 * i, sizeof(id));
		memcpy(to + ROWS_INDEX_BYTES + 2 * i, &ids[id], sizeof(id));
	}
}

/* The shared ids of a page's rules, each once; the caller's. NULL: no memory. */
static uint16_t *list_rules(
	const struct bytes *data, uint32_t rows, const uint16_t *ids, uint32_t *len)
{
	uint64_t seen[ROWS_RULES_MAX / 64] = { 0 };
	uint16_t *out, id;

	*len = 0;
	for (uint32_t i = 0; i < rows; i++) {
		memcpy(&id, data->data + ROWS_INDEX_BYTES + 2 * i, sizeof(id));
		id = ids[id];
		*len += !(seen[id / 64] & 1ULL << id % 64);
		seen[id / 64] |= 1ULL << id % 64;
	}
	out = malloc((*len + 1) * sizeof(*out));
	*len = 0;
	for (uint32_t word = 0; out && word < ROWS_RULES_MAX / 64; word++)
		for (uint64_t left = seen[word]; left; left &= left - 1)
			out[(*len)++] = (uint16_t)(64 * word + (uint32_t)__builtin_ctzll(left));
	return out;
}

static int load(struct row_pages *p, uint32_t page, const struct bytes *data, uint32_t rows_len,
	const uint16_t *ids)
{
	uint32_t rules_len;
	_cleanup_(freep) uint16_t *rules = list_rules(data, rows_len, ids, &rules_len);
	uint64_t place;
	uint8_t *to;
	int err = rules ? take_memory(p, page, (uint32_t)data->len, &place) : -ENOMEM;

	if (err < 0)
		return err;
	to = bytes_at(p, place, data->len);
	if (!to) {
		extents_give(&p->memory, place, data->len / UNIT);
		return -ENOMEM;
	}
	write_page(to, data, rows_len, ids);
	row_rules_hold(p->rules, rules, rules_len);
	p->all[page] = (struct page){ (uint32_t)place, (uint32_t)data->len, rows_len, rules_len,
		TAKE_PTR(rules) };
	p->stats.bytes += data->len;
	p->stats.rows += rows_len;
	p->stats.loaded++;
	return 0;
}

int row_pages_load(struct row_pages *p, uint32_t page, const struct bytes *data, uint32_t rows_len,
	const uint16_t *ids)
{
	int err = 0;

	assert(page < p->maps->pages_len);
	if (p->all[page].bytes == 0)
		err = load(p, page, data, rows_len, ids);
	p->stats.refused += err < 0;
	row_pages_offer(p, page);
	return err;
}

const uint8_t *row_pages_data(struct row_pages *p, uint32_t page, uint32_t *len)
{
	assert(page < p->maps->pages_len && p->all[page].bytes > 0);
	*len = p->all[page].bytes;
	return bytes_at(p, p->all[page].place, *len);
}

void row_pages_evict(struct row_pages *p, uint32_t base, uint32_t len)
{
	bool any = false;

	for (uint32_t page = base; page < base + len; page++) {
		if (p->all[page].bytes == 0)
			continue;
		set_place(p, page, ROWS_PAGE_ABSENT);
		any = true;
	}
	if (any)
		p->maps->ops->wait_for_ticks(p->maps->ctx);
	for (uint32_t page = base; page < base + len; page++) {
		if (p->all[page].bytes == 0)
			continue;
		unload(p, &p->all[page]);
		p->stats.evicted++;
	}
}

uint64_t row_pages_bytes(const struct row_pages *p, uint32_t base, uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t page = base; page < base + len; page++)
		sum += p->all[page].bytes;
	return sum;
}

void row_pages_mark_rules(const struct row_pages *p, uint32_t base, uint32_t len, uint8_t *bits)
{
	for (uint32_t page = base; page < base + len; page++)
		for (uint32_t i = 0; i < p->all[page].rules_len; i++)
			bits[p->all[page].rules[i] / 8] |=
				(uint8_t)(1U << p->all[page].rules[i] % 8);
}

void row_pages_give(struct row_pages *p, uint32_t base, uint32_t len)
{
	assert(base < p->maps->pages_len && len <= p->maps->pages_len - base);
	for (uint32_t page = base; page < base + len; page++) {
		if (p->all[page].bytes > 0)
			unload(p, &p->all[page]);
		set_place(p, page, ROWS_PAGE_ABSENT);
	}
	extents_give(&p->numbers, base, len);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

int row_pages_new(const struct row_maps *maps, struct row_rules *rules,
	const struct row_pages_order *order, struct row_pages **out)
{
	uint64_t units = (uint64_t)maps->slabs_len * ROWS_SLAB_BYTES / UNIT;
	struct row_pages *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->maps = maps;
	p->rules = rules;
	p->order = *order;
	p->stats.slabs_bytes = (uint64_t)maps->slabs_len * ROWS_SLAB_BYTES;
	p->all = calloc(maps->pages_len, sizeof(*p->all));
	err = p->all ? extents_init(&p->numbers, 0, maps->pages_len, 0) : -ENOMEM;
	if (err == 0)
		err = extents_init(
			&p->memory, UNITS_RESERVED, units - UNITS_RESERVED, ROWS_SLAB_BYTES / UNIT);
	if (err < 0) {
		row_pages_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void row_pages_free(struct row_pages *p)
{
	if (!p)
		return;
	row_pages_unmap(p);
	extents_done(&p->numbers);
	extents_done(&p->memory);
	for (uint32_t page = 0; p->all && page < p->maps->pages_len; page++)
		free(p->all[page].rules);
	free(p->all);
	free(p);
}

void row_pages_stats(const struct row_pages *p, struct row_pages_stats *out)
{
	*out = p->stats;
}
