/* SPDX-License-Identifier: Apache-2.0 */
/* containers/name_search.c - a plain list: containers that were removed or found leave it when it
 * is gone through. */
#include "containers/name_search.h"

#include <errno.h>

#include "base/clock.h"
#include "containers/container.h"

#define APART_NS (200 * NSEC_PER_MSEC) /* from a run that took all of its time to the next */
#define APART_EACH_NS 500000ULL        /* from any run to the next, for each that waits */
#define POSTPONED_NS (2 * NSEC_PER_SEC) /* so all of them come due together */

void name_search_done(struct name_search *s)
{
	vec_done(&s->waiting);
	share_debt_done(&s->spent);
}

int name_search_add(struct name_search *s, uint64_t key)
{
	uint64_t *slot = vec_add(&s->waiting);

	if (!slot)
		return -ENOMEM;
	*slot = key;
	s->due_ns = 0;
	return 0;
}

/* False: not again. *level: the most that an account may owe, as it was when it began to bind. */
static bool look_up(struct name_search *s, const struct name_search_world *world,
	struct container *c, uint64_t now_ns, uint64_t until_ns, uint64_t *level)
{
	uint64_t begun_ns;
	bool again;

	if (share_owes_more(&s->spent, c->account, *level)) {
		c->next_ns = (now_ns / POSTPONED_NS + 1) * POSTPONED_NS;
		s->postponed++;
		return true;
	}
	begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	again = container_find_name(c, world->state, world->tree, now_ns, until_ns);
	/* Openers and a worker take about as long. Without memory it is nobody's. */
	(void)share_charge(&s->spent.held, c->account,
		2 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns));
	if (*level == SHARE_UNBOUND)
		*level = share_debt_level(&s->spent, NAME_SEARCH_MAX_NS);
	return again;
}

void name_search_run(struct name_search *s, const struct name_search_world *world, bool all_now,
	uint64_t until_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), level, due_ns = CLOCK_NEVER_NS;
	size_t kept = 0;
	bool late = false;

	if (s->waiting.len == 0 || (!all_now && now_ns < name_search_due_ns(s)))
		return;
	share_debt_pass(&s->spent, NAME_SEARCH_PART, now_ns);
	level = share_debt_level(&s->spent, NAME_SEARCH_MAX_NS);
	for (size_t i = 0; i < s->waiting.len; i++) {
		uint64_t key = s->waiting.data[i], *found = hash_find(s->by_path, key);
		struct container *c = found ? (struct container *)(uintptr_t)*found : NULL;
		bool due;

		if (!c || c->found)
			continue;
		due = all_now || now_ns >= c->next_ns;
		now_ns = due ? clock_ns(CLOCK_MONOTONIC) : now_ns;
		late = late || now_ns >= until_ns;
		if (due && !late && !look_up(s, world, c, now_ns, until_ns, &level))
			continue;
		s->waiting.data[kept++] = key;
		due_ns = clock_sooner(due_ns, c->next_ns);
	}
	s->waiting.len = kept;
	s->due_ns = due_ns;
	s->not_before_ns = now_ns + (late ? APART_NS : 0) + kept * APART_EACH_NS;
}

uint64_t name_search_due_ns(const struct name_search *s)
{
	if (s->waiting.len == 0)
		return CLOCK_NEVER_NS;
	return s->due_ns > s->not_before_ns ? s->due_ns : s->not_before_ns;
}
