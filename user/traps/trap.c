/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap.c - a value covers the time since the previous one, so a condition began at the
 * previous one's end. */
#include "traps/trap.h"

void trap_begin(struct trap *trap, uint64_t now_ns)
{
	uint64_t rests_ns = trap->rests_ns;

	*trap = (struct trap){ .last_ns = now_ns, .rests_ns = rests_ns };
}

static bool is_wrong(const struct trap_rule *rule, uint64_t permille)
{
	return rule->above > 0 ? permille > rule->above : permille < rule->below;
}

bool trap_feed(struct trap *trap, const struct trap_rule *rule, uint64_t now_ns, uint64_t permille)
{
	uint64_t from_ns = trap->last_ns;

	trap->values[trap->values_len++ % TRAP_VALUES_MAX] =
		(struct trap_value){ now_ns, permille };
	trap->last_ns = now_ns;
	trap->held &= is_wrong(rule, permille);
	if (!is_wrong(rule, permille) || from_ns < trap->rests_ns || (rule->once && trap->held)) {
		trap->since_ns = 0;
		return false;
	}
	if (trap->since_ns == 0)
		trap->since_ns = from_ns;
	if (now_ns - trap->since_ns < rule->for_ns || now_ns < rule->not_before_ns)
		return false;
	trap->since_ns = 0;
	trap->rests_ns = now_ns + rule->cooldown_ns;
	trap->held = true;
	return true;
}

void trap_skip(struct trap *trap, uint64_t now_ns)
{
	trap->last_ns = now_ns;
	trap->since_ns = 0;
}

void trap_refuse(struct trap *trap)
{
	trap->rests_ns = 0;
	trap->held = false;
}
