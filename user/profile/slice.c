/* SPDX-License-Identifier: Apache-2.0 */
/* profile/slice.c - strings, frames, stacks and labels are copied as they are first met, so that
 * only what is used is there. */
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

static int move_labels(struct slicer *s, uint32_t *id)
{
	struct profile_labels labels = s->from->labels.data[*id];
	uint32_t *strings[] = { &labels.container, &labels.pod, &labels.namespace_, &labels.image,
		&labels.unit, &labels.comm };
	uint32_t *known = &s->labels[*id], to;
	int err = 0;

	for (size_t i = 0; *known == UNKNOWN && i < ARRAY_SIZE(strings) && err == 0; i++)
		err = move_string(s, strings[i]);
	if (*known == UNKNOWN && err == 0) {
		err = profile_labels(s->to, &labels, &to);
		if (err == 0)
			*known = to + 1;
	}
	*id = *known - 1;
	return err;
}

static int move_tick(struct slicer *s, const struct profile_tick *tick)
{
	struct profile_sample sample = s->from->samples.data[tick->sample];
	int err = move_stack(s, &sample.stack);

	if (err == 0)
		err = move_labels(s, &sample.labels);
	return err < 0 ? err
		       : profile_tick(s->to, sample.stack, sample.labels, tick->cpu, tick->time_ns);
}

int profile_slice(
	const struct profile *p, uint64_t since_ns, uint64_t until_ns, struct profile *out)
{
	_cleanup_(slicer_done) struct slicer s = {
		.from = p,
		.to = out,
		.strings = calloc(p->strings.len + 1, sizeof(uint32_t)),
		.frames = calloc(p->frames.len + 1, sizeof(uint32_t)),
		.stacks = calloc(p->stacks.len + 1, sizeof(uint32_t)),
		.labels = calloc(p->labels.len + 1, sizeof(uint32_t)),
	};
	uint64_t start_ns = p->start_tick_ns ? p->start_tick_ns
		: p->ticks.len > 0           ? p->ticks.data[0].time_ns
					     : 0;
	int err = s.strings && s.frames && s.stacks && s.labels ? 0 : -ENOMEM;

	out->period_ns = p->period_ns;
	out->start_ns = p->start_ns;
	out->start_tick_ns = p->start_tick_ns;
	out->duration_ns = until_ns < p->duration_ns ? until_ns : p->duration_ns;
	out->duration_ns -= since_ns < out->duration_ns ? since_ns : out->duration_ns;
	vec_each (&p->ticks, tick) {
		uint64_t at = tick->time_ns - start_ns;

		if (tick->time_ns >= start_ns && at >= since_ns && at < until_ns && err == 0)
			err = move_tick(&s, tick);
	}
	return err;
}
