/* SPDX-License-Identifier: Apache-2.0 */
/* sink/speedscope.c - speedscope's own format (www.speedscope.app/file-format-schema.json), which
 * has the exact weight of each stack; from perf text, speedscope guesses weights from times.
 * All samples of a kind are one profile, below the frames of --by. Where --by has tid, each thread
 * is a profile for each kind, with its stacks in the order of time. */
#include "sink/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/radix.h"
#include "base/strtab.h"
#include "sink/guessed.h"
#include "sink/json.h"

struct entry {
	uint32_t group; /* kind and group of the profile that it is in; sorted by it */
	uint32_t sample;
	uint64_t weight;
};

struct speedscope {
	const struct profile *profile;
	const struct sink_options *options;
	struct buf *out;
	bool by_tid;
	struct strtab groups; /* names of the groups; by_tid: from 1 on */
	uint32_t groups_max;  /* group = kind * groups_max + the id of its name */
	uint64_t *totals;     /* by group */
	uint32_t *group_of;   /* by labels */
	uint32_t *frame_of;   /* by frame: where it is in shared.frames */
	uint32_t *label_of;   /* by labels and place in --by, likewise */
	uint32_t frames_len;
	VEC(struct entry) entries;
};

static void speedscope_done(struct speedscope *w)
{
	strtab_done(&w->groups);
	free(w->totals);
	free(w->group_of);
	free(w->frame_of);
	free(w->label_of);
	vec_done(&w->entries);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void put_frame(struct speedscope *w, const char *name, const char *file, uint32_t line)
{
	buf_puts(w->out, w->frames_len++ > 0 ? ",\n{\"name\":" : "\n{\"name\":");
	json_put(w->out, *name ? name : "?");
	if (*file) {
		buf_puts(w->out, ",\"file\":");
		json_put(w->out, file);
	}
	if (line > 0)
		buf_printf(w->out, ",\"line\":%u", line);
	buf_putc(w->out, '}');
}

/* The frame without its place in the file. */
static struct profile_frame without_place(const struct profile_frame *frame)
{
	struct profile_frame f = *frame;

	f.address = f.object = 0;
	return f;
}

/* The same function at another address is the same frame. */
static void put_frames(struct speedscope *w)
{
	const struct profile *p = w->profile;
	_cleanup_(hash_done) struct hash known = HASH_INIT;

	for (size_t i = 0; i < p->frames.len; i++) {
		struct profile_frame f = without_place(&p->frames.data[i]), other;
		uint64_t key = hash_bytes(&f, sizeof(f)), *have;

		for (; (have = hash_find(&known, key)); key++) {
			other = without_place(&p->frames.data[*have]);
			if (memcmp(&f, &other, sizeof(f)) == 0)
				break;
		}
		w->frame_of[i] = have ? w->frame_of[*have] : w->frames_len;
		if (have)
			continue;
		buf_fail(w->out, hash_put(&known, key, i));
		put_frame(w, profile_text(p, f.name), profile_text(p, f.file ? f.file : f.module),
			f.line);
	}
}

static void put_label_frames(struct speedscope *w)
{
	const struct profile *p = w->profile;
	_cleanup_(strtab_done) struct strtab texts = { 0 };
	uint32_t first = w->frames_len - 1; /* the first text has id 1 */

	buf_fail(w->out, strtab_init(&texts));
	for (size_t i = 0; i < p->labels.len; i++) {
		for (uint32_t k = 0; k < w->options->by_len; k++) {
			char number[SINK_NUMBER_MAX];
			const char *text =
				sink_by_label(p, w->options, (uint32_t)i, k, number);
			uint32_t id = 0, had = texts.len;

			buf_fail(w->out, strtab_puts(&texts, text, &id));
			if (buf_err(w->out) < 0)
				return;
			w->label_of[i * SINK_BY_MAX + k] = first + id;
			if (texts.len > had)
				put_frame(w, text, "", 0);
		}
	}
}

/* ---- which profile --------------------------------------------------------------------------- */

/* "nginx 4711 4712" */
static void name_group(struct speedscope *w, uint32_t labels)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT;

	for (uint32_t k = 0; k < w->options->by_len; k++) {
		char number[SINK_NUMBER_MAX];

		if (k > 0)
			buf_putc(&name, ' ');
		buf_puts(&name,
			sink_by_label(w->profile, w->options, labels, k, number));
	}
	buf_fail(w->out, buf_err(&name));
	buf_fail(w->out, strtab_put(&w->groups, buf_text(&name), name.len, &w->group_of[labels]));
}

static void add_entry(struct speedscope *w, uint32_t sample, uint64_t weight)
{
	const struct profile_sample *of = &w->profile->samples.data[sample];
	struct entry *slot = weight > 0 ? vec_add(&w->entries) : NULL;
	uint32_t group = of->kind * w->groups_max + w->group_of[of->labels];

	if (!slot) {
		buf_fail(w->out, weight > 0 ? -ENOMEM : 0);
		return;
	}
	if (w->profile->kinds_len > 1)
		weight = profile_kind_amount(w->profile, of->kind, weight);
	*slot = (struct entry){ group, sample, weight };
	w->totals[group] += weight;
}

/* Ticks in their order; then what has no time. */
static void add_entries(struct speedscope *w)
{
	const struct profile *p = w->profile;
	_cleanup_(freep) uint64_t *timed = calloc(p->samples.len + 1, sizeof(*timed));

	if (!timed) {
		buf_fail(w->out, -ENOMEM);
		return;
	}
	for (size_t i = 0; w->by_tid && i < p->ticks.len; i++) {
		add_entry(w, p->ticks.data[i].sample, 1);
		timed[p->ticks.data[i].sample]++;
	}
	for (size_t i = 0; i < p->samples.len; i++)
		add_entry(w, (uint32_t)i, p->samples.data[i].value - timed[i]);
	buf_fail(w->out, radix_sort32(w->entries.data, w->entries.len, sizeof(*w->entries.data)));
}

static int begin(struct speedscope *w)
{
	const struct profile *p = w->profile;

	buf_fail(w->out, strtab_init(&w->groups));
	w->by_tid = sink_wants(w->options, PROFILE_KEY_TID);
	w->groups_max = (uint32_t)p->labels.len + 1;
	w->totals = calloc((size_t)w->groups_max * p->kinds_len, sizeof(*w->totals));
	w->group_of = calloc(p->labels.len + 1, sizeof(*w->group_of));
	w->frame_of = calloc(p->frames.len + 1, sizeof(*w->frame_of));
	w->label_of = calloc(p->labels.len * SINK_BY_MAX + 1, sizeof(*w->label_of));
	if (!w->totals || !w->group_of || !w->frame_of || !w->label_of)
		return buf_fail(w->out, -ENOMEM);
	for (uint32_t i = 0; w->by_tid && i < p->labels.len; i++)
		name_group(w, i);
	add_entries(w);
	return buf_err(w->out);
}

/* ---- profiles ---------------------------------------------------------------------------------
 */

static void put_stack(struct speedscope *w, const struct entry *entry, bool first)
{
	const struct profile *p = w->profile;
	const struct profile_sample *sample = &p->samples.data[entry->sample];
	const struct profile_stack *stack = &p->stacks.data[sample->stack];
	const char *comma = "";

	buf_puts(w->out, first ? "[" : ",[");
	for (uint32_t k = 0; !w->by_tid && k < w->options->by_len; k++, comma = ",")
		buf_printf(w->out, "%s%u", comma, w->label_of[sample->labels * SINK_BY_MAX + k]);
	for (uint32_t i = stack->len; i-- > 0; comma = ",")
		buf_printf(w->out, "%s%u", comma, w->frame_of[p->frame_ids.data[stack->first + i]]);
	buf_putc(w->out, ']');
}

/* Of one kind the weights are its values, as they were counted. */
static const char *unit_of(const struct profile *p, uint32_t kind)
{
	const char *unit = profile_kind_amount_unit(p, kind);

	if (strcmp(unit, "bytes") == 0)
		return unit;
	if (p->kinds[kind].unit == 0 && p->kinds_len == 1)
		return "none";
	return profile_kind_is_time(p, kind) ? unit : "none";
}

/* Samples of a CPU clock or of an event alone go without saying. */
static bool names_kinds(const struct profile *p)
{
	return p->kinds_len > 1 || p->kinds[0].unit != 0;
}

/* all: the name of a profile that has all samples of its kind. */
static void put_name(struct speedscope *w, uint32_t group, const char *all)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT;
	const struct profile *p = w->profile;

	if (names_kinds(p))
		buf_puts(&name, profile_kind_name(p, group / w->groups_max));
	if (w->by_tid)
		buf_printf(&name, "%s%s", names_kinds(p) ? ": " : "",
			strtab_get(&w->groups, group % w->groups_max));
	buf_fail(w->out, buf_err(&name));
	json_put(w->out, p->kinds_len > 1 || w->by_tid ? buf_text(&name) : all);
}

static void put_profile(struct speedscope *w, const struct entry *entries, size_t len,
	uint32_t group, const char *all)
{
	buf_puts(w->out, "{\"type\":\"sampled\",\"name\":");
	put_name(w, group, all);
	buf_printf(w->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"samples\":[",
		unit_of(w->profile, group / w->groups_max), (unsigned long long)w->totals[group]);
	for (size_t i = 0; i < len; i++)
		put_stack(w, &entries[i], i == 0);
	buf_puts(w->out, "],\n\"weights\":[");
	for (size_t i = 0; i < len; i++)
		buf_printf(
			w->out, "%s%llu", i > 0 ? "," : "", (unsigned long long)entries[i].weight);
	buf_puts(w->out, "]}");
}

/* speedscope opens the profile with most samples of kind 0 first. all: the name of the profile of
 * all threads. */
static void put_profiles(struct speedscope *w, const char *all)
{
	uint64_t most = 0;
	size_t at = 0, active = 0, len = w->entries.len;
	unsigned int count = 0;

	buf_puts(w->out, "]},\n\"profiles\":[");
	do {
		uint32_t group = len > 0 ? w->entries.data[at].group : 0;
		size_t from = at;

		while (at < len && w->entries.data[at].group == group)
			at++;
		if (group < w->groups_max && w->totals[group] > most) {
			most = w->totals[group];
			active = count;
		}
		if (count++ > 0)
			buf_puts(w->out, ",\n");
		put_profile(w, len > 0 ? w->entries.data + from : NULL, at - from, group, all);
	} while (at < len);
	buf_printf(w->out, "],\n\"activeProfileIndex\":%zu}\n", active);
}

int speedscope_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(speedscope_done) struct speedscope w = { p, options, .out = out };
	_cleanup_(buf_done) struct buf all = BUF_INIT;
	char guessed[GUESSED_MAX];

	if (begin(&w) < 0)
		return buf_err(out);
	guessed_text(p, guessed);
	buf_printf(&all, "%s%s%s", names_kinds(p) ? profile_kind_name(p, 0) : "all",
		*guessed ? ", " : "", guessed);
	buf_printf(out,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"stoker\",\"name\":\"stoker%s%s\",\n\"shared\":{\"frames\":[",
		*guessed ? ", " : "", guessed);
	put_frames(&w);
	if (!w.by_tid)
		put_label_frames(&w);
	buf_fail(out, buf_err(&all));
	put_profiles(&w, buf_text(&all));
	return buf_err(out);
}
