/* SPDX-License-Identifier: Apache-2.0 */
/* traps/rule.h - a trap's rule from the configuration: a metric of a container or of the host, its
 * limits, and the capture that starts when it fires. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RULES_MAX 32
#define RULE_TEXT_MAX 256

enum rule_metric {
	RULE_CPU,       /* thousandths of one core: 2000 is two cores */
	RULE_PRESSURE,  /* PSI "some", in thousandths of the time */
	RULE_THROTTLED, /* in thousandths of the time */
	RULE_WAIT,      /* waiting for a CPU, in thousandths of the time */
	RULE_METRICS,
};

/* [trap NAME] */
struct rule {
	char name[RULE_TEXT_MAX];      /* letters, digits, _ and - */
	char container[RULE_TEXT_MAX]; /* "": the host */
	enum rule_metric metric;
	uint64_t above, below; /* in thousandths; one of them is 0 */
	uint64_t for_ns;
	uint64_t before_ns, capture_ns;
	uint64_t cooldown_ns;
	uint64_t hz;
	uint64_t most; /* number of bundles to keep */
	int line;      /* first line of its section */
};

struct rules {
	struct rule all[RULES_MAX];
	size_t len;
};

/* Its name in the configuration. */
const char *rule_metric_name(enum rule_metric metric);
/* The highest rate of any rule's capture; at least hz. */
uint32_t rules_hz_max(const struct rules *rules, uint64_t hz);
