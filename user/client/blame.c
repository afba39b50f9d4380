/* SPDX-License-Identifier: Apache-2.0 */
/* client/blame.c - a hash of strikes. They count by subject, not by author: a process that makes
 * new files at will is slowed down by the delay between workers (client/lane.h) instead. */
#include "client/blame.h"

#include "base/clock.h"

#define STRIKES_MAX 255

static uint64_t key_of(enum blame_what what, uint64_t id)
{
	return id << 3 | what;
}

void blame_done(struct blame *blame)
{
	hash_done(&blame->strikes);
}

static uint64_t refusal_ns(const struct blame *blame, uint64_t strikes, enum lane_cause cause)
{
	uint64_t ns = blame->refuse_ns;

	if (cause == LANE_KILLED && strikes-- == 1)
		return 0;
	while (strikes-- > 1 && ns < BLAME_REFUSE_MAX_NS)
		ns *= 4;
	return ns < BLAME_REFUSE_MAX_NS ? ns : BLAME_REFUSE_MAX_NS;
}

void blame_loss(struct blame *blame, struct lane *lane, enum blame_what what)
{
	uint64_t key = key_of(what, lane->asked.id);
	uint64_t *found = hash_find(&blame->strikes, key);
	uint64_t strikes = found ? *found & STRIKES_MAX : 0;
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC);

	if (!lane->busy)
		return;
	lane->busy = false;
	if (lane->asked.head.kind == PROTO_HELLO || lane->cause == LANE_DROPPED ||
		(lane->cause == LANE_KILLED && !lane->grown))
		return;
	strikes += strikes < STRIKES_MAX;
	until_ns += refusal_ns(blame, strikes, lane->cause);
	if (!found && blame->strikes.len >= BLAME_MAX)
		hash_clear(&blame->strikes);
	/* Out of memory: it is tried again. */
	(void)hash_put(&blame->strikes, key, until_ns / NSEC_PER_MSEC << 8 | strikes);
}

void blame_forgive(struct blame *blame, enum blame_what what, uint64_t id)
{
	hash_del(&blame->strikes, key_of(what, id));
}

bool blame_holds(const struct blame *blame, enum blame_what what, uint64_t id)
{
	const uint64_t *found = hash_find(&blame->strikes, key_of(what, id));

	return found && clock_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC < *found >> 8;
}

bool blame_refuses(struct blame *blame, enum blame_what what, uint64_t id)
{
	bool yes = blame_holds(blame, what, id);

	blame->refused += yes;
	return yes;
}
