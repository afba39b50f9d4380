/* SPDX-License-Identifier: Apache-2.0 */
/* sink/lost.c - the table of formats says what each of them holds, so one place counts for all. */
#include "sink/lost.h"

#include <stdio.h>
#include <string.h>

#include "sink/sink.h"

static void add_name(struct sink_lost *lost, const char *name)
{
	size_t len = strlen(lost->names);

	if (!strstr(lost->names, name) && len + strlen(name) + 3 < sizeof(lost->names))
		snprintf(lost->names + len, sizeof(lost->names) - len, "%s%s",
			len > 0 ? ", " : "", name);
}

static void add_kinds(struct sink_lost *lost, const struct profile *p)
{
	for (uint32_t kind = 1; kind < p->kinds_len; kind++) {
		uint64_t total = profile_kind_total(p, kind);

		if (total > 0)
			add_name(lost, profile_kind_name(p, kind));
		if (total > 0 && lost->unit[0] == '\0')
			snprintf(lost->unit, sizeof(lost->unit), "%s", profile_kind_unit(p, kind));
		else if (total > 0 && strcmp(lost->unit, profile_kind_unit(p, kind)) != 0)
			snprintf(lost->unit, sizeof(lost->unit), "of several units");
		lost->kinds += total;
	}
}

/* Free labels of a set that --by does not name. */
static uint32_t left_out(
	const struct profile *p, uint32_t labels, const struct sink_options *o, bool by)
{
	uint32_t count = profile_labels_free(p, labels);

	for (uint32_t i = 0; by && count > 0 && i < o->free_len; i++) {
		uint32_t key = profile_key_find(p, o->free[i], strlen(o->free[i]));

		if (key != PROFILE_NO_KEY && profile_label(p, labels, key) != 0)
			count--;
	}
	return count;
}

static bool is_samples(const struct profile *p, uint32_t kind)
{
	return strcmp(profile_kind_unit(p, kind), PROFILE_SAMPLES) == 0;
}

static bool is_written(const struct sink *sink, const struct profile_sample *sample)
{
	return sample->kind == 0 || sink->holds & SINK_KINDS;
}

void sink_lost_add(struct sink_lost *lost, const struct sink *sink, const struct sink_options *o,
	const struct profile *p)
{
	lost->by = sink->holds & SINK_LABELS_BY;
	if (!(sink->holds & SINK_KINDS))
		add_kinds(lost, p);
	if (!(sink->holds & SINK_EVENTS))
		lost->events += p->events.len;
	if (p->free_keys.len == 0 || sink->holds & SINK_LABELS)
		return;
	vec_each (&p->samples, sample)
		if (is_written(sink, sample) && left_out(p, sample->labels, o, lost->by) > 0)
			lost->labels += is_samples(p, sample->kind) ? sample->value : 1;
}

const char *sink_lost_text(const struct sink_lost *lost, const struct sink *sink, uint32_t i,
	char text[SINK_LOST_TEXT_MAX])
{
	if (lost->kinds > 0 && i-- == 0)
		snprintf(text, SINK_LOST_TEXT_MAX,
			"%s has one kind of value: left out %s (%llu %s); -e chooses a kind",
			sink->name, lost->names, (unsigned long long)lost->kinds, lost->unit);
	else if (lost->labels > 0 && i-- == 0)
		snprintf(text, SINK_LOST_TEXT_MAX,
			"%s has no place for all labels of %llu samples%s", sink->name,
			(unsigned long long)lost->labels,
			lost->by ? "; --by " PROFILE_FREE_PREFIX "NAME keeps one" : "");
	else if (lost->events > 0 && i == 0)
		snprintf(text, SINK_LOST_TEXT_MAX, "%s has no place for events: left out %llu",
			sink->name, (unsigned long long)lost->events);
	else
		return NULL;
	return text;
}
