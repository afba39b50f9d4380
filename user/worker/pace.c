/* SPDX-License-Identifier: Apache-2.0 */
/* worker/pace.c - a leaky bucket. Lost workers take their CPU time with them, so the sum may fall.
 */
#include "worker/pace.h"

void pace_init(struct pace *pace, uint64_t now_ns)
{
	*pace = (struct pace){ .left_ns = (int64_t)PACE_NS, .now_ns = now_ns };
}

bool pace_feed(struct pace *pace, uint64_t now_ns, uint64_t used_ns)
{
	int64_t added = (int64_t)((now_ns - pace->now_ns) / PACE_PART);
	int64_t used = used_ns > pace->used_ns ? (int64_t)(used_ns - pace->used_ns) : 0;
	bool normal;

	pace->left_ns += added - used;
	if (pace->left_ns > (int64_t)PACE_NS)
		pace->left_ns = (int64_t)PACE_NS;
	if (pace->left_ns < 0)
		pace->left_ns = 0;
	pace->now_ns = now_ns;
	pace->used_ns = used_ns;
	normal = pace->normal ? pace->left_ns < (int64_t)PACE_NS / 2 : pace->left_ns == 0;
	if (normal == pace->normal)
		return false;
	pace->normal = normal;
	return true;
}
