/* SPDX-License-Identifier: Apache-2.0 */
/* profile/profile.c - interning. Each index maps a hash of the contents to an id. On a collision
 * the later contents go to the next free key, so equal contents always have one id and different
 * contents never share one. */
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

int profile_init(struct profile *p)
{
	*p = (struct profile){ .kinds = { { .scale = 1 } }, .kinds_len = 1 };
	return strtab_init(&p->strings);
}

void profile_done(struct profile *p)
{
	strtab_done(&p->strings);
	vec_done(&p->frames);
	vec_done(&p->objects);
	vec_done(&p->frame_ids);
	vec_done(&p->stacks);
	vec_done(&p->labels);
	vec_done(&p->label_list);
	vec_done(&p->free_keys);
	vec_done(&p->samples);
	vec_done(&p->ticks);
	vec_done(&p->spans);
	vec_done(&p->events);
	hash_done(&p->frame_index);
	hash_done(&p->stack_index);
	hash_done(&p->label_index);
	hash_done(&p->object_index);
	for (uint32_t kind = 0; kind < PROFILE_KINDS_MAX; kind++)
		hash_done(&p->sample_index[kind]);
}

int profile_string(struct profile *p, const char *text, uint32_t *id)
{
	return strtab_puts(&p->strings, text, id);
}

int profile_object(struct profile *p, const struct profile_object *object, uint32_t *id)
{
	uint64_t key = (uint64_t)object->path << 32 | object->build_id;
	uint64_t *have = hash_find(&p->object_index, key);
	struct profile_object *slot;

	if (!have) {
		slot = vec_add(&p->objects);
		if (!slot || hash_put(&p->object_index, key, p->objects.len) < 0)
			return -ENOMEM;
		*slot = *object;
	}
	*id = have ? (uint32_t)*have : (uint32_t)p->objects.len;
	return 0;
}

enum profile_class profile_folded_class(const char *frame, size_t len)
{
	static const struct {
		char suffix[PROFILE_FOLDED_CLASS_LEN + 1];
		enum profile_class class;
	} all[] = {
		{ "_[k]", PROFILE_KERNEL },
		{ "_[j]", PROFILE_JIT },
		{ "_[i]", PROFILE_INLINED },
	};
	size_t name_len = len - PROFILE_FOLDED_CLASS_LEN;

	for (size_t i = 0; len > PROFILE_FOLDED_CLASS_LEN && i < ARRAY_SIZE(all); i++)
		if (memcmp(frame + name_len, all[i].suffix, PROFILE_FOLDED_CLASS_LEN) == 0)
			return all[i].class;
	return PROFILE_NATIVE;
}

static bool misleads(const char *name, size_t len)
{
	return profile_folded_class(name, len) != PROFILE_NATIVE || profile_is_mark(name, len);
}

/* Programs choose their names: what misleads has braces in the place of its last brackets. */
int profile_plain(struct profile *p, uint32_t *id)
{
	_cleanup_(freep) char *plain = NULL;
	const char *name = profile_text(p, *id);
	size_t len = strlen(name);

	if (len == 0 || name[len - 1] != ']' || !misleads(name, len))
		return 0;
	plain = strdup(name);
	if (!plain)
		return -ENOMEM;
	*strrchr(plain, '[') = '{';
	plain[len - 1] = '}';
	return strtab_put(&p->strings, plain, len, id);
}

int profile_frame(struct profile *p, const struct profile_frame *frame, uint32_t *id)
{
	struct profile_frame plain = *frame;
	int err = plain.class == PROFILE_MARK ? 0 : profile_plain(p, &plain.name);
	uint64_t key = hash_bytes(&plain, sizeof(plain)), *have;
	struct profile_frame *slot;

	if (err < 0)
		return err;
	for (; (have = hash_find(&p->frame_index, key)); key++) {
		if (memcmp(&p->frames.data[*have], &plain, sizeof(plain)) == 0) {
			*id = (uint32_t)*have;
			return 0;
		}
	}
	slot = vec_add(&p->frames);
	if (!slot || hash_put(&p->frame_index, key, p->frames.len - 1) < 0)
		return -ENOMEM;
	*slot = plain;
	*id = (uint32_t)p->frames.len - 1;
	return 0;
}

static bool same_stack(const struct profile *p, uint64_t at, const uint32_t *frames, uint32_t len)
{
	const struct profile_stack *stack = &p->stacks.data[at];

	return stack->len == len &&
		(len == 0 ||
			memcmp(p->frame_ids.data + stack->first, frames, len * sizeof(*frames)) ==
				0);
}

int profile_stack(struct profile *p, const uint32_t *frames, uint32_t len, uint32_t *id)
{
	uint64_t key = hash_bytes(frames, len * sizeof(*frames)), *have;
	struct profile_stack *slot;

	for (; (have = hash_find(&p->stack_index, key)); key++) {
		if (same_stack(p, *have, frames, len)) {
			*id = (uint32_t)*have;
			return 0;
		}
	}
	slot = vec_add(&p->stacks);
	if (!slot || hash_put(&p->stack_index, key, p->stacks.len - 1) < 0)
		return -ENOMEM;
	if (vec_reserve(&p->frame_ids, p->frame_ids.len + len) < 0)
		return -ENOMEM;
	slot->first = (uint32_t)p->frame_ids.len;
	slot->len = len;
	if (len > 0)
		memcpy(p->frame_ids.data + slot->first, frames, len * sizeof(*frames));
	p->frame_ids.len += len;
	*id = (uint32_t)p->stacks.len - 1;
	return 0;
}

/* Adds to the sample's value; *at is its index. */
static int add(struct profile *p, const struct profile_sample *sample, uint32_t *at)
{
	uint64_t key = (uint64_t)sample->stack << 32 | sample->labels;
	struct hash *index = &p->sample_index[sample->kind];
	uint64_t *have = hash_find(index, key);
	struct profile_sample *slot;

	if (have) {
		p->samples.data[*have].value += sample->value;
		*at = (uint32_t)*have;
		return 0;
	}
	slot = vec_add(&p->samples);
	if (!slot || hash_put(index, key, p->samples.len - 1) < 0)
		return -ENOMEM;
	*slot = *sample;
	*at = (uint32_t)p->samples.len - 1;
	return 0;
}

int profile_add_kind(
	struct profile *p, uint32_t stack, uint32_t labels, uint32_t kind, uint64_t value)
{
	const struct profile_sample sample = { stack, labels, value, kind };
	uint32_t at;

	return add(p, &sample, &at);
}

int profile_add(struct profile *p, uint32_t stack, uint32_t labels, uint64_t value)
{
	return profile_add_kind(p, stack, labels, 0, value);
}

int profile_tick_kind(struct profile *p, uint32_t stack, uint32_t labels, uint32_t kind,
	uint32_t cpu, uint64_t time_ns)
{
	const struct profile_sample one = { stack, labels, 1, kind };
	struct profile_tick *tick;
	uint32_t sample;
	int err = add(p, &one, &sample);

	if (err < 0)
		return err;
	tick = p->ticks.len < PROFILE_TICKS_MAX ? vec_add(&p->ticks) : NULL;
	if (tick)
		*tick = (struct profile_tick){ .time_ns = time_ns, .sample = sample, .cpu = cpu };
	else
		p->ticks_dropped++;
	return 0;
}

int profile_tick(struct profile *p, uint32_t stack, uint32_t labels, uint32_t cpu, uint64_t time_ns)
{
	return profile_tick_kind(p, stack, labels, 0, cpu, time_ns);
}

int profile_span(struct profile *p, uint32_t stack, uint32_t labels, uint32_t kind,
	uint64_t since_ns, uint64_t until_ns)
{
	const struct profile_sample one = { stack, labels, until_ns - since_ns, kind };
	struct profile_span *span = vec_add(&p->spans);
	uint32_t sample;
	int err = span ? add(p, &one, &sample) : -ENOMEM;

	if (err == 0)
		*span = (struct profile_span){ since_ns, until_ns, sample };
	else if (span)
		p->spans.len--;
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct profile_tick *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

void profile_sort(struct profile *p)
{
	profile_sort_events(p);
	for (size_t i = 1; i < p->ticks.len; i++) {
		if (by_time(&p->ticks.data[i - 1], &p->ticks.data[i]) <= 0)
			continue;
		qsort(p->ticks.data, p->ticks.len, sizeof(*p->ticks.data), by_time);
		return;
	}
}

bool profile_is_mark(const char *name, size_t len)
{
	static const char *const marks[] = { PROFILE_MARKS };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (len == strlen(marks[i]) && memcmp(name, marks[i], len) == 0)
			return true;
	return len > strlen(PROFILE_WAITS_FOR) && name[len - 1] == ']' &&
		memcmp(name, PROFILE_WAITS_FOR, strlen(PROFILE_WAITS_FOR)) == 0;
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return strtab_get(&p->strings, string);
}

const struct profile_frame *profile_stack_frame(const struct profile *p, uint32_t stack, uint32_t i)
{
	return &p->frames.data[p->frame_ids.data[p->stacks.data[stack].first + i]];
}

uint64_t profile_total(const struct profile *p)
{
	return profile_kind_total(p, 0);
}
