/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/visit_pace.c - a visit's cost is counted in full, by an eighth of what is not counted yet
 * at each visit. So no visit's cost is lost, however rare it is, and none is paid for at once. The
 * random part keeps visits from following in step with a thread that sleeps as long. */
#include "waiting/visit_pace.h"

#include "base/clock.h"

/* A cost beyond is one of a clock that stepped; its product with any part is a uint64_t. */
#define COST_MAX_NS (10 * NSEC_PER_SEC)

void visit_pace_init(struct visit_pace *pace, uint32_t hz, uint32_t part, uint32_t random)
{
	*pace = (struct visit_pace){
		.period_ns = NSEC_PER_SEC / hz,
		.part = part,
		.random = random | 1,
	};
}

static uint64_t varied(struct visit_pace *pace, uint64_t period_ns)
{
	uint64_t part_ns = period_ns / VISIT_PACE_VARIES;

	pace->random ^= pace->random << 13;
	pace->random ^= pace->random >> 17;
	pace->random ^= pace->random << 5;
	return period_ns - part_ns +
		(uint64_t)((double)pace->random / UINT32_MAX * 2 * (double)part_ns);
}

uint64_t visit_pace_next_ns(struct visit_pace *pace, uint64_t cost_ns)
{
	uint64_t paid_ns;

	if (cost_ns > COST_MAX_NS)
		cost_ns = COST_MAX_NS;
	pace->sum_ns += cost_ns - pace->sum_ns / VISIT_PACE_AVERAGE;
	paid_ns = pace->sum_ns / VISIT_PACE_AVERAGE * pace->part;
	return varied(pace, paid_ns > pace->period_ns ? paid_ns : pace->period_ns);
}
