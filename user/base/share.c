/* SPDX-License-Identifier: Apache-2.0 */
/* base/share.c - the level rises from nothing until all room is given away: each account that holds
 * less than an equal part of what is left leaves its rest to those that hold more. So whatever the
 * largest do, nobody who holds less than an equal part loses any of it. */
#include "base/share.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/own.h"

#define ROOM_PART 10 /* a tenth stays free */

uint64_t share_room(uint64_t max)
{
	return max - max / ROOM_PART;
}

void share_done(struct share *share)
{
	vec_done(&share->accounts);
	hash_done(&share->by_number);
	share->used = 0;
}

void share_clear(struct share *share)
{
	share->accounts.len = 0;
	hash_clear(&share->by_number);
	share->used = 0;
}

int share_charge(struct share *share, uint64_t account, uint64_t amount)
{
	uint64_t *at = hash_find(&share->by_number, account);
	struct share_account *slot;

	if (amount == 0)
		return 0;
	if (!at) {
		if (vec_reserve(&share->accounts, share->accounts.len + 1) < 0 ||
			hash_put(&share->by_number, account, share->accounts.len) < 0)
			return -ENOMEM;
		slot = vec_add(&share->accounts);
		slot->number = account;
	} else {
		slot = &share->accounts.data[*at];
	}
	slot->held += amount;
	share->used += amount;
	return 0;
}

void share_return(struct share *share, uint64_t account, uint64_t amount)
{
	uint64_t *at = hash_find(&share->by_number, account);
	struct share_account *slot = at ? &share->accounts.data[*at] : NULL;

	if (!slot)
		return;
	amount = amount < slot->held ? amount : slot->held;
	slot->held -= amount;
	share->used -= amount;
	if (slot->held > 0)
		return;
	hash_del(&share->by_number, account);
	*slot = share->accounts.data[--share->accounts.len];
	/* Its place was known: this replaces a value and needs no memory. */
	if (slot < share->accounts.data + share->accounts.len)
		*hash_find(&share->by_number, slot->number) =
			(uint64_t)(slot - share->accounts.data);
}

uint64_t share_held(const struct share *share, uint64_t account)
{
	uint64_t *at = hash_find(&share->by_number, account);

	return at ? share->accounts.data[*at].held : 0;
}

const struct share_account *share_largest(const struct share *share)
{
	const struct share_account *largest = NULL;

	vec_each (&share->accounts, account)
		if (!largest || account->held > largest->held)
			largest = account;
	return largest;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The most that an account may hold, so that all of them together hold no more than this; they hold
 * more. */
static int level_of(const struct share *share, uint64_t room, uint64_t *level)
{
	size_t len = share->accounts.len, i = 0;
	_cleanup_(freep) uint64_t *held = NULL;

	assert(len > 0);
	held = malloc(len * sizeof(*held));
	if (!held)
		return -ENOMEM;
	vec_each (&share->accounts, account)
		held[i++] = account->held;
	qsort(held, len, sizeof(*held), by_size);
	/* More is held than there is room for, so some account is above an equal part. */
	for (i = 0; i < len - 1 && held[i] <= room / (len - i); i++)
		room -= held[i];
	*level = room / (len - i);
	return 0;
}

int share_level(const struct share *share, uint64_t max, uint64_t *level)
{
	if (share->used > share_room(max))
		return level_of(share, share_room(max), level);
	*level = SHARE_UNBOUND;
	return 0;
}

void share_drain(struct share *share, uint64_t amount)
{
	uint64_t part;

	if (share->used <= amount) {
		share_clear(share);
		return;
	}
	/* Without memory those that hold more than an equal part give less than they could. */
	if (level_of(share, amount, &part) < 0)
		part = amount / share->accounts.len;
	/* Backwards: the last account moves into the place of each that has given all. */
	for (size_t i = share->accounts.len; i-- > 0;)
		share_return(share, share->accounts.data[i].number, part);
}

bool share_may_take(const struct share *share, uint64_t account)
{
	const struct share_account *largest = share_largest(share);

	return largest && share_held(share, account) + 1 <= largest->held / 2;
}

bool share_refuses(const struct share *share, uint64_t account, uint64_t amount, uint64_t max)
{
	uint64_t want = share_held(share, account) + amount;

	if (amount > max || share->used > max - amount)
		return true;
	if (share->used + amount <= share_room(max))
		return false;
	return want > 1 && want > (max - share->used) / (share->accounts.len + 1);
}

/* ---- debts ---------------------------------------------------------------------------------- */

void share_debt_done(struct share_debt *debt)
{
	share_done(&debt->held);
}

void share_debt_pass(struct share_debt *debt, uint64_t part, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - debt->since_ns;

	if (passed_ns < SHARE_DEBT_NS)
		return;
	debt->since_ns = now_ns;
	if (part > 0)
		share_drain(&debt->held, passed_ns / part);
}

uint64_t share_debt_level(const struct share_debt *debt, uint64_t max_ns)
{
	uint64_t level;

	return share_level(&debt->held, max_ns, &level) == 0 ? level : SHARE_UNBOUND;
}

bool share_owes_more(const struct share_debt *debt, uint64_t account, uint64_t level)
{
	return share_held(&debt->held, account) > level;
}

/* ---- turns ---------------------------------------------------------------------------------- */

void share_turns_done(struct share_turns *turns)
{
	share_done(&turns->spent);
}

uint64_t share_turns(const struct share_turns *turns, uint64_t account)
{
	return turns->uneven ? share_held(&turns->spent, account) / SHARE_TURN_NS : 0;
}

void share_turns_charge(
	struct share_turns *turns, uint64_t account, uint64_t took_ns, uint64_t now_ns)
{
	if (now_ns - turns->since_ns > SHARE_TURNS_NS) {
		share_clear(&turns->spent);
		turns->since_ns = now_ns;
		turns->uneven = false;
	}
	(void)share_charge(&turns->spent, account, took_ns);
	turns->uneven |= share_held(&turns->spent, account) >= SHARE_TURN_NS;
}
