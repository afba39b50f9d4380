/* SPDX-License-Identifier: Apache-2.0 */
/* sink/lost.c - the table of formats says what each of them holds, so one place counts for all. */
#include "sink/lost.h"

#include <stdio.h>
#include <string.h>

#include "profile/words.h"
#include "sink/sink.h"

#define KEYS_SAID_MAX 4
#define MORE ", ..." /* where there is no room for a name */

static uint32_t count_names(const char *names)
{
	uint32_t count = *names ? 1 : 0;

	for (; *names; names++)
		count += *names == ',';
	return count;
}

static void add_name(char names[SINK_LOST_NAMES_MAX], const char *name, uint32_t most)
{
	size_t len = strlen(names), room = SINK_LOST_NAMES_MAX - strlen(MORE);

	if (words_listed(names, name) || words_listed(names, "..."))
		return;
	if (count_names(names) < most && len + strlen(name) + 3 < room)
		snprintf(names + len, room - len, "%s%s", len > 0 ? ", " : "", name);
	else
		snprintf(names + len, SINK_LOST_NAMES_MAX - len, "%s", len > 0 ? MORE : "...");
}

static void add_kinds(struct sink_lost *lost, const struct profile *p)
{
	for (uint32_t kind = 1; kind < p->kinds_len; kind++) {
		uint64_t total = profile_kind_total(p, kind);

		if (total > 0)
			add_name(lost->names, profile_kind_name(p, kind), PROFILE_KINDS_MAX);
		if (total > 0 && lost->unit[0] == '\0')
			snprintf(lost->unit, sizeof(lost->unit), "%s", profile_kind_unit(p, kind));
		else if (total > 0 && strcmp(lost->unit, profile_kind_unit(p, kind)) != 0)
			snprintf(lost->unit, sizeof(lost->unit), "of several units");
		lost->kinds += total;
	}
}

static bool is_samples(const struct profile *p, uint32_t kind)
{
	return strcmp(profile_kind_unit(p, kind), PROFILE_SAMPLES) == 0;
}

static bool is_written(const struct sink *sink, const struct profile_sample *sample)
{
	return sample->kind == 0 || sink->holds & SINK_KINDS;
}

/* The keys of a profile. */
struct keys {
	bool kept[PROFILE_KEYS_MAX]; /* by --by */
	uint32_t idle;
};

static void find_keys(
	const struct profile *p, const struct sink_options *o, bool by, struct keys *keys)
{
	memset(keys, 0, sizeof(*keys));
	keys->idle = profile_key_find(p, PROFILE_IDLE_KEY, strlen(PROFILE_IDLE_KEY));
	for (uint32_t i = 0; by && i < o->free_len; i++) {
		uint32_t key = profile_key_find(p, o->free[i], strlen(o->free[i]));

		if (key != PROFILE_NO_KEY)
			keys->kept[key] = true;
	}
}

/* Nobody misses that threads are idle alone: it shows in their stacks. */
static void add_labels(struct sink_lost *lost, const struct profile *p,
	const struct profile_sample *sample, const struct keys *keys)
{
	const struct profile_label_set *set = &p->labels.data[sample->labels];
	uint64_t weight = is_samples(p, sample->kind) ? sample->value : 1;
	bool any = false, missed = false;

	if (profile_labels_free(p, sample->labels) == 0)
		return;
	for (uint32_t i = 0; i < set->len; i++) {
		uint32_t key = p->label_list.data[set->first + i].key;

		if (key < PROFILE_KEYS || keys->kept[key])
			continue;
		any = true;
		missed |= key != keys->idle;
		if (key != keys->idle)
			add_name(lost->keys, profile_key_name(p, key), KEYS_SAID_MAX);
	}
	lost->labels += any * weight;
	lost->missed += missed * weight;
}

void sink_lost_add(struct sink_lost *lost, const struct sink *sink, const struct sink_options *o,
	const struct profile *p)
{
	struct keys keys;

	lost->by = sink->holds & SINK_LABELS_BY;
	if (!(sink->holds & SINK_KINDS))
		add_kinds(lost, p);
	if (!(sink->holds & SINK_EVENTS))
		lost->events += p->events.len;
	if (p->free_keys.len == 0 || sink->holds & SINK_LABELS)
		return;
	find_keys(p, o, lost->by, &keys);
	vec_each (&p->samples, sample)
		if (is_written(sink, sample))
			add_labels(lost, p, sample, &keys);
}

const char *sink_lost_text(const struct sink_lost *lost, const struct sink *sink, uint32_t i,
	char text[SINK_LOST_TEXT_MAX])
{
	char amount[PROFILE_AMOUNT_MAX];

	if (lost->kinds > 0 && i-- == 0)
		snprintf(text, SINK_LOST_TEXT_MAX,
			"%s has one kind of value: left out %s (%s); -e chooses a kind", sink->name,
			lost->names, profile_amount_text(lost->unit, lost->kinds, amount));
	else if (lost->missed > 0 && i-- == 0)
		snprintf(text, SINK_LOST_TEXT_MAX,
			"%s has no place for all labels of %llu samples: left out %s%s", sink->name,
			(unsigned long long)lost->missed, lost->keys,
			lost->by ? "; --by " PROFILE_FREE_PREFIX "NAME keeps one" : "");
	else if (lost->events > 0 && i == 0)
		snprintf(text, SINK_LOST_TEXT_MAX, "%s has no place for events: left out %llu",
			sink->name, (unsigned long long)lost->events);
	else
		return NULL;
	return text;
}
