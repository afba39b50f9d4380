/* SPDX-License-Identifier: Apache-2.0 */
/* traps/rule.h - the rules that traps follow, as the configuration gives them: a metric of a
 * container or of the host, its limits, and the capture that a firing rule starts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RULES_MAX 32
#define RULE_TEXT_MAX 256

enum rule_metric {
	RULE_CPU,       /* of one core, in parts of a thousand: 2000 is two cores */
	RULE_PRESSURE,  /* PSI: some, in parts of a thousand of the time */
	RULE_THROTTLED, /* of the time, in parts of a thousand */
	RULE_WAIT,      /* for a CPU, per thousand of the time */
	RULE_METRICS,
};

/* [trap NAME] */
struct rule {
	char name[RULE_TEXT_MAX];      /* letters, digits, _ and - */
	char container[RULE_TEXT_MAX]; /* "": the host */
	enum rule_metric metric;
	uint64_t above, below; /* permille; one of them is 0 */
	uint64_t for_ns;
	uint64_t before_ns, capture_ns;
	uint64_t cooldown_ns;
	uint64_t hz;
	uint64_t most; /* bundles that are kept */
	int line;      /* where its section begins */
};

struct rules {
	struct rule all[RULES_MAX];
	size_t len;
};

/* As the configuration writes it. */
const char *rule_metric_name(enum rule_metric metric);
/* The highest rate that a capture may ask for; at least hz. */
uint32_t rules_hz_max(const struct rules *rules, uint64_t hz);
