/* SPDX-License-Identifier: Apache-2.0 */
/* traps/rule.h - a trap's rule, of the configuration or of `record --when`: a metric, whose it is,
 * its limit, and the capture that starts when it fires. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RULES_MAX 32
#define RULE_TEXT_MAX 256
#define RULE_COMM_MAX 15 /* bytes of a process's name that the kernel keeps */

enum rule_metric {
	RULE_CPU,       /* thousandths of one core: 2000 is two cores */
	RULE_PRESSURE,  /* PSI "some", in thousandths of the time */
	RULE_THROTTLED, /* in thousandths of the time */
	RULE_WAIT,      /* waiting for a CPU, in thousandths of the time */
	RULE_RUNNABLE,  /* of the time in which threads wanted a CPU, that in which they had none */
	RULE_BLOCKED,   /* of all threads' time, that in which they waited for something else */
	RULE_STILL,     /* of threads, those without a CPU for the rule's time that are not idle */
	RULE_METRICS,
};

#define RULE_METRICS_TEXT "cpu, pressure, throttled, wait, runnable, blocked, still"

enum rule_subject { RULE_HOST, RULE_CONTAINER, RULE_POD, RULE_UNIT, RULE_PROCESS, RULE_COMM };

/* [trap NAME] */
struct rule {
	char name[RULE_TEXT_MAX];      /* letters, digits, _ and - */
	char container[RULE_TEXT_MAX]; /* "": none is given; likewise the next */
	char pod[RULE_TEXT_MAX];
	char unit[RULE_TEXT_MAX];
	char comm[RULE_TEXT_MAX];
	uint64_t pid; /* in our own PID namespace; 0: none is given */
	enum rule_metric metric;
	uint64_t above, below; /* in thousandths; one of them is 0 */
	uint64_t for_ns;
	uint64_t before_ns, capture_ns;
	uint64_t cooldown_ns;
	uint64_t hz;
	uint64_t most;  /* number of bundles to keep */
	uint64_t count; /* of captures in all; 0: no limit */
	bool once;      /* the condition must end before it fires again */
	int line;       /* first line of its section */
};

struct rules {
	struct rule all[RULES_MAX];
	size_t len;
};

/* Its name in the configuration. */
const char *rule_metric_name(enum rule_metric metric);
/* False: no metric has that name. */
bool rule_metric_find(const char *name, enum rule_metric *out);
enum rule_subject rule_subject(const struct rule *rule);
/* Is it of a command wherever it runs? Then each container that has it is watched by itself. */
bool rule_is_of_each(const struct rule *rule);
/* Is its value taken from the times of threads, and not from a file of the kernel? */
bool rule_is_of_threads(const struct rule *rule);
/* -EINVAL with why: a rule that cannot be. */
int rule_check(const struct rule *rule, struct why *why);
/* Sets metric, above or below, and for_ns from one line, METRIC < N% [for TIME]; without a time 2
 * seconds. -EINVAL with why, which names the word that is wrong. */
int rule_parse(const char *text, struct rule *rule, struct why *why);
/* Puts "below 3 % for 2 s". */
void rule_put_limit(const struct rule *rule, char *out, size_t size);
/* The highest rate of any rule's capture; at least hz. */
uint32_t rules_hz_max(const struct rules *rules, uint64_t hz);
/* Is there one of a process, by pid or comm? */
bool rules_of_processes(const struct rules *rules);
