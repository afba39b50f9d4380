/* SPDX-License-Identifier: Apache-2.0 */
/* profile/kinds.c - the table of kinds. Names and units are interned, so a kind costs a few bytes,
 * and a profile of one kind costs what it did without the table. */
#include "profile/kinds.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "profile/profile.h"

#define PERF_CPU "cpu-clock" /* perf's name of it */
#define NS_PER_S 1e9

const char *profile_kind_name(const struct profile *p, uint32_t kind)
{
	const char *name = profile_text(p, p->kinds[kind].name);

	return *name ? name : PROFILE_CPU;
}

const char *profile_kind_unit(const struct profile *p, uint32_t kind)
{
	const char *unit = profile_text(p, p->kinds[kind].unit);

	return *unit ? unit : PROFILE_SAMPLES;
}

const char *profile_kind_unit_scaled(
	const struct profile *p, uint32_t kind, char text[PROFILE_UNIT_MAX])
{
	if (p->kinds[kind].scale == 1)
		snprintf(text, PROFILE_UNIT_MAX, "%s", profile_kind_unit(p, kind));
	else
		snprintf(text, PROFILE_UNIT_MAX, "%.36s/%u", profile_kind_unit(p, kind),
			p->kinds[kind].scale);
	return text;
}

uint32_t profile_kind_find(const struct profile *p, const char *name, size_t len)
{
	for (uint32_t kind = 0; kind < p->kinds_len; kind++) {
		const char *of_kind = profile_kind_name(p, kind);

		if (strlen(of_kind) == len && memcmp(of_kind, name, len) == 0)
			return kind;
	}
	return PROFILE_NO_KIND;
}

int profile_kind(struct profile *p, const char *name, size_t len, uint32_t *kind)
{
	struct profile_kind made = { .scale = 1 };

	*kind = profile_kind_find(p, name, len);
	if (*kind != PROFILE_NO_KIND)
		return 0;
	if (p->kinds_len == PROFILE_KINDS_MAX)
		return -ENOSPC;
	if (strtab_put(&p->strings, name, len, &made.name) < 0)
		return -ENOMEM;
	*kind = p->kinds_len++;
	p->kinds[*kind] = made;
	return 0;
}

void profile_set_scale(struct profile *p, uint32_t kind, uint32_t scale)
{
	assert(scale > 0 && scale % p->kinds[kind].scale == 0);
	vec_each (&p->samples, sample)
		if (sample->kind == kind)
			sample->value *= scale / p->kinds[kind].scale;
	p->kinds[kind].scale = scale;
}

static bool has_period(const struct profile *p, uint32_t kind)
{
	return p->kinds[kind].unit == 0 && p->kinds[kind].period_ns > 0;
}

bool profile_kind_is_time(const struct profile *p, uint32_t kind)
{
	return strcmp(profile_kind_amount_unit(p, kind), PROFILE_NANOSECONDS) == 0;
}

const char *profile_kind_amount_unit(const struct profile *p, uint32_t kind)
{
	if (has_period(p, kind))
		return PROFILE_NANOSECONDS;
	return p->kinds[kind].unit == 0 ? "count" : profile_kind_unit(p, kind);
}

uint64_t profile_kind_amount(const struct profile *p, uint32_t kind, uint64_t value)
{
	uint64_t amount, each = has_period(p, kind) ? p->kinds[kind].period_ns : 1;

	if (__builtin_mul_overflow(value, each, &amount) || amount > INT64_MAX)
		return INT64_MAX;
	return amount;
}

const char *profile_amount_text(const char *unit, uint64_t value, char text[PROFILE_AMOUNT_MAX])
{
	double seconds = (double)value / NS_PER_S;

	if (strcmp(unit, PROFILE_NANOSECONDS) == 0)
		snprintf(text, PROFILE_AMOUNT_MAX, "%.*f s", seconds < 10 ? 3 : 1, seconds);
	else
		snprintf(text, PROFILE_AMOUNT_MAX, "%llu %.48s", (unsigned long long)value, unit);
	return text;
}

uint64_t profile_kind_total(const struct profile *p, uint32_t kind)
{
	uint64_t total = 0;

	vec_each (&p->samples, sample)
		total += sample->kind == kind ? sample->value : 0;
	return total;
}

/* ---- a selection ----------------------------------------------------------------------------- */

struct selection {
	uint32_t to[PROFILE_KINDS_MAX]; /* by kind: its new number, or PROFILE_NO_KIND */
	uint32_t *samples;              /* by sample: likewise */
};

static void move_table(struct profile *p, const uint32_t *kinds, uint32_t len, struct selection *s)
{
	struct profile_kind table[PROFILE_KINDS_MAX] = { 0 };

	for (uint32_t kind = 0; kind < PROFILE_KINDS_MAX; kind++)
		s->to[kind] = PROFILE_NO_KIND;
	for (uint32_t i = 0; i < len; i++) {
		table[i] = p->kinds[kinds[i]];
		s->to[kinds[i]] = i;
	}
	memcpy(p->kinds, table, sizeof(table));
	p->kinds_len = len;
}

static int move_samples(struct profile *p, struct selection *s)
{
	size_t kept = 0;
	int err = 0;

	for (uint32_t kind = 0; kind < PROFILE_KINDS_MAX; kind++)
		hash_clear(&p->sample_index[kind]);
	for (size_t i = 0; i < p->samples.len && err == 0; i++) {
		struct profile_sample *sample = &p->samples.data[i];

		s->samples[i] = UINT32_MAX;
		if (s->to[sample->kind] == PROFILE_NO_KIND)
			continue;
		sample->kind = s->to[sample->kind];
		s->samples[i] = (uint32_t)kept;
		p->samples.data[kept] = *sample;
		err = hash_put(&p->sample_index[sample->kind],
			(uint64_t)sample->stack << 32 | sample->labels, kept++);
	}
	p->samples.len = kept;
	return err;
}

int profile_select_kinds(struct profile *p, const uint32_t *kinds, uint32_t len)
{
	struct selection s = { .samples = calloc(p->samples.len + 1, sizeof(uint32_t)) };
	size_t kept = 0;
	int err;

	assert(len > 0 && len <= p->kinds_len);
	if (!s.samples)
		return -ENOMEM;
	move_table(p, kinds, len, &s);
	err = move_samples(p, &s);
	for (size_t i = 0; i < p->ticks.len && err == 0; i++) {
		struct profile_tick *tick = &p->ticks.data[i];

		if (s.samples[tick->sample] == UINT32_MAX)
			continue;
		tick->sample = s.samples[tick->sample];
		p->ticks.data[kept++] = *tick;
	}
	p->ticks.len = kept;
	p->spans.len = 0; /* files have none */
	free(s.samples);
	return err;
}

/* The kind whose name is at the beginning; NULL as *rest: at the end. */
static uint32_t find_first(const struct profile *p, const char *names, const char **rest)
{
	for (uint32_t kind = 0; kind < p->kinds_len; kind++) {
		const char *name = profile_kind_name(p, kind);
		size_t len = strlen(name);

		if (strcmp(name, PROFILE_CPU) == 0 &&
			strncmp(names, PERF_CPU, strlen(PERF_CPU)) == 0)
			len = strlen(name = PERF_CPU);
		if (strncmp(names, name, len) == 0 && (names[len] == ',' || names[len] == '\0')) {
			*rest = names[len] == ',' ? names + len + 1 : NULL;
			return kind;
		}
	}
	return PROFILE_NO_KIND;
}

int profile_choose_kinds(struct profile *p, const char *names)
{
	uint32_t kinds[PROFILE_KINDS_MAX], len = 0;

	while (names) {
		uint32_t kind = find_first(p, names, &names);

		if (kind == PROFILE_NO_KIND)
			return -ENOENT;
		for (uint32_t i = 0; i < len; i++)
			if (kinds[i] == kind)
				return -ENOENT;
		kinds[len++] = kind;
	}
	return profile_select_kinds(p, kinds, len);
}
