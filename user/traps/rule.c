/* SPDX-License-Identifier: Apache-2.0 */
/* traps/rule.c - names of metrics, and the maximum rate over all rules. */
#include "traps/rule.h"

static const char *const metrics[RULE_METRICS] = {
	[RULE_CPU] = "cpu",
	[RULE_PRESSURE] = "pressure",
	[RULE_THROTTLED] = "throttled",
	[RULE_WAIT] = "wait",
};

const char *rule_metric_name(enum rule_metric metric)
{
	return metrics[metric];
}

uint32_t rules_hz_max(const struct rules *rules, uint64_t hz)
{
	for (size_t i = 0; i < rules->len; i++)
		if (rules->all[i].hz > hz)
			hz = rules->all[i].hz;
	return (uint32_t)hz;
}
