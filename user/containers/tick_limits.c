/* SPDX-License-Identifier: Apache-2.0 */
/* containers/tick_limits.c - a cgroup whose limit finds no room in BPF has none: its account stays
 * dear then, and the rate of all makes room. */
#include "containers/tick_limits.h"

#include <errno.h>
#include <stdlib.h>

#include "containers/containers.h"
#include "containers/payers.h"
#include "sampler/cpu_costs.h"
#include "sampler/tally.h"
#include "sampler/warnings.h"

void tick_limits_init(struct tick_limits *limits, struct sampler *sampler,
	struct containers *containers, const struct tally *tally, struct warnings *warnings)
{
	*limits = (struct tick_limits){
		.sampler = sampler,
		.containers = containers,
		.tally = tally,
		.warnings = warnings,
	};
}

void tick_limits_done(struct tick_limits *limits)
{
	tick_shares_done(&limits->shares);
	hash_done(&limits->cgroups);
	free(limits->seen_ns);
	limits->seen_ns = NULL;
}

/* Brings BPF's entry of a cgroup up to date. */
static void put(struct tick_limits *l, uint64_t cgroup)
{
	uint64_t ns = tick_shares_limit(&l->shares, containers_account(l->containers, cgroup));
	uint64_t *known = hash_find(&l->cgroups, cgroup);

	if (ns == (known ? *known : 0))
		return;
	if (ns == 0) {
		cpu_costs_unlimit(l->sampler, cgroup);
		hash_del(&l->cgroups, cgroup);
	} else if (hash_put(&l->cgroups, cgroup, ns) < 0 ||
		cpu_costs_limit(l->sampler, cgroup, ns) < 0) {
		hash_del(&l->cgroups, cgroup);
	}
	cpu_costs_limits_len(l->sampler, (uint32_t)l->cgroups.len);
}

void tick_limits_met(struct tick_limits *limits, uint64_t cgroup)
{
	if (limits->shares.limited > 0)
		put(limits, cgroup);
}

uint64_t tick_limits_dearest_ns(struct tick_limits *limits)
{
	if (!limits->seen_ns)
		limits->seen_ns = calloc(CPU_TICKS_MAX, sizeof(*limits->seen_ns));
	return limits->seen_ns ? cpu_costs_dearest_ns(limits->sampler, limits->seen_ns) : 0;
}

/* Those in BPF, too, whose tasks have gone. */
static void put_all(struct tick_limits *l)
{
	VEC(uint64_t) cgroups = { 0 };

	hash_each (&l->cgroups, slot) {
		uint64_t *cgroup = vec_add(&cgroups);

		if (cgroup)
			*cgroup = slot->key;
	}
	vec_each (&cgroups, cgroup)
		put(l, *cgroup);
	vec_done(&cgroups);
	vec_each (&l->tally->tasks, task)
		if (task->live)
			put(l, task->key.cgroup);
}

int tick_limits_judge(struct tick_limits *limits, struct tick_load *load)
{
	int verdict;

	load->full_ns = cpu_costs_walk_limit_ns(limits->sampler);
	verdict = tick_shares_judge(&limits->shares, load);
	if (verdict != TICK_SHARES_CHANGED)
		return verdict;
	vec_each (&limits->shares.accounts, a)
		if (a->is_new)
			payers_warn(limits->containers, a->cgroup,
				"its ticks took more than their share of the time, as its stacks "
				"are deep: they are cut (limited) while there is no room",
				limits->warnings);
	put_all(limits);
	return verdict;
}
