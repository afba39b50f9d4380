/* SPDX-License-Identifier: Apache-2.0 */
/* base/share.h - the one rule by which accounts share a table.
 * An account is a container or a user of the host; its number means nothing here. While less than
 * 90 % of a table is used everybody may take what there is: a share is no slice. From there on the
 * largest account gives first: share_level() is what each may hold, and whoever holds less is not
 * touched. Where nothing can be taken back, share_refuses() keeps the rest for those who hold
 * little: an account may hold 1/(n + 1) of what remains. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

#define SHARE_UNBOUND UINT64_MAX /* a level: the shares do not bind */

struct share_account {
	uint64_t number;
	uint64_t held;
};

/* The accounts' holdings of one table. An account that holds nothing is removed. */
struct share {
	VEC(struct share_account) accounts;
	struct hash by_number; /* account → index */
	uint64_t used;
};

/* The part of a table that may be full before shares bind. */
uint64_t share_room(uint64_t max);

void share_done(struct share *share);
void share_clear(struct share *share);
/* 0 or -ENOMEM: nothing was charged. */
int share_charge(struct share *share, uint64_t account, uint64_t amount);
/* The account gives back what it was charged. */
void share_return(struct share *share, uint64_t account, uint64_t amount);
uint64_t share_held(const struct share *share, uint64_t account);
/* All together give back so much: each an equal part, and those that hold less than that all that
 * they have. */
void share_drain(struct share *share, uint64_t amount);
/* The account that holds most, NULL without accounts. Valid until the next charge or return. */
const struct share_account *share_largest(const struct share *share);

/* The most that an account may hold of a table of this size, so that all of them together hold no
 * more than share_room(): those below it keep all. SHARE_UNBOUND while they do. -ENOMEM: *level is
 * untouched. */
int share_level(const struct share *share, uint64_t max, uint64_t *level);
/* Entries of a full table are taken back one by one, each a file that has to be opened again: may
 * this account get one of the largest's? As long as it would hold no more than half as many, so
 * that no two take them from each other for ever. */
bool share_may_take(const struct share *share, uint64_t account);
/* Nothing can be taken back of this table: may this account not have so much more? Whoever has
 * nothing may have one entry while there is any. */
bool share_refuses(const struct share *share, uint64_t account, uint64_t amount, uint64_t max);

/* CPU time that accounts took. A part of the time that passes is given back, so in the long run all
 * of them together take no more than that part. */
struct share_debt {
	struct share held; /* ns */
	uint64_t since_ns; /* CLOCK_MONOTONIC: up to then it was given back */
};

#define SHARE_DEBT_NS 1000000000ULL /* once a second */

void share_debt_done(struct share_debt *debt);
/* 1/part of the time since the last call goes back; 0: none of it. */
void share_debt_pass(struct share_debt *debt, uint64_t part, uint64_t now_ns);
/* The most that an account may owe while all together owe up to max_ns. Without memory for the
 * answer: SHARE_UNBOUND. */
uint64_t share_debt_level(const struct share_debt *debt, uint64_t max_ns);
bool share_owes_more(const struct share_debt *debt, uint64_t account, uint64_t level);

/* One process that does the requests of all: who took much of its time lately comes after those who
 * took less, whatever the number of their requests. Accounts that differ by less than a turn are
 * equal. */
#define SHARE_TURN_NS 50000000ULL
#define SHARE_TURNS_NS 10000000000ULL /* for so long it is known what an account took */

struct share_turns {
	struct share spent; /* ns since since_ns */
	uint64_t since_ns;  /* CLOCK_MONOTONIC */
	bool uneven;        /* some account took a turn */
};

void share_turns_done(struct share_turns *turns);
uint64_t share_turns(const struct share_turns *turns, uint64_t account);
/* Without memory the account is equal to the others. */
void share_turns_charge(
	struct share_turns *turns, uint64_t account, uint64_t took_ns, uint64_t now_ns);
