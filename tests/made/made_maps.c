/* SPDX-License-Identifier: Apache-2.0 */
/* made_maps.c - what is stored to the pages is seen when the next call comes: first what went, then
 * what came, so that what went and came without a grace period in between is caught. */
#include "made_maps.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool fails(struct made_maps *m)
{
	bool fails = m->failing & 1;

	m->failing >>= 1;
	return fails;
}

static void broke(struct made_maps *m, const char *what)
{
	m->broken = true;
	m->what = what;
}

static bool overlaps(const struct made_lingering *all, size_t len, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < len; i++)
		if (start < all[i].end && all[i].start < end)
			return true;
	return false;
}

static void linger(struct made_lingering *all, size_t *len, uint64_t start, uint64_t end)
{
	assert(*len < MADE_LINGERING_MAX);
	if (start < end)
		all[(*len)++] = (struct made_lingering){ start, end };
}

static uint64_t end(const struct made_maps *m, uint32_t place)
{
	uint64_t start = (uint64_t)place << ROWS_PLACE_SHIFT;
	uint16_t rows = 0;

	if (start + ROWS_INDEX_BYTES <= sizeof(m->slabs))
		memcpy(&rows, m->slabs + start + 2 * ROWS_CHUNKS, sizeof(rows));
	return start + ROWS_INDEX_BYTES + 3U * rows;
}

/* Can a tick that runs now come to the page, by what an object has or had? */
static bool reachable(const struct made_maps *m, uint32_t page)
{
	for (size_t i = 0; i < m->len; i++) {
		const struct object_value *v = &m->objects[i].value;

		if (v->table == TABLE_READY && page - v->page_base < v->pages_len)
			return true;
	}
	return overlaps(m->numbers, m->numbers_len, page, page + 1);
}

#define LOOK_PAGES 64 /* at a time: most have not changed */

static bool is_same(const struct made_maps *m, uint32_t page)
{
	return memcmp(&m->seen[page], &m->pages[page], LOOK_PAGES * sizeof(m->pages[0])) == 0;
}

static void look_at_gone(struct made_maps *m, uint32_t page)
{
	uint32_t was = m->seen[page].place;

	if (was != m->pages[page].place && was > ROWS_PAGE_EMPTY && reachable(m, page))
		linger(m->bytes, &m->bytes_len, (uint64_t)was << ROWS_PLACE_SHIFT, end(m, was));
}

static void look_at_new(struct made_maps *m, uint32_t page)
{
	uint32_t is = m->pages[page].place;

	if (is != m->seen[page].place && is > ROWS_PAGE_EMPTY &&
		overlaps(m->bytes, m->bytes_len, (uint64_t)is << ROWS_PLACE_SHIFT, end(m, is)))
		broke(m, "bytes were given away while a tick could search them");
	m->seen[page] = m->pages[page];
}

/* Looks at what was stored to the pages since the last time: first what went, then what came. */
static void look(struct made_maps *m)
{
	bool same[MADE_PAGES / LOOK_PAGES];

	for (uint32_t i = 0; i < MADE_PAGES / LOOK_PAGES; i++) {
		same[i] = is_same(m, i * LOOK_PAGES);
		for (uint32_t page = 0; page < LOOK_PAGES && !same[i]; page++)
			look_at_gone(m, i * LOOK_PAGES + page);
	}
	for (uint32_t i = 0; i < MADE_PAGES / LOOK_PAGES; i++)
		for (uint32_t page = 0; page < LOOK_PAGES && !same[i]; page++)
			look_at_new(m, i * LOOK_PAGES + page);
}

struct maps_object *made_find(struct made_maps *m, const struct object_key *key)
{
	for (size_t i = 0; i < m->len; i++)
		if (memcmp(&m->objects[i].key, key, sizeof(*key)) == 0)
			return &m->objects[i];
	return NULL;
}

static void leave(struct made_maps *m, const struct object_value *v)
{
	if (v->table == TABLE_READY)
		linger(m->numbers, &m->numbers_len, v->page_base, v->page_base + v->pages_len);
}

static int object_get(void *ctx, const struct object_key *key, struct object_value *out)
{
	struct made_maps *m = ctx;
	struct maps_object *object = made_find(m, key);

	if (!object)
		return -ENOENT;
	*out = object->value;
	return 0;
}

static int object_put(
	void *ctx, const struct object_key *key, const struct object_value *value, bool add)
{
	struct made_maps *m = ctx;
	struct maps_object *object = made_find(m, key);

	look(m);
	if (fails(m))
		return -EBUSY;
	if (!object && !add)
		return -ENOENT;
	if (!object) {
		assert(m->len < MADE_OBJECTS_MAX);
		object = &m->objects[m->len++];
		object->key = *key;
	} else {
		leave(m, &object->value);
	}
	if (value->table == TABLE_READY && (object->value.page_base != value->page_base) &&
		overlaps(m->numbers, m->numbers_len, value->page_base,
			value->page_base + value->pages_len))
		broke(m, "page numbers were given away while a tick could search them");
	object->value = *value;
	return 0;
}

static int object_del(void *ctx, const struct object_key *key)
{
	struct made_maps *m = ctx;
	struct maps_object *object = made_find(m, key);

	look(m);
	if (fails(m))
		return -EBUSY;
	if (!object)
		return -ENOENT;
	leave(m, &object->value);
	*object = m->objects[--m->len];
	return 0;
}

/* Do the bytes of a page refer to this rule? */
static bool has_rule(const struct made_maps *m, uint64_t start, uint32_t id)
{
	uint16_t rows, rule;

	memcpy(&rows, m->slabs + start + 2 * ROWS_CHUNKS, sizeof(rows));
	for (uint32_t i = 0; i < rows; i++) {
		memcpy(&rule, m->slabs + start + ROWS_INDEX_BYTES + 2 * i, sizeof(rule));
		if (rule == id)
			return true;
	}
	return false;
}

/* May a tick that runs now look for this rule? */
static bool is_in_use(struct made_maps *m, uint32_t id)
{
	look(m);
	for (size_t i = 0; i < m->bytes_len; i++)
		if (has_rule(m, m->bytes[i].start, id))
			return true;
	for (uint32_t page = 0; page < MADE_PAGES; page++)
		if (m->pages[page].place > ROWS_PAGE_EMPTY &&
			has_rule(m, (uint64_t)m->pages[page].place << ROWS_PLACE_SHIFT, id))
			return true;
	return false;
}

static int rule_put(void *ctx, uint32_t id, const struct unwind_rule *rule)
{
	struct made_maps *m = ctx;

	assert(id < m->maps.rules_len);
	if (fails(m))
		return -EBUSY;
	if (id < m->rules_len && is_in_use(m, id))
		broke(m, "a rule was given away while a tick could look for it");
	if (id >= m->rules_len)
		m->rules_len = id + 1;
	m->rules[id] = *rule;
	return 0;
}

static int language_put(void *ctx, uint32_t index, const struct language *language)
{
	struct made_maps *m = ctx;

	assert(index > 0 && index < LANGUAGES_MAX);
	if (fails(m))
		return -EBUSY;
	for (size_t i = 0; i < m->len; i++)
		if (m->objects[i].value.language == index &&
			m->objects[i].value.id != language->object)
			broke(m, "a language was given away while a tick could find it");
	m->languages[index] = *language;
	return 0;
}

static uint8_t *bytes_map(void *ctx, uint64_t at, uint64_t len)
{
	struct made_maps *m = ctx;

	assert(at % ROWS_WINDOW_BYTES == 0 && len % ROWS_WINDOW_BYTES == 0 && len > 0);
	assert(at + len <= sizeof(m->slabs));
	assert(at >> ROWS_SLAB_SHIFT == (at + len - 1) >> ROWS_SLAB_SHIFT);
	if (fails(m))
		return NULL;
	m->mapped += len;
	m->mappings++;
	return m->slabs + at;
}

static void bytes_unmap(void *ctx, uint8_t *bytes, uint64_t len)
{
	struct made_maps *m = ctx;

	assert(bytes >= m->slabs && bytes + len <= m->slabs + sizeof(m->slabs));
	assert(len <= m->mapped);
	m->mapped -= len;
}

static void grace(void *ctx)
{
	struct made_maps *m = ctx;

	look(m);
	m->bytes_len = m->numbers_len = 0;
}

struct made_maps *made_maps_new(void)
{
	static const struct row_maps_ops ops = {
		.object_get = object_get,
		.object_put = object_put,
		.object_del = object_del,
		.rule_put = rule_put,
		.language_put = language_put,
		.bytes_map = bytes_map,
		.bytes_unmap = bytes_unmap,
		.wait_for_ticks = grace,
	};
	struct made_maps *m = calloc(1, sizeof(*m));

	assert(m);
	m->second = 1;
	m->maps = (struct row_maps){
		.ops = &ops,
		.ctx = m,
		.pages = m->pages,
		.pages_len = MADE_PAGES,
		.slabs_len = MADE_SLABS,
		.rules_len = ROWS_RULES_MAX,
		.kept_max = MADE_KEPT_BYTES,
		.objects_len = &m->objects_len,
		.epoch = &m->epoch,
		.rules_epoch = &m->rules_epoch,
		.second = &m->second,
	};
	return m;
}

struct object_value *made_meet(struct made_maps *m, const struct object_key *key, uint32_t id)
{
	struct maps_object *object = made_find(m, key);

	if (!object && m->len < MADE_OBJECTS_MAX) {
		object = &m->objects[m->len++];
		*object = (struct maps_object){ .key = *key, .value = { .id = id } };
		m->objects_len++;
	}
	if (!object)
		return NULL;
	object->value.used = m->second;
	return &object->value;
}

bool made_ask(struct made_maps *m, uint32_t page)
{
	if (m->pages[page].place != ROWS_PAGE_ABSENT) {
		m->pages[page].used = m->second;
		return false;
	}
	m->pages[page].place = m->seen[page].place = ROWS_PAGE_ASKED;
	return true;
}

bool made_is_consistent(struct made_maps *m, bool between, bool shallow,
	void (*complain)(void *ctx, const char *text), void *ctx)
{
	struct maps_seen seen = {
		.objects = m->objects,
		.objects_len = m->len,
		.pages = m->pages,
		.pages_len = MADE_PAGES,
		.slabs = m->slabs,
		.slabs_bytes = sizeof(m->slabs),
		.rules_len = m->rules_len,
		.between = between,
		.shallow = shallow,
		.complain = complain,
		.ctx = ctx,
	};

	look(m);
	if (m->broken && complain)
		complain(ctx, m->what);
	return maps_check(&seen) && !m->broken;
}
