/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.c - one table an object, in one of three states: PENDING and NONE have nothing in
 * the maps, READY has a run of page numbers.
 * A table is made beside what BPF sees and then told; it is taken back in the other order: BPF is
 * told, a grace period passes, its numbers and memory are given back. What BPF could not be told
 * keeps all that it has, so that nothing is given away that a tick may still search. */
#include "unwind/publish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/reasons.h"
#include "unwind/row_pages.h"
#include "unwind/row_rules.h"

/* A table up to this part of the slabs is loaded whole, as long as no more than 3/4 are used. */
#define WHOLE_PART 4

struct table {
	struct publish_object object;
	uint32_t state;                            /* enum table_state */
	uint32_t page_base, page_first, pages_len; /* READY alone has pages */
	uint64_t contents;                         /* hash of the rows */
	void *kept;                   /* the rows, where they are not all loaded; or NULL */
	struct unwind_rows_view view; /* of kept */
	bool untold;                  /* BPF is to be told what the table is */
	bool dropped;                 /* ... and that it is gone */
	bool refused;                 /* NONE for want of room */
};

struct publish {
	struct row_maps maps;
	struct row_pages *pages;
	struct row_rules rules;
	VEC(struct table) tables;
	struct hash by_object;
	uint64_t ready, tables_refused;
};

/* ---- what BPF is told of objects --------------------------------------------------------------
 */

uint32_t publish_used(const struct publish *p, const struct object_key *key)
{
	struct object_value value;

	return p->maps.ops->object_get(p->maps.ctx, key, &value) < 0 ? 0 : value.used;
}

static void raise_epoch(struct publish *p)
{
	__atomic_fetch_add(p->maps.epoch, 1, __ATOMIC_SEQ_CST);
}

/* Tells the object's state, with pages only where it is READY. -ENOENT: BPF does not know the
 * object, so no tick can come by what it was told. */
static int tell_object(struct publish *p, const struct table *t, uint32_t state)
{
	bool ready = state == TABLE_READY;
	struct object_value value = {
		.id = t->object.id,
		.table = state,
		.page_base = ready ? t->page_base : 0,
		.page_first = ready ? t->page_first : 0,
		.pages_len = ready ? t->pages_len : 0,
		.used = publish_used(p, &t->object.key),
	};
	/* BPF itself adds every object but this one, and counts them. */
	bool add = t->object.id == OBJECT_VDSO;
	int err = p->maps.ops->object_put(p->maps.ctx, &t->object.key, &value, add);

	raise_epoch(p);
	return err;
}

static int forget_object(struct publish *p, const struct publish_object *object)
{
	int err = p->maps.ops->object_del(p->maps.ctx, &object->key);

	if (err == 0 && object->id != OBJECT_VDSO)
		__atomic_fetch_sub(p->maps.objects_len, 1, __ATOMIC_SEQ_CST);
	raise_epoch(p);
	return err == -ENOENT ? 0 : err;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

static struct table *find_table(const struct publish *p, uint32_t id)
{
	uint64_t *at = hash_find(&p->by_object, id);

	return at ? &p->tables.data[*at] : NULL;
}

/* The object's table, PENDING if there was none yet. NULL: no memory. */
static struct table *table_of(struct publish *p, const struct object_key *key, uint32_t id)
{
	struct table *t = find_table(p, id);

	if (t) {
		t->dropped = false;
		return t;
	}
	if (vec_reserve(&p->tables, p->tables.len + 1) < 0 ||
		hash_put(&p->by_object, id, p->tables.len) < 0)
		return NULL;
	t = vec_add(&p->tables);
	t->object = (struct publish_object){ .key = *key, .id = id };
	return t;
}

/* Gives back what a READY table has. No tick can be in it any more. */
static void release(struct publish *p, struct table *t)
{
	if (t->state != TABLE_READY)
		return;
	if (t->pages_len > 0)
		row_pages_give(p->pages, t->page_base, t->pages_len);
	free(t->kept);
	t->kept = NULL;
	t->pages_len = 0;
	t->state = TABLE_PENDING;
	p->ready--;
}

static void wait_for_ticks(struct publish *p)
{
	p->maps.ops->wait_for_ticks(p->maps.ctx);
}

/* Takes a table back that BPF may be searching. Negative: BPF could not be told, nothing changed.
 */
static int withdraw(struct publish *p, struct table *t)
{
	int err;

	if (t->state != TABLE_READY)
		return 0;
	err = tell_object(p, t, TABLE_PENDING);
	t->untold = err < 0 && err != -ENOENT;
	if (t->untold)
		return err;
	wait_for_ticks(p);
	release(p, t);
	return 0;
}

static void remove_table(struct publish *p, struct table *t)
{
	struct table *last = &p->tables.data[p->tables.len - 1];

	release(p, t);
	hash_del(&p->by_object, t->object.id);
	if (t != last) {
		*t = *last;
		*hash_find(&p->by_object, t->object.id) = (uint64_t)(t - p->tables.data);
	}
	p->tables.len--;
}

static bool may_be_removed(const struct table *t)
{
	return t->dropped && !t->untold;
}

/* Removes what BPF was told is gone, once no tick can be in its pages. */
static void remove_dropped(struct publish *p)
{
	bool reached = false;

	vec_each (&p->tables, t)
		reached |= may_be_removed(t) && t->pages_len > 0;
	if (reached)
		wait_for_ticks(p);
	/* From the end, for removing one moves the last. */
	for (size_t i = p->tables.len; i-- > 0;) {
		struct table *t = &p->tables.data[i];

		if (may_be_removed(t))
			remove_table(p, t);
	}
}

/* Tells what the table is now. -ENOENT: the table is gone, as the object is. */
static int tell_table(struct publish *p, struct table *t)
{
	int err = tell_object(p, t, t->state);

	t->dropped = err == -ENOENT;
	t->untold = err < 0 && !t->dropped;
	if (t->dropped)
		remove_dropped(p);
	return err;
}

int publish_none(struct publish *p, const struct object_key *key, uint32_t id)
{
	struct table *t = table_of(p, key, id);
	struct table fleeting = { .object = { .key = *key, .id = id } };
	int err;

	if (!t)
		return tell_object(p, &fleeting, TABLE_NONE);
	err = withdraw(p, t);
	if (err < 0)
		return err;
	t->state = TABLE_NONE;
	return tell_table(p, t);
}

static void drop_one(struct publish *p, const struct publish_object *object)
{
	struct table *t = find_table(p, object->id);
	int err = forget_object(p, object);

	if (!t)
		return;
	t->dropped = true;
	t->untold = err < 0;
}

/* There is room now: BPF tells of their files again when it meets them. */
static void drop_refused(struct publish *p)
{
	vec_each (&p->tables, t)
		if (t->refused && !t->dropped)
			drop_one(p, &t->object);
}

void publish_drop(struct publish *p, const struct publish_object *objects, size_t len)
{
	bool room = false;

	for (size_t i = 0; i < len; i++) {
		struct table *t = find_table(p, objects[i].id);

		room |= t && t->pages_len > 0;
		drop_one(p, &objects[i]);
	}
	if (room)
		drop_refused(p);
	remove_dropped(p);
}

/* Another object may have the key by now, as its file was met again. */
static int tell_dropped(struct publish *p, struct table *t)
{
	struct object_value value;
	int err = p->maps.ops->object_get(p->maps.ctx, &t->object.key, &value);

	if (err == 0 && value.id == t->object.id)
		err = forget_object(p, &t->object);
	else if (err == -ENOENT)
		err = 0;
	t->untold = err < 0;
	return err;
}

void publish_settle(struct publish *p)
{
	bool gone = false;

	/* From the end: what is told may go, and then the last takes its place. */
	for (size_t i = p->tables.len; i-- > 0;) {
		struct table *t = &p->tables.data[i];

		if (t->untold && t->dropped)
			gone |= tell_dropped(p, t) == 0;
		else if (t->untold)
			tell_table(p, t);
	}
	if (gone)
		remove_dropped(p);
}

/* ---- publishing --------------------------------------------------------------------------------
 */

static size_t view_bytes(const struct unwind_rows_view *view)
{
	return (size_t)(view->data - (const uint8_t *)view->head) + view->head->data_bytes;
}

/* Of what a search can see: what it took to compile them may differ. */
static uint64_t view_hash(const struct unwind_rows_view *view)
{
	return hash_bytes(view->pages,
		(size_t)(view->data - (const uint8_t *)view->pages) + view->head->data_bytes);
}

static int keep_rows(struct table *t, const struct unwind_rows_view *view)
{
	size_t size = view_bytes(view);
	void *copy;

	if (t->kept)
		return 0;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, view->head, size);
	t->kept = copy;
	return unwind_rows_view(copy, size, &t->view);
}

static bool fits_whole(const struct publish *p, const struct unwind_rows_view *view)
{
	uint64_t bytes = view->head->data_bytes, all;
	struct row_pages_stats stats;

	row_pages_stats(p->pages, &stats);
	all = stats.slabs_bytes;
	return bytes <= all / WHOLE_PART && stats.bytes + bytes <= all - all / WHOLE_PART;
}

/* Page i of the view, which must be one of the rows that the table has its numbers for. */
static uint32_t page_of(const struct table *t, const struct unwind_rows_view *view, uint32_t i)
{
	return t->page_base + (view->pages[i].number - t->page_first);
}

static int load_page(struct publish *p, const struct table *t, const struct unwind_rows_view *view,
	uint32_t i, const uint16_t *ids)
{
	struct bytes data = unwind_rows_page_data(view, i);

	return row_pages_load(p->pages, page_of(t, view, i), &data, view->pages[i].rows_len, ids);
}

static int load_whole(struct publish *p, const struct table *t, const struct unwind_rows_view *view)
{
	_cleanup_(freep) uint16_t *ids =
		row_rules_share(&p->rules, view->rules, view->head->rules_len);
	int err = ids ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < view->head->pages_len && err == 0; i++)
		err = load_page(p, t, view, i, ids);
	return err;
}

/* What cannot be loaded now is loaded as it is asked for. */
static int load_or_keep(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	if (!t->kept && fits_whole(p, view) && load_whole(p, t, view) == 0)
		return 0;
	return keep_rows(t, view);
}

static uint32_t first_of(const struct unwind_rows_view *view)
{
	return view->head->pages_len > 0 ? view->pages[0].number : 0;
}

static uint32_t span_of(const struct unwind_rows_view *view)
{
	uint32_t len = view->head->pages_len;

	return len > 0 ? view->pages[len - 1].number - view->pages[0].number + 1 : 0;
}

/* Page numbers for the view's pages; those without functions are told as empty. */
static int place_table(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	uint32_t first = first_of(view), span = span_of(view), base = 0;
	int err = span > 0 ? row_pages_take(p->pages, span, &base) : 0;

	if (err < 0)
		return err;
	t->page_base = base;
	t->page_first = first;
	t->pages_len = span;
	for (uint32_t i = 0; i < view->head->pages_len; i++)
		row_pages_offer(p->pages, page_of(t, view, i));
	t->state = TABLE_READY;
	t->contents = view_hash(view);
	t->refused = false;
	p->ready++;
	return 0;
}

/* No tick can know of its pages: the table was not told. */
static int refuse(struct publish *p, struct table *t, int why)
{
	int err;

	release(p, t);
	p->tables_refused++;
	t->refused = true;
	t->state = TABLE_NONE;
	err = tell_table(p, t);
	return err < 0 ? err : why;
}

/* Has the table these very rows? Where its pages lie is compared, not taken from a hash. */
static bool is_same(const struct table *t, const struct unwind_rows_view *view)
{
	return t->state == TABLE_READY && t->page_first == first_of(view) &&
		t->pages_len == span_of(view) && t->contents == view_hash(view);
}

/* What was asked for and is not there may be asked for again. */
static void offer_asked(struct publish *p, const struct table *t)
{
	row_pages_offer_asked(p->pages, t->page_base, t->pages_len);
}

/* The same rows as before: only what is not loaded any more is missing. */
static int publish_again(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	int err = load_or_keep(p, t, view), told;

	offer_asked(p, t);
	/* BPF may have met the file under another id meanwhile. */
	told = tell_table(p, t);
	return err < 0 ? err : told;
}

int publish_rows(struct publish *p, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view)
{
	struct table *t = table_of(p, key, id);
	int err;

	if (!t) {
		p->tables_refused++;
		publish_none(p, key, id);
		return -ENOMEM;
	}
	if (is_same(t, view))
		return publish_again(p, t, view);
	err = withdraw(p, t);
	if (err < 0) {
		offer_asked(p, t);
		return err;
	}
	err = place_table(p, t, view);
	if (err == 0)
		err = load_or_keep(p, t, view);
	return err < 0 ? refuse(p, t, err) : tell_table(p, t);
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

/* Loads one of the table's pages from the rows that are kept. */
static int load_kept(struct publish *p, const struct table *t, uint32_t page)
{
	int64_t i = find_page(&t->view, page - t->page_base + t->page_first);
	_cleanup_(freep) uint16_t *ids = NULL;

	if (i < 0)
		return -EINVAL;
	ids = row_rules_share(&p->rules, t->view.rules, t->view.head->rules_len);
	if (ids)
		return load_page(p, t, &t->view, (uint32_t)i, ids);
	/* Let BPF ask again, at a later need. */
	row_pages_offer(p->pages, page);
	return -ENOMEM;
}

int publish_page(struct publish *p, uint32_t object, uint32_t page)
{
	struct table *t = find_table(p, object);

	if (!t || page < t->page_base || page - t->page_base >= t->pages_len)
		return -EINVAL;
	if (row_pages_is_loaded(p->pages, page)) {
		row_pages_offer(p->pages, page);
		return 0;
	}
	return t->kept ? load_kept(p, t, page) : -ENOENT;
}

/* ---- the search ---------------------------------------------------------------------------------
 */

uint32_t publish_find_page(struct publish *p, uint32_t object, uint64_t offset, struct bytes *data)
{
	struct table *t = find_table(p, object);
	uint64_t number = offset >> ROWS_PAGE_SHIFT;
	uint32_t page, len;

	*data = (struct bytes){ 0 };
	if (!t)
		return END_NO_TABLE;
	if (number < t->page_first || number - t->page_first >= t->pages_len)
		return END_NONE;
	page = t->page_base + (uint32_t)(number - t->page_first);
	if (row_pages_is_empty(p->pages, page))
		return END_NONE;
	if (!row_pages_is_loaded(p->pages, page) && publish_page(p, object, page) < 0)
		return END_NO_TABLE;
	data->data = row_pages_data(p->pages, page, &len);
	data->len = data->data ? len : 0;
	return data->data ? END_NONE : END_NO_TABLE;
}

uint32_t publish_table(const struct publish *p, uint32_t object)
{
	const struct table *t = find_table(p, object);

	return t ? t->state : TABLE_PENDING;
}

const struct unwind_rule *publish_rule(const struct publish *p, uint32_t id)
{
	return row_rules_get(&p->rules, id);
}

void publish_rest(struct publish *p)
{
	row_pages_rest(p->pages);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

int publish_new(const struct row_maps *maps, struct publish **out)
{
	struct publish *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->maps = *maps;
	err = row_pages_new(&p->maps, &p->pages);
	if (err == 0)
		err = row_rules_init(&p->rules, &p->maps);
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
	vec_each (&p->tables, t)
		free(t->kept);
	vec_done(&p->tables);
	hash_done(&p->by_object);
	row_rules_done(&p->rules);
	row_pages_free(p->pages);
	free(p);
}

void publish_stats(const struct publish *p, struct publish_stats *out)
{
	struct row_pages_stats pages;

	row_pages_stats(p->pages, &pages);
	*out = (struct publish_stats){
		.tables = p->ready,
		.rows = pages.rows,
		.bytes = pages.bytes,
		.slabs_bytes = pages.slabs_bytes,
		.pages_loaded = pages.loaded,
		.pages_evicted = pages.evicted,
		.pages_refused = pages.refused,
		.tables_refused = p->tables_refused,
		.rules = p->rules.list.len,
		.rules_refused = p->rules.refused,
	};
	vec_each (&p->tables, t)
		out->untold += t->untold;
}
