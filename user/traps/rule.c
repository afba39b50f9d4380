/* SPDX-License-Identifier: Apache-2.0 */
/* traps/rule.c - names of metrics, the grammar of one line, and which rules cannot be. A line is
 * cut into words at blanks and around < and >. */
#include "traps/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/own.h"

#define WORDS_MAX 6
#define WORD_BYTES 64
#define FOR_DEFAULT_NS (2 * NSEC_PER_SEC)
#define FOR_MAX_NS (3600 * NSEC_PER_SEC)
#define PERMILLE_MAX 1000000
#define METRIC_MISSING "a metric, one of " RULE_METRICS_TEXT
#define GRAMMAR "METRIC < N%% [for TIME]" /* of a format */

static const char *const metrics[RULE_METRICS] = {
	[RULE_CPU] = "cpu",
	[RULE_PRESSURE] = "pressure",
	[RULE_THROTTLED] = "throttled",
	[RULE_WAIT] = "wait",
	[RULE_RUNNABLE] = "runnable",
	[RULE_BLOCKED] = "blocked",
	[RULE_STILL] = "still",
};

const char *rule_metric_name(enum rule_metric metric)
{
	return metrics[metric];
}

bool rule_metric_find(const char *name, enum rule_metric *out)
{
	for (enum rule_metric i = 0; i < RULE_METRICS; i++) {
		if (strcmp(name, metrics[i]) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

enum rule_subject rule_subject(const struct rule *rule)
{
	if (rule->pid)
		return RULE_PROCESS;
	if (rule->comm[0])
		return RULE_COMM;
	if (rule->pod[0])
		return RULE_POD;
	if (rule->unit[0])
		return RULE_UNIT;
	return rule->container[0] ? RULE_CONTAINER : RULE_HOST;
}

bool rule_is_of_each(const struct rule *rule)
{
	return rule->comm[0] && !rule->container[0] && !rule->pod[0] && !rule->unit[0];
}

bool rule_is_of_threads(const struct rule *rule)
{
	enum rule_subject subject = rule_subject(rule);

	return rule->metric == RULE_RUNNABLE || rule->metric == RULE_BLOCKED ||
		subject == RULE_PROCESS || subject == RULE_COMM ||
		/* A pod's own cgroup has no threads: they are in its containers'. */
		(subject == RULE_POD && rule->metric == RULE_WAIT);
}

int rule_check(const struct rule *rule, struct why *why)
{
	enum rule_subject subject = rule_subject(rule);
	const char *name = metrics[rule->metric];

	if ((rule->above > 0) == (rule->below > 0))
		return why_set(why, -EINVAL, "a trap needs either above or below");
	if (rule->pid && (rule->container[0] || rule->pod[0] || rule->unit[0] || rule->comm[0]))
		return why_set(why, -EINVAL,
			"a pid is one process: it excludes container, pod, unit and comm");
	if ((rule->container[0] != 0) + (rule->pod[0] != 0) + (rule->unit[0] != 0) > 1)
		return why_set(why, -EINVAL,
			"container, pod and unit exclude each other: keep one of them");
	if (strlen(rule->comm) > RULE_COMM_MAX)
		return why_set(why, -EINVAL,
			"comm = %s is never found: the kernel keeps %d bytes of a name; give its "
			"first %d",
			rule->comm, RULE_COMM_MAX, RULE_COMM_MAX);
	if (rule->metric == RULE_THROTTLED && subject != RULE_CONTAINER && subject != RULE_POD &&
		subject != RULE_UNIT)
		return why_set(why, -EINVAL,
			"the metric throttled needs a container, whose quota it is of");
	if (rule->metric == RULE_PRESSURE && (subject == RULE_PROCESS || subject == RULE_COMM))
		return why_set(why, -EINVAL,
			"the metric %s is of a container or the host, and not of a process", name);
	if (rule->metric >= RULE_RUNNABLE && rule->above >= 1000)
		return why_set(why, -EINVAL, "%s is never above 100%%", name);
	return 0;
}

/* ---- one line ------------------------------------------------------------------------------- */

struct words {
	char all[WORDS_MAX][WORD_BYTES];
	size_t len;
};

static int cut_words(const char *text, struct words *words, struct why *why)
{
	words->len = 0;
	while (*(text += strspn(text, " \t"))) {
		size_t len = strchr("<>=", *text) ? strspn(text, "<>=") : strcspn(text, " \t<>=");

		if (words->len == WORDS_MAX || len >= WORD_BYTES)
			return why_set(why, -EINVAL, "unexpected: %.60s; expected " GRAMMAR, text);
		memcpy(words->all[words->len], text, len);
		words->all[words->len++][len] = '\0';
		text += len;
	}
	return 0;
}

static int parse_limit(const char *sign, const char *text, struct rule *rule, struct why *why)
{
	double amount;

	if (strcmp(sign, "<") != 0 && strcmp(sign, ">") != 0)
		return why_set(why, -EINVAL, "%s: expected < or >", sign);
	if (!amount_parse(AMOUNT_SHARE, text, &amount))
		return why_set(why, -EINVAL, "%s: expected %s", text, amount_example(AMOUNT_SHARE));
	if (amount < 1 || amount > PERMILLE_MAX)
		return why_set(why, -EINVAL, "%s is too %s: the limit is 0.1%% to 100000%%", text,
			amount < 1 ? "small" : "large");
	rule->above = *sign == '>' ? (uint64_t)amount : 0;
	rule->below = *sign == '<' ? (uint64_t)amount : 0;
	return 0;
}

static int parse_time(const char *word, const char *text, struct rule *rule, struct why *why)
{
	double amount;

	if (strcmp(word, "for") != 0)
		return why_set(why, -EINVAL, "%s: expected for, and a time", word);
	if (!amount_parse(AMOUNT_DURATION, text, &amount))
		return why_set(
			why, -EINVAL, "%s: expected %s", text, amount_example(AMOUNT_DURATION));
	if (amount < NSEC_PER_SEC || amount > FOR_MAX_NS)
		return why_set(why, -EINVAL, "for %s is too %s: the time is 1s to 1h", text,
			amount < NSEC_PER_SEC ? "short" : "long");
	rule->for_ns = (uint64_t)amount;
	return 0;
}

int rule_parse(const char *text, struct rule *rule, struct why *why)
{
	static const char *const missing[] = { METRIC_MISSING, "< or > after the metric",
		"a share such as 3%", "", "a time such as 2s after for" };
	struct rule made = *rule;
	struct words words;
	int err = cut_words(text, &words, why);

	if (err < 0)
		return err;
	if (words.len > 0 && !rule_metric_find(words.all[0], &made.metric))
		return why_set(why, -EINVAL, "%s: no such metric; there are " RULE_METRICS_TEXT,
			words.all[0]);
	made.for_ns = FOR_DEFAULT_NS;
	if (words.len >= 3)
		err = parse_limit(words.all[1], words.all[2], &made, why);
	else if (words.len == 2 && strcmp(words.all[1], "<") != 0 && strcmp(words.all[1], ">") != 0)
		return why_set(why, -EINVAL, "%s: expected < or >", words.all[1]);
	if (err == 0 && words.len >= 4)
		err = parse_time(words.all[3], words.len > 4 ? words.all[4] : "", &made, why);
	if (err == 0 && words.len > 5)
		err = why_set(why, -EINVAL, "unexpected: %s; expected " GRAMMAR, words.all[5]);
	if (words.len < 3 || (words.len == 4 && strcmp(words.all[3], "for") == 0))
		err = why_set(why, -EINVAL, "it lacks %s: expected " GRAMMAR, missing[words.len]);
	if (err == 0)
		*rule = made;
	return err;
}

void rule_put_limit(const struct rule *rule, char *out, size_t size)
{
	snprintf(out, size, "%s %.15g %% for %.15g s", rule->above ? "above" : "below",
		(double)(rule->above ? rule->above : rule->below) / 10, (double)rule->for_ns / 1e9);
}

uint32_t rules_hz_max(const struct rules *rules, uint64_t hz)
{
	for (size_t i = 0; i < rules->len; i++)
		if (rules->all[i].hz > hz)
			hz = rules->all[i].hz;
	return (uint32_t)hz;
}

bool rules_of_processes(const struct rules *rules)
{
	for (size_t i = 0; i < rules->len; i++)
		if (rules->all[i].pid || rules->all[i].comm[0])
			return true;
	return false;
}
