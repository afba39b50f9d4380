/* SPDX-License-Identifier: Apache-2.0 */
/* profile/slice.c - copies strings, frames, stacks and labels at first use, so that the result
 * contains only what it needs. */
#include "profile/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define UNKNOWN 0 /* in the tables below: ids are one more */

struct slicer {
	const struct profile *from;
	struct profile *to;
	uint32_t *strings, *frames, *stacks, *labels; /* old id → new one + 1 */
	uint32_t kinds[PROFILE_KINDS_MAX];            /* likewise */
	VEC(uint32_t) ids;
};

static void slicer_done(struct slicer *s)
{
	free(s->strings);
	free(s->frames);
	free(s->stacks);
	free(s->labels);
	vec_done(&s->ids);
}

static int move_string(struct slicer *s, uint32_t *id)
{
	uint32_t *known = &s->strings[*id], to;
	int err = 0;

	if (*known == UNKNOWN) {
		err = profile_string(s->to, profile_text(s->from, *id), &to);
		if (err < 0)
			return err;
		*known = to + 1;
	}
	*id = *known - 1;
	return err;
}

static int move_object(struct slicer *s, uint32_t *id)
{
	struct profile_object object;
	int err;

	if (*id == 0)
		return 0;
	object = s->from->objects.data[*id - 1];
	err = move_string(s, &object.path);
	if (err == 0)
		err = move_string(s, &object.build_id);
	return err < 0 ? err : profile_object(s->to, &object, id);
}

static int move_frame(struct slicer *s, uint32_t *id)
{
	struct profile_frame frame = s->from->frames.data[*id];
	uint32_t *known = &s->frames[*id], to = 0;
	int err;

	if (*known != UNKNOWN) {
		*id = *known - 1;
		return 0;
	}
	err = move_string(s, &frame.name);
	if (err == 0)
		err = move_string(s, &frame.module);
	if (err == 0)
		err = move_string(s, &frame.file);
	if (err == 0)
		err = move_object(s, &frame.object);
	if (err == 0)
		err = profile_frame(s->to, &frame, &to);
	if (err < 0)
		return err;
	*known = to + 1;
	*id = to;
	return 0;
}

static int move_stack(struct slicer *s, uint32_t *id)
{
	const struct profile_stack *stack = &s->from->stacks.data[*id];
	uint32_t *known = &s->stacks[*id], to = 0;
	int err = 0;

	if (*known != UNKNOWN) {
		*id = *known - 1;
		return 0;
	}
	s->ids.len = 0;
	for (uint32_t i = 0; i < stack->len && err == 0; i++) {
		uint32_t *slot = vec_add(&s->ids);

		if (!slot)
			return -ENOMEM;
		*slot = s->from->frame_ids.data[stack->first + i];
		err = move_frame(s, slot);
	}
	if (err == 0)
		err = profile_stack(s->to, s->ids.data, stack->len, &to);
	if (err < 0)
		return err;
	*known = to + 1;
	*id = to;
	return 0;
}

/* Free keys have other ids there. */
static int move_label(
	struct slicer *s, const struct profile_label *label, struct profile_labels *labels)
{
	const char *name = profile_key_name(s->from, label->key), *value;

	if (profile_key_is_number(label->key)) {
		profile_labels_set_number(labels, label->key, (int32_t)label->value);
		return 0;
	}
	value = profile_text(s->from, label->value);
	return profile_labels_put(s->to, labels, name, strlen(name), value, strlen(value));
}

static int move_labels(struct slicer *s, uint32_t *id)
{
	struct profile_labels from, labels = { 0 };
	uint32_t *known = &s->labels[*id], to;
	int err = 0;

	if (*known != UNKNOWN) {
		*id = *known - 1;
		return 0;
	}
	profile_labels_get(s->from, *id, &from);
	for (uint32_t i = 0; i < from.len && err == 0; i++)
		err = move_label(s, &from.list[i], &labels);
	if (err == 0)
		err = profile_labels(s->to, &labels, &to);
	if (err < 0)
		return err;
	*known = to + 1;
	*id = to;
	return 0;
}

/* Kind 0 stays it. *to: PROFILE_NO_KIND if there is no room for another kind. */
static int move_kind(struct slicer *s, uint32_t kind, uint32_t *to)
{
	const char *name = profile_kind_name(s->from, kind), *unit;
	uint32_t had = s->to->kinds_len;
	int err = 0;

	*to = kind == 0 ? 0 : s->kinds[kind] - 1;
	if (kind == 0 || s->kinds[kind] != UNKNOWN)
		return 0;
	err = profile_kind(s->to, name, strlen(name), to);
	*to = err == -ENOSPC ? PROFILE_NO_KIND : *to;
	if (err < 0)
		return err == -ENOSPC ? 0 : err;
	s->kinds[kind] = *to + 1;
	if (s->to->kinds_len == had)
		return 0;
	unit = profile_text(s->from, s->from->kinds[kind].unit);
	s->to->kinds[*to].scale = s->from->kinds[kind].scale;
	s->to->kinds[*to].period_ns = s->from->kinds[kind].period_ns;
	return profile_string(s->to, unit, &s->to->kinds[*to].unit);
}

/* Makes the sample one of the other profile; *kind: PROFILE_NO_KIND if it has no room for it. */
static int move_parts(struct slicer *s, struct profile_sample *sample, uint32_t *kind)
{
	int err = move_kind(s, sample->kind, kind);

	if (err < 0 || *kind == PROFILE_NO_KIND)
		return err;
	err = move_stack(s, &sample->stack);
	return err < 0 ? err : move_labels(s, &sample->labels);
}

/* Its ticks, count of them, over the time up to when it was. */
static int move_tick(
	struct slicer *s, const struct profile_tick *tick, uint64_t count, uint64_t since_ns)
{
	struct profile_sample sample = s->from->samples.data[tick->sample];
	uint64_t step_ns = count > 1 ? s->from->kinds[0].period_ns / count : 0;
	uint32_t kind;
	int err = move_parts(s, &sample, &kind);

	if (err == 0 && kind == PROFILE_NO_KIND) {
		s->to->ticks_dropped++;
		return 0;
	}
	for (uint64_t i = count; i-- > 0 && err == 0;) {
		uint64_t back_ns = i * step_ns;
		uint64_t at_ns =
			tick->time_ns - since_ns > back_ns ? tick->time_ns - back_ns : since_ns;

		err = profile_tick_kind(s->to, sample.stack, sample.labels, kind, tick->cpu, at_ns);
	}
	return err;
}

/* A sample without ticks. */
static int move_sample(struct slicer *s, const struct profile_sample *from)
{
	struct profile_sample sample = *from;
	uint32_t kind;
	int err = move_parts(s, &sample, &kind);

	return err < 0 || kind == PROFILE_NO_KIND
		? err
		: profile_add_kind(s->to, sample.stack, sample.labels, kind, sample.value);
}

/* The part of the sample that is a span. */
static int move_span(
	struct slicer *s, const struct profile_sample *from, uint64_t since_ns, uint64_t until_ns)
{
	struct profile_sample sample = *from;
	uint32_t kind;
	int err = move_parts(s, &sample, &kind);

	return err < 0 || kind == PROFILE_NO_KIND
		? err
		: profile_span(s->to, sample.stack, sample.labels, kind, since_ns, until_ns);
}

static int slicer_init(struct slicer *s, const struct profile *from, struct profile *to)
{
	*s = (struct slicer){
		.from = from,
		.to = to,
		.strings = calloc(from->strings.len + 1, sizeof(uint32_t)),
		.frames = calloc(from->frames.len + 1, sizeof(uint32_t)),
		.stacks = calloc(from->stacks.len + 1, sizeof(uint32_t)),
		.labels = calloc(from->labels.len + 1, sizeof(uint32_t)),
	};
	return s->strings && s->frames && s->stacks && s->labels ? 0 : -ENOMEM;
}

static bool is_label(const struct profile *p, uint32_t labels, uint32_t key, const char *wanted)
{
	return !wanted || strcmp(profile_label_text(p, labels, key), wanted) == 0;
}

static bool are_labels(const struct profile *p, uint32_t labels, const struct slice *w)
{
	return is_label(p, labels, PROFILE_KEY_CONTAINER, w->container) &&
		is_label(p, labels, PROFILE_KEY_POD, w->pod) &&
		is_label(p, labels, PROFILE_KEY_NAMESPACE, w->namespace_);
}

static bool is_wanted(
	const struct profile *p, uint64_t time_ns, uint32_t labels, const struct slice *w)
{
	return time_ns >= w->since_ns && time_ns < w->until_ns && are_labels(p, labels, w);
}

/* How many ticks one of this profile's becomes. */
static uint64_t weigh(const struct profile *p, const struct profile_tick *tick, struct slice *w)
{
	uint64_t count;

	if (w->period_ns == 0 || p->samples.data[tick->sample].kind != 0)
		return 1;
	w->rest_ns += p->kinds[0].period_ns;
	count = w->rest_ns / w->period_ns;
	w->rest_ns %= w->period_ns;
	return count;
}

static int move_event(struct slicer *s, const struct profile_event *event)
{
	struct profile_event moved = *event;
	int err = event->stack == PROFILE_NO_STACK ? 0 : move_stack(s, &moved.stack);

	if (err == 0)
		err = move_labels(s, &moved.labels);
	return err < 0 ? err : profile_event(s->to, &moved, profile_text(s->from, event->text));
}

static int move_spans(struct slicer *s, const struct slice *w, uint64_t *rest)
{
	const struct profile *p = s->from;
	int err = 0;

	for (size_t i = 0; i < p->spans.len && err == 0; i++) {
		struct profile_span span = p->spans.data[i];
		const struct profile_sample *sample = &p->samples.data[span.sample];

		if (sample->value == 0 || !are_labels(p, sample->labels, w))
			continue;
		rest[span.sample] -= span.until_ns - span.since_ns;
		span.since_ns = span.since_ns > w->since_ns ? span.since_ns : w->since_ns;
		span.until_ns = span.until_ns < w->until_ns ? span.until_ns : w->until_ns;
		if (span.since_ns < span.until_ns)
			err = move_span(s, sample, span.since_ns, span.until_ns);
	}
	return err;
}

static int move_other_kinds(struct slicer *s, const struct slice *w)
{
	const struct profile *p = s->from;
	_cleanup_(freep) uint64_t *rest = calloc(p->samples.len + 1, sizeof(*rest));
	int err = rest ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->samples.len && err == 0; i++)
		rest[i] = p->samples.data[i].value;
	if (err == 0)
		err = move_spans(s, w, rest);
	for (size_t i = 0; i < p->samples.len && err == 0; i++) {
		struct profile_sample sample = p->samples.data[i];

		sample.value = rest[i];
		if (sample.kind != 0 && sample.value > 0 && are_labels(p, sample.labels, w))
			err = move_sample(s, &sample);
	}
	return err;
}

int profile_add_slice(const struct profile *p, struct slice *slice, struct profile *out)
{
	_cleanup_(slicer_done) struct slicer s = { 0 };
	int err = slicer_init(&s, p, out);

	vec_each (&p->ticks, tick) {
		if (err < 0 || slice->no_ticks ||
			!is_wanted(p, tick->time_ns, p->samples.data[tick->sample].labels, slice))
			continue;
		if (slice->ticks_max > 0 && out->ticks.len >= slice->ticks_max)
			slice->left_out++;
		else
			err = move_tick(&s, tick, weigh(p, tick, slice), slice->since_ns);
		slice->taken++;
	}
	vec_each (&p->events, event)
		if (err == 0 && !slice->no_ticks &&
			is_wanted(p, event->time_ns, event->labels, slice))
			err = move_event(&s, event);
	return err == 0 && slice->other_kinds ? move_other_kinds(&s, slice) : err;
}

int profile_slice(
	const struct profile *p, uint64_t since_ns, uint64_t until_ns, struct profile *out)
{
	uint64_t start_ns = p->start_tick_ns ? p->start_tick_ns
		: p->ticks.len > 0           ? p->ticks.data[0].time_ns
					     : 0;
	struct slice slice = {
		.since_ns = since_ns < UINT64_MAX - start_ns ? start_ns + since_ns : UINT64_MAX,
		.until_ns = until_ns < UINT64_MAX - start_ns ? start_ns + until_ns : UINT64_MAX,
	};

	out->kinds[0].period_ns = p->kinds[0].period_ns;
	out->start_ns = p->start_ns;
	out->start_tick_ns = p->start_tick_ns;
	out->duration_ns = until_ns < p->duration_ns ? until_ns : p->duration_ns;
	out->duration_ns -= since_ns < out->duration_ns ? since_ns : out->duration_ns;
	if (profile_string(out, profile_text(p, p->kinds[0].name), &out->kinds[0].name) < 0 ||
		profile_string(out, profile_text(p, p->kinds[0].unit), &out->kinds[0].unit) < 0)
		return -ENOMEM;
	return profile_add_slice(p, &slice, out);
}
