/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish_shares.c - whose tables make room for others (base/share.h): page numbers, bytes
 * of slabs and rules are shared. A table is charged in full to each account that uses it, and ranks
 * as the one of these that holds least: so what many use goes only when all of them hold much. When
 * room is needed the table of the highest rank gives first, of equal ones the largest. Whoever
 * needs room and would give first itself gets none. */
#include "unwind/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/share.h"
#include "unwind/publish_table.h"

#define RULE_BITS_BYTES (ROWS_RULES_MAX / 8)
#define GIVERS_MAX 16 /* tables that give up their pages for the rules of one request */

enum held { HELD_NUMBERS, HELD_BYTES, HELD_KEPT, HELD_RULES };

struct claim {
	uint64_t rank, size;
};

static bool gives_before(const struct claim *a, const struct claim *b)
{
	return a->rank != b->rank ? a->rank > b->rank : a->size > b->size;
}

void publish_charge(struct publish *p, uint32_t object, uint64_t account)
{
	struct table *t = publish_find_table(p, object);

	if (!t)
		return;
	for (uint32_t i = 0; i < t->payers_len; i++)
		if (t->payers[i] == account)
			return;
	if (t->payers_len < TABLE_PAYERS_MAX)
		t->payers[t->payers_len++] = account;
}

void publish_charges_begin(struct publish *p)
{
	p->charges++;
}

void publish_waited(struct publish *p, uint32_t object)
{
	struct table *t = publish_find_table(p, object);

	if (t)
		t->waited = p->charges;
}

uint32_t publish_payers(const struct publish *p, uint32_t object, const uint64_t **accounts)
{
	const struct table *t = publish_find_table(p, object);

	*accounts = t ? t->payers : NULL;
	return t ? t->payers_len : 0;
}

/* ---- what is held -------------------------------------------------------------------------------
 */

/* Until somebody is known to use it, it is account 0's. */
static uint32_t payers_of(const struct table *t, const uint64_t **payers)
{
	static const uint64_t unknown[] = { 0 };

	*payers = t->payers_len > 0 ? t->payers : unknown;
	return t->payers_len > 0 ? t->payers_len : 1;
}

static bool is_payer(const struct table *t, uint64_t account)
{
	const uint64_t *payers;
	uint32_t len = payers_of(t, &payers);

	for (uint32_t i = 0; i < len; i++)
		if (payers[i] == account)
			return true;
	return false;
}

static int charge(struct share *share, const struct table *t, uint64_t amount)
{
	const uint64_t *payers;
	uint32_t len = payers_of(t, &payers);
	int err = 0;

	for (uint32_t i = 0; i < len && err == 0; i++)
		err = share_charge(share, payers[i], amount);
	return err;
}

static uint64_t rank_of(const struct share *share, const struct table *t)
{
	const uint64_t *payers;
	uint32_t len = payers_of(t, &payers);
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t held = share_held(share, payers[i]);

		least = held < least ? held : least;
	}
	return least;
}

static void mark_rules(const struct publish *p, const struct table *t, uint8_t *bits)
{
	row_pages_mark_rules(p->pages, t->page_base, t->pages_len, bits);
	for (uint32_t i = 0; t->kept && i < t->view.head->rules_len; i++)
		bits[t->ids[i] / 8] |= (uint8_t)(1U << t->ids[i] % 8);
}

static uint64_t count_bits(const uint8_t *bits)
{
	uint64_t sum = 0, word;

	_Static_assert(RULE_BITS_BYTES % sizeof(word) == 0, "whole words");
	for (size_t i = 0; i < RULE_BITS_BYTES; i += sizeof(word)) {
		memcpy(&word, bits + i, sizeof(word));
		sum += (uint64_t)__builtin_popcountll(word);
	}
	return sum;
}

static uint64_t size_of(const struct publish *p, const struct table *t, enum held what)
{
	uint8_t bits[RULE_BITS_BYTES] = { 0 };

	switch (what) {
	case HELD_NUMBERS:
		return t->pages_len;
	case HELD_BYTES:
		return row_pages_bytes(p->pages, t->page_base, t->pages_len);
	case HELD_KEPT:
		return t->kept_bytes;
	case HELD_RULES:
		mark_rules(p, t, bits);
		return count_bits(bits);
	}
	return 0;
}

/* A rule that many of its tables have is one for an account. */
static int weigh_rules(const struct publish *p, struct share *out)
{
	_cleanup_(share_done) struct share accounts = { 0 };
	int err = 0;

	vec_each (&p->tables, t)
		if (err == 0 && t->state == TABLE_READY)
			err = charge(&accounts, t, 1);
	vec_each (&accounts.accounts, account) {
		uint8_t bits[RULE_BITS_BYTES] = { 0 };

		vec_each (&p->tables, t)
			if (t->state == TABLE_READY && is_payer(t, account->number))
				mark_rules(p, t, bits);
		if (err == 0)
			err = share_charge(out, account->number, count_bits(bits));
	}
	return err;
}

static int weigh(const struct publish *p, enum held what, struct share *out)
{
	int err = 0;

	share_clear(out);
	if (what == HELD_RULES)
		return weigh_rules(p, out);
	vec_each (&p->tables, t)
		if (err == 0 && t->state == TABLE_READY)
			err = charge(out, t, size_of(p, t, what));
	return err;
}

/* ---- who gives ----------------------------------------------------------------------------------
 */

/* The table that gives before this one. NULL: none does. */
static struct table *find_giver(const struct publish *p, const struct share *share, enum held what,
	const struct table *needs, struct claim most)
{
	struct table *giver = NULL;

	vec_each (&p->tables, t) {
		struct claim claim = { .rank = rank_of(share, t) };

		if (t == needs || t->state != TABLE_READY || t->goal != GOAL_STATE ||
			t->unsettled || claim.rank < most.rank)
			continue;
		claim.size = size_of(p, t, what);
		if (claim.size == 0 || !gives_before(&claim, &most))
			continue;
		most = claim;
		giver = t;
	}
	return giver;
}

int publish_make_room(struct publish *p, uint32_t id, uint32_t numbers)
{
	_cleanup_(share_done) struct share share = { 0 };
	int err;

	if (numbers == 0 || row_pages_has_room(p->pages, numbers))
		return 0;
	err = weigh(p, HELD_NUMBERS, &share);
	if (err == 0)
		err = charge(&share, publish_find_table(p, id), numbers);
	while (err == 0 && !row_pages_has_room(p->pages, numbers)) {
		const struct table *needs = publish_find_table(p, id);
		struct claim claim = { rank_of(&share, needs), numbers };
		struct table *giver = find_giver(p, &share, HELD_NUMBERS, needs, claim);
		const uint64_t *payers;

		if (!giver)
			return -ENOSPC;
		for (uint32_t i = payers_of(giver, &payers); i-- > 0;)
			share_return(&share, payers[i], giver->pages_len);
		/* Other pointers to tables are old then. */
		err = publish_take_back(p, giver);
	}
	return err;
}

int publish_make_room_to_keep(struct publish *p, const struct table *needs, uint64_t bytes)
{
	_cleanup_(share_done) struct share share = { 0 };
	uint64_t room = share_room(p->maps.kept_max);

	while (p->kept_bytes + bytes > room) {
		struct claim claim = { .size = bytes };
		struct table *giver;

		if (weigh(p, HELD_KEPT, &share) < 0 || charge(&share, needs, bytes) < 0)
			return -ENOMEM;
		claim.rank = rank_of(&share, needs);
		giver = find_giver(p, &share, HELD_KEPT, needs, claim);
		if (!giver)
			return -ENOSPC;
		publish_drop_kept(p, giver);
	}
	return 0;
}

void publish_make_room_for_rules(
	struct publish *p, const struct table *needs, const struct unwind_rule *rules, uint32_t len)
{
	_cleanup_(share_done) struct share share = { 0 };
	uint32_t lack = row_rules_lack(&p->rules, rules, len);

	for (int i = 0; i < GIVERS_MAX; i++) {
		struct claim claim;
		struct table *giver;

		if (p->rules.held + lack <= share_room(p->maps.rules_len) ||
			weigh(p, HELD_RULES, &share) < 0 || charge(&share, needs, lack) < 0)
			return;
		claim = (struct claim){ rank_of(&share, needs), size_of(p, needs, HELD_RULES) };
		claim.size += lack;
		giver = find_giver(p, &share, HELD_RULES, needs, claim);
		if (!giver)
			return;
		row_pages_evict(p->pages, giver->page_base, giver->pages_len);
		publish_drop_kept(p, giver);
	}
}

int publish_rank_pages(void *ctx, uint32_t *ranks)
{
	_cleanup_(share_done) struct share share = { 0 };
	const struct publish *p = ctx;
	int err = weigh(p, HELD_BYTES, &share);

	vec_each (&p->tables, t) {
		uint64_t rank = rank_of(&share, t);

		for (uint32_t i = 0; t->state == TABLE_READY && i < t->pages_len && err == 0; i++)
			ranks[t->page_base + i] =
				rank < UINT32_MAX ? (uint32_t)rank : UINT32_MAX - 1;
	}
	return err;
}
