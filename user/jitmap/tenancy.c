/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/tenancy.c - segment trees, laid out bottom-up in arrays, in levels of which each is at
 * most half as large as the one before. A tenant is listed at the O(log n) nodes that make up its
 * stretch. The nodes above an address list all its tenants, in order of time, so one binary search
 * a node finds the last before a moment. Levels that do not halve are merged and rebuilt, so each
 * tenant is built O(log n) times. Invariant: levels hold consecutive runs of ids, together [0,
 * built). No input is quadratic. */
#include "jitmap/tenancy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"

struct arrival {
	uint64_t since_ns;
	uint32_t id;
};

static void level_done(struct tenancy_level *level)
{
	free(level->edges);
	free(level->heads);
	free(level->places);
	*level = (struct tenancy_level){ 0 };
}

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->since_ns != y->since_ns)
		return x->since_ns < y->since_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The index of the last edge that is not above addr; edges[0] <= addr. */
static uint32_t edge_at(const struct tenancy_level *level, uint64_t addr)
{
	uint32_t low = 0, high = level->stretches + 1;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (level->edges[middle] <= addr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int make_edges(struct tenancy_level *level, const struct tenant *tenants)
{
	size_t n = 2UL * level->len, kept = 0;
	uint64_t *edges = reallocarray(NULL, n, sizeof(*edges));

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < level->len; i++) {
		edges[2 * i] = tenants[i].start;
		edges[2 * i + 1] = tenants[i].start + tenants[i].size;
	}
	qsort(edges, n, sizeof(*edges), by_value);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || edges[kept - 1] != edges[i])
			edges[kept++] = edges[i];
	level->edges = edges;
	level->stretches = (uint32_t)kept - 1;
	return 0;
}

/* Puts one tenant at its nodes, or, where places is NULL, counts it there. */
static void place(const struct tenancy_level *level, const struct tenant *t, uint32_t id,
	uint32_t *at, uint32_t *places)
{
	uint32_t left = edge_at(level, t->start) + level->stretches;
	uint32_t right = edge_at(level, t->start + t->size) + level->stretches;

	for (; left < right; left >>= 1, right >>= 1) {
		uint32_t nodes[2] = { left, right - 1 };
		bool takes[2] = { left & 1, right & 1 };

		for (int i = 0; i < 2; i++) {
			if (takes[i] && places)
				places[at[nodes[i]]] = id;
			at[nodes[i]] += takes[i];
		}
		left += left & 1;
	}
}

static int fill(
	struct tenancy_level *level, const struct tenant *tenants, const struct arrival *arrivals)
{
	uint32_t nodes = 2 * level->stretches, sum = 0;
	_cleanup_(freep) uint32_t *at = calloc(nodes + 1UL, sizeof(*at));

	level->heads = calloc(nodes + 1UL, sizeof(*level->heads));
	if (!at || !level->heads)
		return -ENOMEM;
	for (uint32_t i = 0; i < level->len; i++)
		place(level, &tenants[i], 0, at, NULL);
	for (uint32_t i = 0; i <= nodes; i++) {
		uint32_t count = at[i];

		level->heads[i] = at[i] = sum;
		sum += count;
	}
	level->places = reallocarray(NULL, sum, sizeof(*level->places));
	if (!level->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < level->len; i++) {
		uint32_t id = arrivals[i].id;

		place(level, &tenants[id - level->first], id, at, level->places);
	}
	return 0;
}

static int level_build(
	const struct tenancy *tenancy, uint32_t first, uint32_t len, struct tenancy_level *out)
{
	_cleanup_(level_done) struct tenancy_level level = { .first = first, .len = len };
	const struct tenant *tenants = tenancy->tenants.data + first;
	_cleanup_(freep) struct arrival *arrivals = reallocarray(NULL, len, sizeof(*arrivals));
	int err;

	if (!arrivals)
		return -ENOMEM;
	for (uint32_t i = 0; i < len; i++)
		arrivals[i] = (struct arrival){ tenants[i].since_ns, first + i };
	qsort(arrivals, len, sizeof(*arrivals), by_time);
	err = make_edges(&level, tenants);
	if (err == 0)
		err = fill(&level, tenants, arrivals);
	if (err < 0)
		return err;
	*out = level;
	level = (struct tenancy_level){ 0 };
	return 0;
}

/* Makes a level of what was added since, together with the levels before it that are not at least
 * twice as long. in_one: with all levels. */
static int build(struct tenancy *tenancy, bool in_one)
{
	uint32_t end = (uint32_t)tenancy->tenants.len, first = tenancy->built;
	uint32_t n = tenancy->levels_len;
	struct tenancy_level level;
	int err;

	if (first == end && !(in_one && n > 1))
		return 0;
	while (n > 0 && (in_one || tenancy->levels[n - 1].len < 2 * (end - first)))
		first = tenancy->levels[--n].first;
	err = level_build(tenancy, first, end - first, &level);
	if (err < 0)
		return err;
	for (uint32_t i = n; i < tenancy->levels_len; i++)
		level_done(&tenancy->levels[i]);
	tenancy->levels[n] = level;
	tenancy->levels_len = n + 1;
	tenancy->built = end;
	return 0;
}

void tenancy_done(struct tenancy *tenancy)
{
	for (uint32_t i = 0; i < tenancy->levels_len; i++)
		level_done(&tenancy->levels[i]);
	vec_done(&tenancy->tenants);
	*tenancy = (struct tenancy){ 0 };
}

int tenancy_add(struct tenancy *tenancy, uint64_t start, uint32_t size, uint64_t since_ns)
{
	struct tenant *added = vec_add(&tenancy->tenants);

	if (!added)
		return -ENOMEM;
	*added = (struct tenant){ .start = start, .since_ns = since_ns, .size = size };
	return 0;
}

struct search {
	const struct tenant *tenants;
	uint64_t at_ns;
	bool is_held;
	bool is_early;
	struct arrival held;  /* the last that came by then */
	struct arrival early; /* the first that came after */
};

static void search_node(struct search *s, const uint32_t *ids, uint32_t len)
{
	uint32_t low = 0, high = len;
	struct arrival found;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->tenants[ids[middle]].since_ns <= s->at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0) {
		found = (struct arrival){ s->tenants[ids[low - 1]].since_ns, ids[low - 1] };
		if (!s->is_held || by_time(&found, &s->held) > 0)
			s->held = found;
		s->is_held = true;
	}
	if (low < len) {
		found = (struct arrival){ s->tenants[ids[low]].since_ns, ids[low] };
		if (!s->is_early || by_time(&found, &s->early) < 0)
			s->early = found;
		s->is_early = true;
	}
}

static void search_level(struct search *s, const struct tenancy_level *level, uint64_t addr)
{
	uint32_t node;

	if (addr < level->edges[0] || addr >= level->edges[level->stretches])
		return;
	for (node = edge_at(level, addr) + level->stretches; node > 0; node >>= 1)
		search_node(s, level->places + level->heads[node],
			level->heads[node + 1] - level->heads[node]);
}

bool tenancy_find(
	struct tenancy *tenancy, uint64_t addr, uint64_t at_ns, struct tenancy_answer *out)
{
	struct search s = { .at_ns = at_ns };

	if (build(tenancy, false) < 0)
		return false;
	s.tenants = tenancy->tenants.data;
	for (uint32_t i = 0; i < tenancy->levels_len; i++)
		search_level(&s, &tenancy->levels[i], addr);
	if (!s.is_held && !s.is_early)
		return false;
	out->early = !s.is_held;
	out->id = s.is_held ? s.held.id : s.early.id;
	return true;
}

int tenancy_mark_last(struct tenancy *tenancy, bool *holds)
{
	int err = build(tenancy, true);

	if (err < 0 || tenancy->levels_len == 0)
		return err;
	for (uint32_t i = 0; i < tenancy->levels[0].stretches; i++) {
		struct search s = { .tenants = tenancy->tenants.data, .at_ns = UINT64_MAX };

		search_level(&s, &tenancy->levels[0], tenancy->levels[0].edges[i]);
		if (s.is_held)
			holds[s.held.id] = true;
	}
	return 0;
}

size_t tenancy_memory(const struct tenancy *tenancy)
{
	size_t sum = tenancy->tenants.cap * sizeof(struct tenant);

	for (uint32_t i = 0; i < tenancy->levels_len; i++) {
		const struct tenancy_level *level = &tenancy->levels[i];
		size_t nodes = 2UL * level->stretches;

		sum += (level->stretches + 1UL) * sizeof(uint64_t);
		sum += (nodes + 1 + level->heads[nodes]) * sizeof(uint32_t);
	}
	return sum;
}
