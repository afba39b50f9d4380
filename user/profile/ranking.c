/* SPDX-License-Identifier: Apache-2.0 */
/* profile/ranking.c - stores the interval's stacks with interned names. Each view is one pass over
 * them, so the user can change the view without a new interval. */
#include "profile/ranking.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/strtab.h"
#include "profile/profile.h"

#define LABELS 3 /* container, pid, comm */
#define GUESSED_PART ";" PROFILE_GUESSED ";"

struct entry {
	uint32_t container, pid, comm; /* texts */
	uint32_t first, len;           /* in frames, root first */
	uint64_t count;
};

struct ranking {
	struct strtab texts;
	VEC(uint32_t) frames;
	VEC(struct entry) entries;
	uint64_t total, guessed, dropped;
};

DEFINE_CLEANUP(struct ranking, ranking_free)

int ranking_new(struct ranking **out)
{
	_cleanup_(ranking_freep) struct ranking *r = calloc(1, sizeof(*r));

	if (!r || strtab_init(&r->texts) < 0)
		return -ENOMEM;
	*out = TAKE_PTR(r);
	return 0;
}

void ranking_free(struct ranking *r)
{
	if (!r)
		return;
	strtab_done(&r->texts);
	vec_done(&r->frames);
	vec_done(&r->entries);
	free(r);
}

int ranking_clear(struct ranking *r)
{
	strtab_done(&r->texts);
	r->frames.len = r->entries.len = 0;
	r->total = r->guessed = r->dropped = 0;
	return strtab_init(&r->texts);
}

uint64_t ranking_total(const struct ranking *r)
{
	return r->total;
}

uint64_t ranking_guessed(const struct ranking *r)
{
	return r->guessed;
}

uint64_t ranking_dropped(const struct ranking *r)
{
	return r->dropped;
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* The count after the last blank; *len becomes the length of the text before it. */
static bool split_count(const char *line, size_t *len, uint64_t *count)
{
	size_t at = *len;

	*count = 0;
	while (at > 0 && isdigit((unsigned char)line[at - 1]))
		at--;
	if (at == *len || *len - at > 18 || at < 2 || line[at - 1] != ' ')
		return false;
	for (size_t i = at; i < *len; i++)
		*count = *count * 10 + (uint64_t)(line[i] - '0');
	*len = at - 1;
	return true;
}

/* Appends all frames of the line, labels too. *added: how many. */
static int put_frames(struct ranking *r, const char *line, size_t len, uint32_t *added)
{
	size_t at = 0;

	*added = 0;
	while (at <= len) {
		const char *semicolon = memchr(line + at, ';', len - at);
		size_t end = semicolon ? (size_t)(semicolon - line) : len;
		uint32_t *slot = vec_add(&r->frames);

		if (!slot || strtab_put(&r->texts, line + at, end - at, slot) < 0)
			return -ENOMEM;
		(*added)++;
		at = end + 1;
	}
	return 0;
}

int ranking_line(struct ranking *r, const char *line, size_t len)
{
	uint32_t first = (uint32_t)r->frames.len, added;
	struct entry *entry;
	uint64_t count, guessed;
	int err;

	if (!split_count(line, &len, &count))
		return -EBADMSG;
	guessed = memmem(line, len, GUESSED_PART, strlen(GUESSED_PART)) ? count : 0;
	r->total += count;
	r->guessed += guessed;
	if (r->entries.len >= RANKING_STACKS_MAX) {
		r->dropped += count;
		return 0;
	}
	err = put_frames(r, line, len, &added);
	if (err == 0 && added < LABELS)
		err = -EBADMSG;
	entry = err == 0 ? vec_add(&r->entries) : NULL;
	if (!entry) {
		r->frames.len = first;
		r->total -= count;
		r->guessed -= guessed;
		return err < 0 ? err : -ENOMEM;
	}
	*entry = (struct entry){ .container = r->frames.data[first],
		.pid = r->frames.data[first + 1],
		.comm = r->frames.data[first + 2],
		.first = first + LABELS,
		.len = added - LABELS,
		.count = count };
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *text_of(const struct ranking *r, uint32_t text)
{
	return strtab_get(&r->texts, text);
}

static struct ranking_row *add_row(struct ranking_rows *rows, const char *name)
{
	struct ranking_row *row = vec_add(rows);

	if (row)
		*row = (struct ranking_row){
			.name = name, .pid = "", .container = "", .hottest = ""
		};
	return row;
}

/* Sums by text, each text once a stack. */
struct sums {
	uint64_t *self, *total;
	uint32_t *last; /* the entry that a text was counted for, plus one */
};

static int sums_init(struct sums *s, const struct ranking *r)
{
	s->self = calloc(r->texts.len + 1, sizeof(*s->self));
	s->total = calloc(r->texts.len + 1, sizeof(*s->total));
	s->last = calloc(r->texts.len + 1, sizeof(*s->last));
	return s->self && s->total && s->last ? 0 : -ENOMEM;
}

static void sums_done(struct sums *s)
{
	free(s->self);
	free(s->total);
	free(s->last);
}

static void sums_add(struct sums *s, uint32_t text, size_t entry, uint64_t count)
{
	if (s->last[text] == entry + 1)
		return;
	s->last[text] = (uint32_t)entry + 1;
	s->total[text] += count;
}

static int sums_rows(const struct sums *s, const struct ranking *r, struct ranking_rows *rows)
{
	for (uint32_t text = 0; text < r->texts.len; text++) {
		struct ranking_row *row;

		if (s->total[text] == 0)
			continue;
		row = add_row(rows, text_of(r, text));
		if (!row)
			return -ENOMEM;
		row->self = s->self[text];
		row->total = s->total[text];
	}
	return 0;
}

static bool is_one_of(
	const struct ranking *r, const struct entry *e, const struct ranking_only *only)
{
	return (!only->container || strcmp(text_of(r, e->container), only->container) == 0) &&
		(!only->pid || strcmp(text_of(r, e->pid), only->pid) == 0);
}

static bool is_kernel(const char *name)
{
	return profile_folded_class(name, strlen(name)) == PROFILE_KERNEL;
}

/* From the leaf to the first function of the program. */
static void add_waits(struct sums *s, const struct ranking *r, const struct entry *e)
{
	for (uint32_t k = e->len; k-- > 0;) {
		uint32_t text = r->frames.data[e->first + k];
		const char *name = text_of(r, text);

		if (is_kernel(name))
			continue;
		s->self[text] += e->count;
		if (!profile_is_mark(name, strlen(name)))
			return;
	}
}

int ranking_functions(
	const struct ranking *r, const struct ranking_only *only, struct ranking_rows *rows)
{
	_cleanup_(sums_done) struct sums s;

	rows->len = 0;
	if (sums_init(&s, r) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->entries.len; i++) {
		const struct entry *e = &r->entries.data[i];

		if (!is_one_of(r, e, only))
			continue;
		for (uint32_t k = 0; k < e->len; k++)
			if (!only->waits || !is_kernel(text_of(r, r->frames.data[e->first + k])))
				sums_add(&s, r->frames.data[e->first + k], i, e->count);
		if (only->waits)
			add_waits(&s, r, e);
		else if (e->len > 0)
			s.self[r->frames.data[e->first + e->len - 1]] += e->count;
	}
	return sums_rows(&s, r, rows);
}

/* Is the chain in the stack, outward from frame k? */
static bool has_chain(const struct entry *e, const uint32_t *frames, uint32_t k,
	const uint32_t *chain, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (i > k || frames[e->first + k - i] != chain[i])
			return false;
	return true;
}

/* The texts' numbers; false where one of them is not in this interval. */
static bool find_chain(const struct ranking *r, const char *const *chain, size_t len, uint32_t *ids)
{
	for (size_t i = 0; i < len; i++) {
		uint32_t text = 1;

		while (text < r->texts.len && strcmp(text_of(r, text), chain[i]) != 0)
			text++;
		if (text >= r->texts.len)
			return false;
		ids[i] = text;
	}
	return len > 0;
}

int ranking_callers(const struct ranking *r, const struct ranking_only *only,
	const char *const *chain, size_t chain_len, struct ranking_rows *rows)
{
	_cleanup_(sums_done) struct sums s;
	uint32_t ids[RANKING_CHAIN_MAX];

	rows->len = 0;
	if (sums_init(&s, r) < 0)
		return -ENOMEM;
	if (chain_len > RANKING_CHAIN_MAX || !find_chain(r, chain, chain_len, ids))
		return 0;
	for (size_t i = 0; i < r->entries.len; i++) {
		const struct entry *e = &r->entries.data[i];

		for (uint32_t k = 0; is_one_of(r, e, only) && k < e->len; k++) {
			if (!has_chain(e, r->frames.data, k, ids, chain_len))
				continue;
			sums_add(&s,
				k >= chain_len ? r->frames.data[e->first + k - chain_len] : e->comm,
				i, e->count);
		}
	}
	return sums_rows(&s, r, rows);
}

/* ---- processes and containers ---------------------------------------------------------------- */

/* Counts by (group, leaf), to know the leaf that a group has most of. */
static int add_leaf(struct hash *leaves, uint32_t group, const struct ranking *r,
	const struct entry *e, struct ranking_row *row, uint64_t *most)
{
	uint32_t leaf = e->len > 0 ? r->frames.data[e->first + e->len - 1] : 0;
	uint64_t key = (uint64_t)group << 32 | leaf, *have = hash_find(leaves, key);
	uint64_t count = e->count + (have ? *have : 0);

	if (hash_put(leaves, key, count) < 0)
		return -ENOMEM;
	if (count > *most) {
		*most = count;
		row->hottest = text_of(r, leaf);
	}
	return 0;
}

static uint64_t group_of(const struct entry *e, bool processes)
{
	return processes ? (uint64_t)e->pid << 32 | e->comm : e->container;
}

static int group(const struct ranking *r, bool processes, struct ranking_rows *rows)
{
	_cleanup_(hash_done) struct hash groups = HASH_INIT;
	_cleanup_(hash_done) struct hash leaves = HASH_INIT;
	_cleanup_(freep) uint64_t *most = calloc(r->entries.len + 1, sizeof(*most));

	rows->len = 0;
	if (!most)
		return -ENOMEM;
	vec_each (&r->entries, e) {
		uint64_t *have = hash_find(&groups, group_of(e, processes)), at = rows->len;
		struct ranking_row *row;

		if (have)
			at = *have;
		else if (!add_row(rows, text_of(r, processes ? e->comm : e->container)) ||
			hash_put(&groups, group_of(e, processes), at) < 0)
			return -ENOMEM;
		row = &rows->data[at];
		row->total += e->count;
		row->self = row->total;
		row->pid = processes ? text_of(r, e->pid) : "";
		row->container = processes ? text_of(r, e->container) : "";
		if (add_leaf(&leaves, (uint32_t)at, r, e, row, &most[at]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int ranking_processes(const struct ranking *r, struct ranking_rows *rows)
{
	return group(r, true, rows);
}

int ranking_containers(const struct ranking *r, struct ranking_rows *rows)
{
	return group(r, false, rows);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *ctx)
{
	const struct ranking_row *x = a, *y = b;
	const enum ranking_order *order = ctx;
	uint64_t vx = *order == RANKING_BY_SELF ? x->self : x->total;
	uint64_t vy = *order == RANKING_BY_SELF ? y->self : y->total;
	int names;

	if (*order != RANKING_BY_NAME && vx != vy)
		return vx > vy ? -1 : 1;
	if (*order == RANKING_BY_SELF && x->total != y->total)
		return x->total > y->total ? -1 : 1;
	names = strcmp(x->name, y->name);
	return names ? names : strcmp(x->pid, y->pid);
}

void ranking_sort(struct ranking_rows *rows, enum ranking_order order)
{
	if (rows->len > 0)
		qsort_r(rows->data, rows->len, sizeof(*rows->data), compare, &order);
}
