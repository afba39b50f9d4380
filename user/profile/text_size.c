/* SPDX-License-Identifier: Apache-2.0 */
/* profile/text_size.c - each string, stack and set of labels is measured once, so the time is that
 * of the profile and not that of its text. Names count as they are; writers may replace characters,
 * but add none. */
#include "profile/text_size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"

#define LINE_BYTES 16  /* the count of a line */
#define TICK_BYTES 64  /* numbers, time and event of a tick */
#define FRAME_BYTES 24 /* address and brackets of a frame of a tick */
#define NUMBER_BYTES 11

struct sizes {
	const struct profile *profile;
	bool of_ticks;
	uint32_t *strings;
	uint64_t *stacks, *labels;
	uint64_t *reads; /* by stack: a hash of what it reads as */
	struct hash lines;
};

static void sizes_done(struct sizes *s)
{
	free(s->strings);
	free(s->stacks);
	free(s->labels);
	free(s->reads);
	hash_done(&s->lines);
}

/* A file could have been made for a hash without a secret. */
static uint64_t join(uint64_t hash, uint64_t next)
{
	const uint64_t both[2] = { hash, next };

	return hash_bytes(both, sizeof(both));
}

static void measure_stack(struct sizes *s, uint32_t stack)
{
	for (uint32_t i = 0; i < s->profile->stacks.data[stack].len; i++) {
		const struct profile_frame *frame = profile_stack_frame(s->profile, stack, i);

		s->stacks[stack] += s->strings[frame->name] + 1;
		if (s->of_ticks)
			s->stacks[stack] += s->strings[frame->module] + FRAME_BYTES;
		else
			s->reads[stack] = join(s->reads[stack],
				(uint64_t)frame->class << 32 | frame->name);
	}
}

static void measure_labels(struct sizes *s, uint32_t id)
{
	struct profile_labels set;

	profile_labels_get(s->profile, id, &set);
	for (uint32_t i = 0; i < set.len; i++)
		s->labels[id] += profile_key_is_number(set.list[i].key)
			? NUMBER_BYTES
			: s->strings[set.list[i].value] + 1;
}

static int sizes_init(struct sizes *s, const struct profile *p, bool of_ticks)
{
	*s = (struct sizes){ .profile = p,
		.of_ticks = of_ticks,
		.strings = calloc(p->strings.len + 1, sizeof(*s->strings)),
		.stacks = calloc(p->stacks.len + 1, sizeof(*s->stacks)),
		.labels = calloc(p->labels.len + 1, sizeof(*s->labels)),
		.reads = calloc(p->stacks.len + 1, sizeof(*s->reads)) };
	if (!s->strings || !s->stacks || !s->labels || !s->reads)
		return -ENOMEM;
	for (uint32_t id = 0; id < p->strings.len; id++)
		s->strings[id] = (uint32_t)strlen(profile_text(p, id));
	for (uint32_t stack = 0; stack < p->stacks.len; stack++)
		measure_stack(s, stack);
	for (uint32_t id = 0; id < p->labels.len; id++)
		measure_labels(s, id);
	return 0;
}

/* The stack and the labels of a sample. */
static uint64_t size_of(const struct sizes *s, const struct profile_sample *sample)
{
	return s->stacks[sample->stack] + s->labels[sample->labels];
}

int text_size_lines(const struct profile *p, uint64_t max, uint64_t *bytes)
{
	_cleanup_(sizes_done) struct sizes s;
	uint64_t sum = 0;
	int err = sizes_init(&s, p, false);

	for (size_t i = 0; i < p->samples.len && sum <= max && err == 0; i++) {
		const struct profile_sample *sample = &p->samples.data[i];
		uint64_t line = join(s.reads[sample->stack], sample->labels);

		if (hash_find(&s.lines, line))
			continue;
		sum += LINE_BYTES + size_of(&s, sample);
		err = hash_put(&s.lines, line, 0);
	}
	if (err == 0)
		*bytes = sum;
	return err;
}

int text_size_ticks(const struct profile *p, uint64_t max, uint64_t *bytes)
{
	_cleanup_(sizes_done) struct sizes s;
	uint64_t sum = 0;
	int err = sizes_init(&s, p, true);

	for (size_t i = 0; i < p->ticks.len && sum <= max && err == 0; i++) {
		const struct profile_sample *sample =
			&p->samples.data[p->ticks.data[i].sample];

		if (sample->kind == 0)
			sum += TICK_BYTES + size_of(&s, sample);
	}
	if (err == 0)
		*bytes = sum;
	return err;
}
