/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.c - one table for each object, in one of three states: PENDING and NONE have
 * nothing in the maps, READY has a run of page numbers. A new table gets its pages first and its
 * entry in the map of objects last. To withdraw a table, its entry is updated or deleted, running
 * ticks are waited for, then its pages are freed. A failed update changes nothing and
 * publish_settle() repeats it: so nothing is freed that a tick may still search. */
#include "unwind/publish.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/reasons.h"
#include "unwind/publish_table.h"

/* A table up to this part of the slabs is loaded whole, as long as no more than 3/4 are used. */
#define WHOLE_PART 4
/* An object is in use for so long after a visit found threads that wait in it. */
#define WAITED_INTERVALS 2
/* Stacks of so long ago may still be those of threads that are seldom visited. */
#define WAITED_LONG 8

/* ---- entries in the map of objects ------------------------------------------------------------
 */

/* The second of the latest tick that met it. */
static uint32_t tick_of(const struct publish *p, const struct object_key *key)
{
	struct object_value value;

	return p->maps.ops->object_get(p->maps.ctx, key, &value) < 0 ? 0 : value.used;
}

/* Did threads wait in it in one of the latest intervals, for which files were charged? */
static bool was_waited_in(const struct publish *p, const struct table *t, uint64_t intervals)
{
	return t && t->waited > 0 && p->charges - t->waited < intervals;
}

uint32_t publish_used(const struct publish *p, const struct object_key *key)
{
	struct object_value value;

	if (p->maps.ops->object_get(p->maps.ctx, key, &value) < 0)
		return 0;
	if (was_waited_in(p, publish_find_table(p, value.id), WAITED_INTERVALS))
		return *p->maps.second;
	return value.used;
}

/* Makes the rules that BPF has in its slots old. */
static void raise_epoch(struct publish *p)
{
	__atomic_fetch_add(p->maps.epoch, 1, __ATOMIC_SEQ_CST);
}

/* The entry shows the table's pages only where state is READY. -ENOENT: the object is not in the
 * map, so no tick can reach its table. */
static int update_entry(struct publish *p, const struct table *t, uint32_t state)
{
	bool ready = state == TABLE_READY;
	struct object_value value = {
		.id = t->object.id,
		.table = (uint16_t)state,
		.language = ready ? (uint16_t)t->language : 0,
		.page_base = ready ? t->page_base : 0,
		.page_first = ready ? t->page_first : 0,
		.pages_len = ready ? t->pages_len : 0,
		.used = tick_of(p, &t->object.key),
	};
	/* BPF itself adds every object but this one, and counts them. */
	bool add = t->object.id == OBJECT_VDSO;
	int err = p->maps.ops->object_put(p->maps.ctx, &t->object.key, &value, add);

	raise_epoch(p);
	return err;
}

static int delete_entry(struct publish *p, const struct publish_object *object)
{
	int err = p->maps.ops->object_del(p->maps.ctx, &object->key);

	if (err == 0 && object->id != OBJECT_VDSO)
		__atomic_fetch_sub(p->maps.objects_len, 1, __ATOMIC_SEQ_CST);
	raise_epoch(p);
	return err == -ENOENT ? 0 : err;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

struct table *publish_find_table(const struct publish *p, uint32_t id)
{
	uint64_t *at = hash_find(&p->by_object, id);

	return at ? &p->tables.data[*at] : NULL;
}

/* The object's table, PENDING if there was none yet. NULL: no memory. */
struct table *publish_table_of(struct publish *p, const struct object_key *key, uint32_t id)
{
	struct table *t = publish_find_table(p, id);

	if (t)
		return t;
	if (vec_reserve(&p->tables, p->tables.len + 1) < 0 ||
		hash_put(&p->by_object, id, p->tables.len) < 0)
		return NULL;
	t = vec_add(&p->tables);
	t->object = (struct publish_object){ .key = *key, .id = id };
	return t;
}

/* By now the entry of this key may be another table's, as its file was met again. */
static int delete_entry_of(struct publish *p, const struct table *t)
{
	struct object_value value;
	int err = p->maps.ops->object_get(p->maps.ctx, &t->object.key, &value);
	const struct table *owner;

	if (err < 0)
		return err == -ENOENT ? 0 : err;
	owner = publish_find_table(p, value.id);
	if (owner && owner != t && owner->goal != GOAL_GONE)
		return 0;
	return delete_entry(p, &t->object);
}

static void wait_for_ticks(struct publish *p)
{
	p->maps.ops->wait_for_ticks(p->maps.ctx);
}

void publish_drop_kept(struct publish *p, struct table *t)
{
	if (t->kept)
		row_rules_release(&p->rules, t->ids, t->view.head->rules_len);
	p->kept_bytes -= t->kept_bytes;
	t->kept_bytes = 0;
	free(t->kept);
	free(t->ids);
	t->kept = NULL;
	t->ids = NULL;
}

/* Frees what a READY table has. No tick can be in it any more. */
static void release(struct publish *p, struct table *t)
{
	if (t->state != TABLE_READY)
		return;
	__atomic_fetch_add(p->maps.rules_epoch, 1, __ATOMIC_SEQ_CST);
	if (t->pages_len > 0)
		row_pages_give(p->pages, t->page_base, t->pages_len);
	publish_drop_kept(p, t);
	t->paged = false;
	t->pages_len = 0;
	t->state = TABLE_PENDING;
	p->ready--;
}

/* Takes a table back that BPF may be searching. Negative: the map could not be updated, it stays.
 */
static int withdraw(struct publish *p, struct table *t)
{
	int err;

	if (t->state != TABLE_READY)
		return 0;
	err = update_entry(p, t, TABLE_PENDING);
	if (err < 0 && err != -ENOENT)
		return err;
	wait_for_ticks(p);
	release(p, t);
	return 0;
}

/* The last one takes its place: other pointers to tables are old then. */
static void remove_table(struct publish *p, struct table *t)
{
	struct table *last = &p->tables.data[p->tables.len - 1];

	release(p, t);
	publish_give_language(p, t);
	hash_del(&p->by_object, t->object.id);
	if (t != last) {
		*t = *last;
		*hash_find(&p->by_object, t->object.id) = (uint64_t)(t - p->tables.data);
	}
	p->tables.len--;
}

static bool is_gone(const struct table *t)
{
	return t->goal == GOAL_GONE && !t->unsettled;
}

/* Frees tables whose entries are deleted, after waiting for ticks once for all. */
static void remove_gone(struct publish *p)
{
	bool reached = false;

	vec_each (&p->tables, t)
		reached |= is_gone(t) && (t->pages_len > 0 || t->language > 0);
	if (reached)
		wait_for_ticks(p);
	/* From the end, as removing one moves the last. */
	for (size_t i = p->tables.len; i-- > 0;)
		if (is_gone(&p->tables.data[i]))
			remove_table(p, &p->tables.data[i]);
}

/* Pages that were asked for and did not come may be asked for again. */
static void offer_asked(struct publish *p, const struct table *t)
{
	row_pages_offer_asked(p->pages, t->page_base, t->pages_len);
}

/* Makes the map say what it is to say. After -ENOENT the table is gone, as the object is. */
static int settle(struct publish *p, struct table *t)
{
	int err = 0;

	if (t->goal == GOAL_NONE) {
		err = withdraw(p, t);
		if (err == 0) {
			t->state = TABLE_NONE;
			t->goal = GOAL_STATE;
		}
	}
	if (err == 0)
		err = t->goal == GOAL_GONE ? delete_entry_of(p, t) : update_entry(p, t, t->state);
	if (err == -ENOENT)
		t->goal = GOAL_GONE;
	t->unsettled = err < 0 && err != -ENOENT;
	if (t->unsettled)
		offer_asked(p, t);
	if (is_gone(t))
		remove_gone(p);
	return err;
}

int publish_take_back(struct publish *p, struct table *t)
{
	uint32_t len = t->pages_len;
	int err = withdraw(p, t);

	if (err < 0)
		return err;
	p->tables_evicted++;
	t->refused_len = len;
	t->state = TABLE_NONE;
	settle(p, t);
	return 0;
}

/* There is room for it now: BPF forgets its file, and asks for its table when it meets it again. */
static bool may_come_back(const struct publish *p, const struct table *t)
{
	return t->refused_len > 0 && t->goal == GOAL_STATE && !t->unsettled &&
		row_pages_has_room(p->pages, t->refused_len);
}

bool publish_settle(struct publish *p)
{
	bool again = false;

	/* From the end, as removing one moves the last. */
	for (size_t i = p->tables.len; i-- > 0;) {
		struct table *t = &p->tables.data[i];

		if (may_come_back(p, t)) {
			t->goal = GOAL_GONE;
			t->unsettled = true;
		}
		if (t->unsettled)
			settle(p, t);
		/* Others may have gone with it. */
		if (i > p->tables.len)
			i = p->tables.len;
	}
	vec_each (&p->tables, t)
		again = again || t->unsettled;
	return again;
}

int publish_none(struct publish *p, const struct object_key *key, uint32_t id)
{
	struct table *t = publish_table_of(p, key, id);
	struct table fleeting = { .object = { .key = *key, .id = id } };

	if (!t)
		return update_entry(p, &fleeting, TABLE_NONE);
	t->goal = GOAL_NONE;
	t->refused_len = 0;
	return settle(p, t);
}

void publish_drop(struct publish *p, const struct publish_object *objects, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int err = delete_entry(p, &objects[i]);
		struct table *t = err < 0 ? publish_table_of(p, &objects[i].key, objects[i].id)
					  : publish_find_table(p, objects[i].id);

		/* Nobody can try again without memory to remember it. */
		p->tables_refused += !t && err < 0;
		if (!t)
			continue;
		p->waited_gone += was_waited_in(p, t, WAITED_LONG);
		t->goal = GOAL_GONE;
		t->unsettled = err < 0;
	}
	remove_gone(p);
}

uint64_t publish_waited_gone(const struct publish *p)
{
	return p->waited_gone;
}

/* ---- publishing --------------------------------------------------------------------------------
 */

static size_t view_bytes(const struct unwind_rows_view *view)
{
	return (size_t)(view->data - (const uint8_t *)view->head) + view->head->data_bytes;
}

/* A hash of what a search can see; the cost of compiling may differ between equal rows. */
static uint64_t view_hash(const struct unwind_rows_view *view)
{
	return hash_bytes(view->pages,
		(size_t)(view->data - (const uint8_t *)view->pages) + view->head->data_bytes);
}

/* Copies the rows, to load pages from later. */
static int keep_rows(
	struct publish *p, struct table *t, const struct unwind_rows_view *view, uint16_t **ids)
{
	size_t size = view_bytes(view);
	int err = publish_make_room_to_keep(p, t, size);
	void *copy;

	if (err < 0)
		return err;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, view->head, size);
	t->kept = copy;
	t->kept_bytes = size;
	p->kept_bytes += size;
	t->ids = TAKE_PTR(*ids);
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

static int load_whole(struct publish *p, const struct table *t, const struct unwind_rows_view *view,
	const uint16_t *ids)
{
	int err = 0;

	for (uint32_t i = 0; i < view->head->pages_len && err == 0; i++)
		err = publish_load_page(p, t, view, i, ids);
	return err;
}

/* Pages that cannot be loaded now are loaded when they are asked for. */
static int load_or_keep(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	uint16_t *ids;
	int err = 0;

	if (t->kept || t->paged)
		return 0;
	publish_make_room_for_rules(p, t, view->rules, view->head->rules_len);
	ids = row_rules_share(&p->rules, view->rules, view->head->rules_len);
	if (!ids)
		return -ENOMEM;
	if (!fits_whole(p, view) || load_whole(p, t, view, ids) < 0)
		err = keep_rows(p, t, view, &ids);
	if (ids)
		row_rules_release(&p->rules, ids, view->head->rules_len);
	free(ids);
	return err;
}

/* Page numbers for the view's pages; those without functions are marked empty. */
static int place_table(struct publish *p, struct table *t, const struct unwind_rows_view *view)
{
	uint32_t first = unwind_rows_first(view), span = unwind_rows_span(view), base = 0;
	int err = span > 0 ? row_pages_take(p->pages, span, &base) : 0;

	if (err < 0)
		return err;
	t->page_base = base;
	t->page_first = first;
	t->pages_len = span;
	for (uint32_t i = 0; i < view->head->pages_len; i++)
		row_pages_offer(p->pages, base + (view->pages[i].number - first));
	t->paged = view->head->kind == UNWIND_ROWS_OUTLINE;
	for (uint32_t i = 0; t->paged && i < span; i++)
		row_pages_offer(p->pages, base + i);
	t->state = TABLE_READY;
	t->contents = view_hash(view);
	p->ready++;
	return 0;
}

/* The table was never in the map, so its pages can go at once. It is met again when there is room
 * for so many page numbers; 0: only as another file. */
static int refuse_table(struct publish *p, struct table *t, uint32_t again_len, int why)
{
	int err;

	release(p, t);
	p->tables_refused++;
	t->refused_len = again_len;
	t->state = TABLE_NONE;
	err = settle(p, t);
	return err < 0 ? err : why;
}

/* Has the table these very rows? Where its pages lie is compared, not taken from a hash. */
static bool is_same(const struct table *t, const struct unwind_rows_view *view)
{
	return t->state == TABLE_READY && t->paged == (view->head->kind == UNWIND_ROWS_OUTLINE) &&
		t->page_first == unwind_rows_first(view) &&
		t->pages_len == unwind_rows_span(view) && t->contents == view_hash(view);
}

/* The same rows as before: only what was evicted is missing. */
static int publish_again(
	struct publish *p, struct table *t, uint32_t id, const struct unwind_rows_view *view)
{
	int err = load_or_keep(p, t, view), settled;

	/* Without a copy each page would be asked for again and again. */
	if (err == -ENOSPC && publish_take_back(p, t) == 0) {
		t = publish_find_table(p, id);
		if (t)
			t->refused_len = 0;
		return err;
	}
	offer_asked(p, t);
	/* BPF may have met the file under another id meanwhile. */
	settled = settle(p, t);
	return settled < 0 ? settled : err;
}

int publish_rows(struct publish *p, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view)
{
	uint32_t span = unwind_rows_span(view), again_len = span > 0 ? span : 1;
	struct table *t;
	int err;

	if (view->head->kind == UNWIND_ROWS_PAGES)
		return publish_pages(p, id, view);
	t = publish_table_of(p, key, id);
	if (!t) {
		p->tables_refused++;
		publish_none(p, key, id);
		return -ENOMEM;
	}
	t->goal = GOAL_STATE;
	t->refused_len = 0;
	if (is_same(t, view))
		return publish_again(p, t, id, view);
	err = withdraw(p, t);
	if (err < 0) {
		/* The file starts over: these rows are lost, and those before are of another file.
		 */
		t->goal = GOAL_GONE;
		t->unsettled = true;
		return err;
	}
	err = publish_make_room(p, id, span);
	t = publish_find_table(p, id);
	assert(t);
	if (err == 0)
		err = place_table(p, t, view);
	if (err == 0) {
		err = load_or_keep(p, t, view);
		again_len = err == -ENOSPC ? 0 : again_len;
	}
	return err < 0 ? refuse_table(p, t, again_len, err) : settle(p, t);
}

uint32_t publish_table(const struct publish *p, uint32_t object)
{
	const struct table *t = publish_find_table(p, object);

	return t ? t->state : TABLE_PENDING;
}

const struct unwind_rule *publish_rule(const struct publish *p, uint32_t id)
{
	return row_rules_get(&p->rules, id);
}

void publish_unmap(struct publish *p)
{
	row_pages_unmap(p->pages);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

int publish_new(const struct row_maps *maps, struct publish **out)
{
	struct publish *p = calloc(1, sizeof(*p));
	const struct row_pages_order order = { publish_rank_pages, p };
	int err;

	if (!p)
		return -ENOMEM;
	p->maps = *maps;
	err = row_rules_init(&p->rules, &p->maps);
	if (err == 0)
		err = row_pages_new(&p->maps, &p->rules, &order, &p->pages);
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
	vec_each (&p->tables, t) {
		free(t->kept);
		free(t->ids);
	}
	vec_done(&p->tables);
	hash_done(&p->by_object);
	share_done(&p->languages_held);
	row_rules_done(&p->rules);
	row_pages_free(p->pages);
	free(p);
}

void publish_stats(const struct publish *p, struct publish_stats *out)
{
	struct row_pages_stats pages;

	row_pages_stats(p->pages, &pages);
	*out = (struct publish_stats){
		.tables = p->ready - (publish_table(p, OBJECT_VDSO) == TABLE_READY),
		.rows = pages.rows,
		.bytes = pages.bytes,
		.slabs_bytes = pages.slabs_bytes,
		.pages_loaded = pages.loaded,
		.pages_evicted = pages.evicted,
		.pages_refused = pages.refused,
		.tables_refused = p->tables_refused,
		.tables_evicted = p->tables_evicted,
		.rules = p->rules.held,
		.kept_bytes = p->kept_bytes,
		.rules_refused = p->rules.refused,
		.languages_refused = p->languages_refused,
	};
	vec_each (&p->tables, t)
		out->unsettled += t->unsettled;
}
