/* SPDX-License-Identifier: Apache-2.0 */
/* containers/tick_shares.c - accounts share the time above their parts. It shrinks as much as the
 * dearest CPU has to become cheaper, but to a sixteenth at most in one step: so of several accounts
 * above their part the large ones are cut down to the small ones first. */
#include "containers/tick_shares.h"

#include <errno.h>

#include "base/own.h"
#include "base/share.h"
#include "bpf/abi.h"

#define STEP_PART 16  /* one part of the time above is left by a step */
#define LEAST_PART 8  /* of what the budget gives a tick: the least limit */
#define UP_PERCENT 80 /* of the budget, at twice the cost */

void tick_shares_done(struct tick_shares *shares)
{
	vec_done(&shares->accounts);
	hash_done(&shares->by_number);
}

int tick_shares_charge(struct tick_shares *shares, uint64_t account, uint64_t cgroup,
	uint64_t ticks, uint64_t took_ns)
{
	uint64_t *at = hash_find(&shares->by_number, account);
	struct tick_account *a = at ? &shares->accounts.data[*at] : NULL;

	if (!a) {
		if (vec_reserve(&shares->accounts, shares->accounts.len + 1) < 0 ||
			hash_put(&shares->by_number, account, shares->accounts.len) < 0)
			return -ENOMEM;
		a = vec_add(&shares->accounts);
		a->number = account;
	}
	a->cgroup = cgroup;
	a->ticks += ticks;
	a->took_ns += took_ns;
	return 0;
}

uint64_t tick_shares_limit(const struct tick_shares *shares, uint64_t account)
{
	const uint64_t *at = hash_find(&shares->by_number, account);

	return at ? shares->accounts.data[*at].limit_ns : 0;
}

/* The budget gives so much to each tick. */
static uint64_t part_of_tick(const struct tick_load *load)
{
	return share_room(load->allowed_ppm * load->period_ns / 1000000);
}

static uint64_t above_part(const struct tick_account *a, uint64_t part_ns)
{
	return a->took_ns > a->ticks * part_ns ? a->took_ns - a->ticks * part_ns : 0;
}

/* The time above its part that an account may keep. */
static int level_of(const struct tick_shares *shares, const struct tick_load *load,
	uint64_t part_ns, uint64_t *level)
{
	_cleanup_(share_done) struct share above = { 0 };
	uint64_t took_ns = 0, dear_ns, rest_ns;
	int err = 0;

	vec_each (&shares->accounts, a) {
		took_ns += a->took_ns;
		if (err == 0)
			err = share_charge(&above, a->number, above_part(a, part_ns));
	}
	if (err < 0)
		return err;
	dear_ns = (uint64_t)((double)took_ns *
		(double)(load->cost_ppm - share_room(load->allowed_ppm)) / (double)load->cost_ppm);
	rest_ns = above.used > dear_ns ? above.used - dear_ns : 0;
	if (rest_ns < above.used / STEP_PART)
		rest_ns = above.used / STEP_PART;
	return share_level(&above, rest_ns, level);
}

/* A tick goes on for a moment when its walk has ended: so the last part of the time is not the
 * walk's. A limit that did not help enough is lowered by as much as it failed. */
static bool lower(struct tick_account *a, uint64_t part_ns, uint64_t level, uint64_t full_ns)
{
	uint64_t least_ns = part_ns / LEAST_PART, mean_ns, want_ns;
	uint64_t before_ns = a->limit_ns ? a->limit_ns : full_ns;

	if (a->ticks == 0 || above_part(a, part_ns) <= level)
		return false;
	mean_ns = a->took_ns / a->ticks;
	want_ns = part_ns + level / a->ticks;
	want_ns = a->limit_ns ? (uint64_t)((double)before_ns * (double)want_ns / (double)mean_ns)
			      : want_ns - want_ns / TICK_WALK_PARTS;
	if (want_ns < least_ns)
		want_ns = least_ns;
	if (want_ns >= before_ns)
		return false;
	a->is_new = a->limit_ns == 0;
	a->limit_ns = want_ns;
	return true;
}

static bool raise_all(struct tick_shares *shares, uint64_t full_ns)
{
	bool raised = false;

	shares->cheap = 0;
	vec_each (&shares->accounts, a) {
		raised |= a->limit_ns > 0;
		a->limit_ns = a->limit_ns * 2 < full_ns ? a->limit_ns * 2 : 0;
	}
	return raised;
}

/* The next window begins; who has a limit stays known. */
static void forget(struct tick_shares *shares)
{
	size_t kept = 0;

	hash_clear(&shares->by_number);
	vec_each (&shares->accounts, a) {
		struct tick_account *to = &shares->accounts.data[kept];

		if (a->limit_ns == 0)
			continue;
		*to = *a;
		to->ticks = to->took_ns = 0;
		/* Fewer than there were: this needs no memory. */
		(void)hash_put(&shares->by_number, to->number, kept++);
	}
	shares->accounts.len = kept;
	shares->limited = (uint32_t)kept;
}

int tick_shares_judge(struct tick_shares *shares, const struct tick_load *load)
{
	bool near = load->cost_ppm > share_room(load->allowed_ppm), changed = false;
	uint64_t part_ns = part_of_tick(load), level = SHARE_UNBOUND;
	int err = near ? level_of(shares, load, part_ns, &level) : 0;

	if (err < 0)
		return err;
	shares->cheap = load->may_raise &&
			load->cost_ppm * 2 * 100 <= load->allowed_ppm * UP_PERCENT
		? shares->cheap + 1
		: 0;
	vec_each (&shares->accounts, a) {
		a->is_new = false;
		changed |= near && lower(a, part_ns, level, load->full_ns);
	}
	if (shares->cheap >= TICK_SHARES_WINDOWS_UP)
		changed |= raise_all(shares, load->full_ns);
	forget(shares);
	return changed ? TICK_SHARES_CHANGED : near ? TICK_SHARES_SPENT : TICK_SHARES_KEPT;
}
