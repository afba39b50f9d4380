/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.c - three kinds of room: page numbers (one run of them an object), bytes in slabs
 * (one run a page), and rule ids (shared by all objects, so that equal rules are one). */
#include "unwind/publish.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/extents.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/reasons.h"

/* A table up to this part of the slabs is loaded whole, as long as no more than 3/4 are used. */
#define WHOLE_PART 4
#define UNIT (1U << ROWS_PLACE_SHIFT)
#define EVICT_PART 16 /* as much is freed at once, so that the grace period is paid for once */

struct table {
	struct object_key key;
	uint32_t id;
	uint32_t state; /* enum table_state */
	uint32_t page_base, page_first, pages_len;
	void *kept; /* copy of the rows that are not all loaded; NULL: all are */
	size_t kept_bytes;
	struct unwind_rows_view view; /* of kept */
};

struct page {
	uint32_t place; /* 0: not there */
	uint32_t bytes;
	uint32_t rows;
};

struct publish {
	struct publish_maps maps;
	VEC(struct table) tables;
	struct hash by_object;
	struct extents page_numbers, memory;
	struct page *pages; /* ROWS_PAGES_MAX */
	struct hash rules;  /* hash of a rule → its id */
	VEC(struct unwind_rule) rule_list;
	uint16_t rule_unsupported;
	uint8_t *mapped; /* one slab, or NULL */
	uint32_t mapped_slab;
	struct publish_stats stats;
};

/* ---- rules ------------------------------------------------------------------------------------
 */

static int put_rule(struct publish *p, const struct unwind_rule *rule, uint16_t *id)
{
	uint64_t key = hash_bytes(rule, sizeof(*rule)), *known;
	uint32_t at = (uint32_t)p->rule_list.len;
	struct unwind_rule *slot;

	for (; (known = hash_find(&p->rules, key)); key++) {
		if (memcmp(&p->rule_list.data[*known], rule, sizeof(*rule)) == 0) {
			*id = (uint16_t)*known;
			return 0;
		}
	}
	if (at >= ROWS_RULES_MAX)
		return -ENOSPC;
	slot = vec_add(&p->rule_list);
	if (!slot || hash_put(&p->rules, key, at) < 0)
		return -ENOMEM;
	*slot = *rule;
	*id = (uint16_t)at;
	return bpf_map_update_elem(p->maps.rules, &at, rule, BPF_ANY);
}

/* The global id of each of the object's rules. */
static uint16_t *map_rules(struct publish *p, const struct unwind_rows_view *view)
{
	uint16_t *ids = malloc(view->head->rules_len * sizeof(*ids));

	for (uint32_t i = 0; ids && i < view->head->rules_len; i++) {
		ids[i] = p->rule_unsupported;
		if (put_rule(p, &view->rules[i], &ids[i]) < 0)
			p->stats.rules_refused++;
	}
	return ids;
}

static int init_rules(struct publish *p)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };
	const struct unwind_rule unsupported = { .cfa = CFA_UNSUPPORTED };
	uint16_t zero;
	int err = put_rule(p, &none, &zero);

	return err < 0 ? err : put_rule(p, &unsupported, &p->rule_unsupported);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

void publish_rest(struct publish *p)
{
	if (p->mapped)
		munmap(p->mapped, ROWS_SLAB_BYTES);
	p->mapped = NULL;
}

/* The bytes at a place. Mapped slabs count as our memory, so only one is at a time. */
static uint8_t *slab_at(struct publish *p, uint32_t place)
{
	uint64_t at = (uint64_t)place * UNIT;
	uint32_t slab = (uint32_t)(at >> ROWS_SLAB_SHIFT);

	if (!p->mapped || p->mapped_slab != slab) {
		void *mapped = mmap(NULL, ROWS_SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			p->maps.slabs, (off_t)slab << ROWS_SLAB_SHIFT);

		if (mapped == MAP_FAILED)
			return NULL;
		publish_rest(p);
		p->mapped = mapped;
		p->mapped_slab = slab;
	}
	return p->mapped + (at & (ROWS_SLAB_BYTES - 1));
}

static int tell_place(struct publish *p, uint32_t page, uint32_t place)
{
	struct rows_page value = { .place = place, .used = *p->maps.second };

	return bpf_map_update_elem(p->maps.pages, &page, &value, BPF_ANY);
}

struct victim {
	uint32_t page;
	uint32_t idle; /* seconds */
};

static int most_idle_first(const void *a, const void *b)
{
	uint32_t x = ((const struct victim *)a)->idle, y = ((const struct victim *)b)->idle;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Pages that are loaded and were not searched in this second, the most idle first. */
static size_t find_victims(struct publish *p, struct victim *victims)
{
	size_t len = 0;

	for (uint32_t page = 0; page < ROWS_PAGES_MAX; page++) {
		struct rows_page value;

		if (p->pages[page].bytes == 0 ||
			bpf_map_lookup_elem(p->maps.pages, &page, &value) < 0 ||
			value.used == *p->maps.second)
			continue;
		victims[len++] = (struct victim){ page, *p->maps.second - value.used };
	}
	qsort(victims, len, sizeof(*victims), most_idle_first);
	return len;
}

/* Gives a page's memory back; no tick may be in it any more. */
static void free_page(struct publish *p, struct page *page)
{
	extents_give(&p->memory, page->place, page->bytes / UNIT);
	p->stats.bytes -= page->bytes;
	p->stats.rows -= page->rows;
	*page = (struct page){ 0 };
}

/* Frees at least `bytes`, in one grace period. False when there is not that much to free. */
static bool evict(struct publish *p, uint64_t bytes)
{
	struct victim *victims = malloc(ROWS_PAGES_MAX * sizeof(*victims));
	size_t len = victims ? find_victims(p, victims) : 0, gone = 0;
	uint64_t freed = 0, want = p->stats.slabs_bytes / EVICT_PART;

	want = bytes > want ? bytes : want;
	for (; gone < len && freed < want; gone++) {
		tell_place(p, victims[gone].page, ROWS_PAGE_ABSENT);
		freed += p->pages[victims[gone].page].bytes;
	}
	if (gone > 0)
		p->maps.wait_for_ticks();
	for (size_t i = 0; i < gone; i++) {
		free_page(p, &p->pages[victims[i].page]);
		p->stats.pages_evicted++;
	}
	free(victims);
	return freed >= bytes;
}

/* Room for a page's data. Freed memory may lie in pieces, so a second try may need a second
 * eviction. */
static int take_memory(struct publish *p, uint32_t bytes, uint64_t *place)
{
	for (int tries = 0; tries < 3; tries++) {
		if (extents_take(&p->memory, bytes / UNIT, place) == 0)
			return 0;
		if (!evict(p, bytes))
			break;
	}
	return -ENOSPC;
}

/* ---- pages ------------------------------------------------------------------------------------
 */

/* A page's data with global rule ids instead of the object's own. */
static void write_page(uint8_t *to, const struct bytes *data, uint32_t rows, const uint16_t *ids)
{
	memcpy(to, data->data, data->len);
	for (uint32_t i = 0; i < rows; i++) {
		uint16_t id;

		memcpy(&id, data->data + ROWS_INDEX_BYTES + 2 * i, sizeof(id));
		memcpy(to + ROWS_INDEX_BYTES + 2 * i, &ids[id], sizeof(id));
	}
}

static int load_page(struct publish *p, const struct table *t, const struct unwind_rows_view *view,
	uint32_t i, const uint16_t *ids)
{
	uint32_t page = t->page_base + view->pages[i].number - t->page_first;
	struct bytes data = unwind_rows_page_data(view, i);
	uint64_t place;
	uint8_t *to;

	if (p->pages[page].bytes > 0)
		return 0;
	if (take_memory(p, (uint32_t)data.len, &place) < 0) {
		p->stats.pages_refused++;
		return -ENOSPC;
	}
	to = slab_at(p, (uint32_t)place);
	if (!to) {
		extents_give(&p->memory, place, data.len / UNIT);
		return -ENOMEM;
	}
	write_page(to, &data, view->pages[i].rows_len, ids);
	p->pages[page] =
		(struct page){ (uint32_t)place, (uint32_t)data.len, view->pages[i].rows_len };
	p->stats.bytes += data.len;
	p->stats.rows += view->pages[i].rows_len;
	p->stats.pages_loaded++;
	return tell_place(p, page, (uint32_t)place);
}

/* Pages without any function are said to be so: BPF need not ask for them. */
static int mark_pages(struct publish *p, const struct table *t, const struct unwind_rows_view *view)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->pages_len; i++) {
		bool there =
			at < view->head->pages_len && view->pages[at].number == t->page_first + i;
		int err =
			tell_place(p, t->page_base + i, there ? ROWS_PAGE_ABSENT : ROWS_PAGE_EMPTY);

		at += there;
		if (err < 0)
			return err;
	}
	return 0;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

uint32_t publish_used(const struct publish *p, const struct object_key *key)
{
	struct object_value value;

	return bpf_map_lookup_elem(p->maps.objects, key, &value) < 0 ? 0 : value.used;
}

static int tell_object(struct publish *p, const struct table *t)
{
	struct object_value value = {
		.id = t->id,
		.table = t->state,
		.page_base = t->page_base,
		.page_first = t->page_first,
		.pages_len = t->pages_len,
		.used = publish_used(p, &t->key),
	};
	int err = bpf_map_update_elem(p->maps.objects, &t->key, &value, BPF_ANY);

	__atomic_fetch_add(p->maps.epoch, 1, __ATOMIC_SEQ_CST);
	return err;
}

/* The object's table, made if there is none yet. */
static struct table *table_of(struct publish *p, const struct object_key *key, uint32_t id)
{
	uint64_t *at = hash_find(&p->by_object, id);
	struct table *t;

	if (at)
		return &p->tables.data[*at];
	t = vec_add(&p->tables);
	if (!t || hash_put(&p->by_object, id, p->tables.len - 1) < 0)
		return NULL;
	t->key = *key;
	t->id = id;
	return t;
}

int publish_none(struct publish *p, const struct object_key *key, uint32_t id)
{
	struct table *t = table_of(p, key, id);

	if (!t)
		return -ENOMEM;
	t->state = TABLE_NONE;
	return tell_object(p, t);
}

int publish_forget(struct publish *p, const struct object_key *key)
{
	int err = bpf_map_delete_elem(p->maps.objects, key);

	if (err == 0)
		__atomic_fetch_sub(p->maps.objects_len, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(p->maps.epoch, 1, __ATOMIC_SEQ_CST);
	return err;
}

static void drop_table(struct publish *p, uint32_t id)
{
	uint64_t *at = hash_find(&p->by_object, id);
	struct table *t = at ? &p->tables.data[*at] : NULL, *last;

	if (!t)
		return;
	last = &p->tables.data[p->tables.len - 1];
	for (uint32_t i = 0; i < t->pages_len; i++)
		if (p->pages[t->page_base + i].bytes > 0)
			free_page(p, &p->pages[t->page_base + i]);
	if (t->pages_len > 0)
		extents_give(&p->page_numbers, t->page_base, t->pages_len);
	p->stats.tables -= t->state == TABLE_READY;
	free(t->kept);
	if (t != last) {
		*t = *last;
		*hash_find(&p->by_object, t->id) = *at;
	}
	hash_del(&p->by_object, id);
	p->tables.len--;
}

void publish_drop(struct publish *p, const uint32_t *ids, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t *at = hash_find(&p->by_object, ids[i]);

		if (at)
			publish_forget(p, &p->tables.data[*at].key);
	}
	p->maps.wait_for_ticks();
	for (size_t i = 0; i < len; i++)
		drop_table(p, ids[i]);
}

static int keep_rows(struct table *t, const struct unwind_rows_view *view)
{
	size_t size = (size_t)(view->data - (const uint8_t *)view->head) + view->head->data_bytes;
	void *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, view->head, size);
	free(t->kept);
	t->kept = copy;
	t->kept_bytes = size;
	return unwind_rows_view(copy, size, &t->view);
}

static bool fits_whole(const struct publish *p, const struct unwind_rows_view *view)
{
	uint64_t bytes = view->head->data_bytes, all = p->stats.slabs_bytes;

	return bytes <= all / WHOLE_PART && p->stats.bytes + bytes <= all - all / WHOLE_PART;
}

static int place_table(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	uint32_t pages = view->head->pages_len;
	uint64_t base;
	int err;

	if (pages == 0 || t->state == TABLE_READY)
		return 0;
	t->page_first = view->pages[0].number;
	t->pages_len = view->pages[pages - 1].number - t->page_first + 1;
	err = extents_take(&p->page_numbers, t->pages_len, &base);
	if (err < 0)
		return err;
	t->page_base = (uint32_t)base;
	return mark_pages(p, t, view);
}

static int load_whole(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	_cleanup_(freep) uint16_t *ids = map_rules(p, view);
	int err = ids ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < view->head->pages_len && err == 0; i++)
		err = load_page(p, t, view, i, ids);
	return err;
}

int publish_rows(struct publish *p, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view)
{
	struct table *t = table_of(p, key, id);
	int err = t ? place_table(p, t, view) : -ENOMEM;

	if (err < 0) {
		publish_none(p, key, id);
		return err;
	}
	err = fits_whole(p, view) ? load_whole(p, t, view) : keep_rows(t, view);
	if (t->state != TABLE_READY)
		p->stats.tables++;
	t->state = TABLE_READY;
	if (err == 0)
		err = tell_object(p, t);
	return err;
}

/* The index of a page by its number, -1 when the object has no such page. */
static int64_t find_page(const struct unwind_rows_view *view, uint32_t number)
{
	uint32_t from = 0, to = view->head->pages_len;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (view->pages[middle].number == number)
			return middle;
		if (view->pages[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return -1;
}

int publish_page(struct publish *p, uint32_t object, uint32_t page)
{
	uint64_t *at = hash_find(&p->by_object, object);
	struct table *t = at ? &p->tables.data[*at] : NULL;
	_cleanup_(freep) uint16_t *ids = NULL;
	int64_t i;
	int err;

	if (!t || page - t->page_base >= t->pages_len)
		return -EINVAL;
	if (!t->kept)
		return -ENOENT;
	i = find_page(&t->view, page - t->page_base + t->page_first);
	ids = i < 0 ? NULL : map_rules(p, &t->view);
	err = ids ? load_page(p, t, &t->view, (uint32_t)i, ids) : -EINVAL;
	/* Not loaded: let BPF ask again, at a later need. */
	if (err < 0)
		tell_place(p, page, ROWS_PAGE_ABSENT);
	return err;
}

/* ---- the search ---------------------------------------------------------------------------------
 */

uint32_t publish_find_page(struct publish *p, uint32_t object, uint64_t offset, struct bytes *data)
{
	uint64_t *at = hash_find(&p->by_object, object);
	struct table *t = at ? &p->tables.data[*at] : NULL;
	struct rows_page value;
	uint32_t page;

	*data = (struct bytes){ 0 };
	if (!t || t->state == TABLE_PENDING)
		return END_NO_TABLE;
	page = (uint32_t)(offset >> ROWS_PAGE_SHIFT) - t->page_first;
	if (t->state == TABLE_NONE || page >= t->pages_len)
		return END_NONE;
	page += t->page_base;
	if (p->pages[page].bytes == 0) {
		if (bpf_map_lookup_elem(p->maps.pages, &page, &value) == 0 &&
			value.place == ROWS_PAGE_EMPTY)
			return END_NONE;
		if (publish_page(p, object, page) < 0)
			return END_NO_TABLE;
	}
	data->data = slab_at(p, p->pages[page].place);
	data->len = p->pages[page].bytes;
	return data->data ? END_NONE : END_NO_TABLE;
}

uint32_t publish_table(const struct publish *p, uint32_t object)
{
	uint64_t *at = hash_find(&p->by_object, object);

	return at ? p->tables.data[*at].state : TABLE_PENDING;
}

const struct unwind_rule *publish_rule(const struct publish *p, uint32_t id)
{
	return &p->rule_list.data[id < p->rule_list.len ? id : 0];
}

/* ---- life ---------------------------------------------------------------------------------------
 */

int publish_new(const struct publish_maps *maps, struct publish **out)
{
	uint64_t units = (uint64_t)maps->slabs_len * ROWS_SLAB_BYTES / UNIT;
	struct publish *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->maps = *maps;
	p->stats.slabs_bytes = (uint64_t)maps->slabs_len * ROWS_SLAB_BYTES;
	p->pages = calloc(ROWS_PAGES_MAX, sizeof(*p->pages));
	err = p->pages ? extents_init(&p->page_numbers, 0, ROWS_PAGES_MAX, 0) : -ENOMEM;
	/* The places 0 to 2 mean something else. */
	if (err == 0)
		err = extents_init(&p->memory, 4, units - 4, ROWS_SLAB_BYTES / UNIT);
	if (err == 0)
		err = init_rules(p);
	if (err < 0) {
		publish_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	publish_rest(p);
	vec_each (&p->tables, t)
		free(t->kept);
	vec_done(&p->tables);
	hash_done(&p->by_object);
	extents_done(&p->page_numbers);
	extents_done(&p->memory);
	hash_done(&p->rules);
	vec_done(&p->rule_list);
	free(p->pages);
	free(p);
}

void publish_stats(const struct publish *p, struct publish_stats *out)
{
	*out = p->stats;
	out->rules = p->rule_list.len;
}
