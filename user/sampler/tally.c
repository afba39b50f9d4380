/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tally.c - indexes of stacks and tasks never move; freed ones are reused, so a tally that
 * runs for months is as large as in its busiest hour. */
#include "sampler/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define TALLY_FRAMES_MAX STACK_USER_FRAMES_MAX

void tally_done(struct tally *tally)
{
	vec_each (&tally->stacks, stack)
		free(stack->frames);
	vec_done(&tally->stacks);
	vec_each (&tally->codes, code)
		free(code->event);
	vec_done(&tally->codes);
	hash_done(&tally->by_code);
	vec_done(&tally->tasks);
	vec_done(&tally->counts);
	vec_done(&tally->free_stacks);
	vec_done(&tally->free_tasks);
	hash_done(&tally->by_hash);
	hash_done(&tally->by_below_leaf);
	hash_done(&tally->by_id);
	timeline_done(&tally->timeline);
}

/* A place for one more of so many bytes: a freed one, or one at the end. -ENOSPC or -ENOMEM. */
#define place_for(tally, v, freed, more)                                       \
	((tally)->bytes + (more) > TALLY_BYTES_MAX ? -ENOSPC                    \
			: (freed)->len > 0 ? (int)(freed)->data[--(freed)->len] \
			: vec_add(v)       ? (int)((v)->len - 1)               \
					   : -ENOMEM)

/* Later stacks with the same frames below the leaf are made from this one. The one noted before may
 * be about to be forgotten. */
static int note_below_leaf(struct tally *tally, uint64_t at, uint64_t below_leaf)
{
	if (below_leaf == 0)
		return 0;
	tally->stacks.data[at].below_leaf = below_leaf;
	return hash_put(&tally->by_below_leaf, below_leaf, at);
}

int tally_stack(struct tally *tally, const struct event_stack *event, const uint64_t *frames)
{
	size_t bytes = event->frames_len * sizeof(*frames);
	uint64_t *known = hash_find(&tally->by_hash, event->hash), *copy;
	int at;

	if (known) {
		/* Its count may come in the next interval: it is not to go before. */
		tally->stacks.data[*known].used = tally->interval;
		return note_below_leaf(tally, *known, event->below_leaf);
	}
	copy = malloc(bytes ? bytes : 1);
	if (!copy)
		return -ENOMEM;
	at = place_for(tally, &tally->stacks, &tally->free_stacks,
		TALLY_STACK_BYTES(event->frames_len));
	if (at < 0 || hash_put(&tally->by_hash, event->hash, (uint64_t)at) < 0) {
		free(copy);
		return at < 0 ? at : -ENOMEM;
	}
	if (bytes > 0)
		memcpy(copy, frames, bytes);
	tally->bytes += TALLY_STACK_BYTES(event->frames_len);
	tally->stacks.data[at] = (struct tally_stack){
		.hash = event->hash,
		.below_leaf = event->below_leaf,
		.frames = copy,
		.frames_len = event->frames_len,
		.end = event->end,
		.anon = event->anon,
		.used = tally->interval,
		.live = true,
	};
	return event->below_leaf ? hash_put(&tally->by_below_leaf, event->below_leaf, (uint64_t)at)
				 : 0;
}

int tally_leaf(struct tally *tally, const struct event_leaf *event)
{
	uint64_t *at = hash_find(&tally->by_below_leaf, event->below_leaf);
	const struct tally_stack *other = at ? &tally->stacks.data[*at] : NULL;
	uint64_t frames[TALLY_FRAMES_MAX];
	struct event_stack stack = { .hash = event->hash, .anon = event->anon != 0 };

	if (!other || other->frames_len == 0 || other->frames_len > TALLY_FRAMES_MAX)
		return -ENOENT;
	memcpy(frames, other->frames, other->frames_len * sizeof(*frames));
	frames[0] = event->frame;
	stack.frames_len = other->frames_len;
	stack.end = other->end;
	return tally_stack(tally, &stack, frames);
}

int tally_task(struct tally *tally, const struct event_task *event)
{
	uint64_t *known = hash_find(&tally->by_id, event->id);
	int at;

	if (known) {
		tally->tasks.data[*known].used = tally->interval;
		return 0;
	}
	at = place_for(tally, &tally->tasks, &tally->free_tasks, TALLY_TASK_BYTES);
	if (at < 0)
		return at;
	if (hash_put(&tally->by_id, event->id, (uint64_t)at) < 0)
		return -ENOMEM;
	tally->bytes += TALLY_TASK_BYTES;
	tally->tasks.data[at] = (struct tally_task){
		.key = event->key,
		.view = event->view,
		.id = event->id,
		.used = tally->interval,
		.live = true,
	};
	tally->tasks.data[at].key.comm[COMM_LEN - 1] = '\0';
	return 0;
}

/* Ids begin anew after 2^32 of them, while a code that is used keeps its own. */
static bool same_code(const struct event_code *a, const struct event_code *b)
{
	return a->tgid == b->tgid && a->start_ns == b->start_ns && a->method == b->method &&
		a->blob == b->blob && a->compile_id == b->compile_id &&
		a->first_line == b->first_line && a->name_bytes == b->name_bytes &&
		a->file_bytes == b->file_bytes && memcmp(a->name, b->name, a->name_bytes) == 0 &&
		memcmp(a->file, b->file, a->file_bytes) == 0;
}

int tally_code(struct tally *tally, const struct event_code *event, size_t size)
{
	uint64_t *known = hash_find(&tally->by_code, event->id);
	struct event_code *copy;
	struct tally_code *slot;

	if (known) {
		slot = &tally->codes.data[*known];
		slot->used = tally->interval;
		slot->ambiguous |= !same_code(slot->event, event);
		return 0;
	}
	if (tally->bytes + size > TALLY_BYTES_MAX)
		return -ENOSPC;
	copy = calloc(1, (size + 7) / 8 * 8); /* an event is sent in whole words */
	slot = copy ? vec_add(&tally->codes) : NULL;
	if (!slot || hash_put(&tally->by_code, event->id, tally->codes.len - 1) < 0) {
		tally->codes.len -= slot != NULL;
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, event, size);
	*slot = (struct tally_code){ copy, (uint32_t)size, tally->interval, false };
	tally->bytes += size;
	return 0;
}

const struct event_code *tally_find_code(struct tally *tally, uint32_t id)
{
	uint64_t *at = hash_find(&tally->by_code, id);

	if (!at)
		return NULL;
	tally->codes.data[*at].used = tally->interval;
	return tally->codes.data[*at].ambiguous ? NULL : tally->codes.data[*at].event;
}

const struct task_key *tally_task_key(const struct tally *tally, uint32_t id)
{
	const uint64_t *at = hash_find(&tally->by_id, id);

	return at ? &tally->tasks.data[*at].key : NULL;
}

/* Index + 1 of the stack with this hash; 0 for hash 0. */
static int find_stack(struct tally *tally, uint64_t hash, uint32_t *out)
{
	uint64_t *at = hash_find(&tally->by_hash, hash);

	if (hash != 0 && !at)
		return -ENOENT;
	*out = 0;
	if (hash != 0) {
		tally->stacks.data[*at].used = tally->interval;
		*out = (uint32_t)*at + 1;
	}
	return 0;
}

int tally_count(struct tally *tally, const struct count_key *key, uint64_t count)
{
	uint64_t *task = hash_find(&tally->by_id, key->task);
	struct tally_count c = { .cpu = key->cpu, .count = count }, *slot;
	int err;

	if (!task)
		return -ENOENT;
	err = find_stack(tally, key->user_stack, &c.user);
	if (err == 0)
		err = find_stack(tally, key->kernel_stack, &c.kernel);
	if (err < 0)
		return err;
	slot = vec_add(&tally->counts);
	if (!slot)
		return -ENOMEM;
	c.task = (uint32_t)*task;
	tally->tasks.data[*task].used = tally->interval;
	*slot = c;
	return 0;
}

void tally_keep(struct tally *tally, uint64_t hash)
{
	uint32_t at;

	(void)find_stack(tally, hash, &at);
}

void tally_keep_task(struct tally *tally, uint32_t id)
{
	const uint64_t *at = hash_find(&tally->by_id, id);

	if (at)
		tally->tasks.data[*at].used = tally->interval;
}

int tally_wait(struct tally *tally, const struct count_key *key, const struct tally_wait *wait)
{
	struct tally_count *c;
	uint32_t waits_for;
	int err = find_stack(tally, wait->waits_for, &waits_for);

	if (err == 0)
		err = tally_count(tally, key, wait->visits);
	if (err < 0)
		return err;
	c = &tally->counts.data[tally->counts.len - 1];
	c->waits_for = waits_for;
	c->wait_ns = wait->wait_ns;
	c->until_ns = wait->until_ns;
	c->class = wait->class;
	return 0;
}

int tally_key(struct tally *tally, const struct count_key *key, uint32_t id)
{
	int err = tally_count(tally, key, 0);

	return err < 0 ? err : timeline_key(&tally->timeline, id, (uint32_t)tally->counts.len - 1);
}

int tally_tick(struct tally *tally, const struct count_key *key, uint32_t cpu, uint64_t time_ns)
{
	int err = tally_count(tally, key, 0);

	if (err == 0 &&
		!timeline_add(&tally->timeline, (uint32_t)tally->counts.len - 1, cpu, time_ns))
		tally->counts.data[tally->counts.len - 1].count = 1;
	return err;
}

void tally_took(struct tally *tally, uint64_t ns)
{
	tally->counts.data[tally->counts.len - 1].took_ns += ns;
}

enum lost_reason tally_lost(int err)
{
	return err == -ENOMEM || err == -ENOSPC ? LOST_MEMORY : LOST_DRAIN;
}

static uint64_t *count_at(void *ctx, uint32_t index)
{
	struct tally *tally = ctx;

	return &tally->counts.data[index].count;
}

uint64_t tally_resolve(struct tally *tally, bool last)
{
	return timeline_resolve(
		&tally->timeline, last, &(struct timeline_counts){ count_at, tally });
}

void tally_cut(struct tally *tally, uint64_t until_ns)
{
	timeline_cut(&tally->timeline, until_ns);
	for (size_t i = 0; i < tally->timeline.due; i++)
		tally->counts.data[tally->timeline.ticks.data[i].count].count++;
}

/* The counts of ticks that stay are the next interval's. -ENOMEM: they are given up. */
static int carry(struct tally *tally)
{
	struct timeline *t = &tally->timeline;
	_cleanup_(freep) uint32_t *moved = calloc(tally->counts.len + 1, sizeof(*moved));
	VEC(struct tally_count) kept = { 0 };

	timeline_next(t);
	for (size_t i = 0; i < t->ticks.len; i++) {
		uint32_t *at = moved ? &moved[t->ticks.data[i].count] : NULL;
		struct tally_count *slot = at && *at == 0 ? vec_add(&kept) : NULL;

		if (!at || (*at == 0 && !slot)) {
			vec_done(&kept);
			return -ENOMEM;
		}
		if (slot) {
			*slot = tally->counts.data[t->ticks.data[i].count];
			slot->count = slot->took_ns = 0;
			*at = (uint32_t)kept.len;
		}
		t->ticks.data[i].count = *at - 1;
	}
	tally->counts.len = 0;
	vec_each (&kept, c) {
		/* There is room: there were at least as many. */
		*(struct tally_count *)vec_add(&tally->counts) = *c;
		tally->tasks.data[c->task].used = tally->interval + 1;
		if (c->user)
			tally->stacks.data[c->user - 1].used = tally->interval + 1;
		if (c->kernel)
			tally->stacks.data[c->kernel - 1].used = tally->interval + 1;
	}
	vec_done(&kept);
	return 0;
}

static bool is_old(const struct tally *tally, uint32_t used)
{
	return (int32_t)(used - tally->last_epoch) < 0;
}

static void forget_stacks(struct tally *tally)
{
	vec_each (&tally->stacks, stack) {
		uint64_t at = (uint64_t)(stack - tally->stacks.data), *below_leaf;
		uint32_t *slot;

		if (!stack->live || !is_old(tally, stack->used))
			continue;
		slot = vec_add(&tally->free_stacks);
		if (!slot)
			return;
		*slot = (uint32_t)at;
		hash_del(&tally->by_hash, stack->hash);
		below_leaf = hash_find(&tally->by_below_leaf, stack->below_leaf);
		if (below_leaf && *below_leaf == at)
			hash_del(&tally->by_below_leaf, stack->below_leaf);
		free(stack->frames);
		tally->bytes -= TALLY_STACK_BYTES(stack->frames_len);
		*stack = (struct tally_stack){ 0 };
	}
}

static void forget_tasks(struct tally *tally)
{
	vec_each (&tally->tasks, task) {
		uint32_t *slot;

		if (!task->live || !is_old(tally, task->used))
			continue;
		slot = vec_add(&tally->free_tasks);
		if (!slot)
			return;
		*slot = (uint32_t)(task - tally->tasks.data);
		hash_del(&tally->by_id, task->id);
		tally->bytes -= TALLY_TASK_BYTES;
		*task = (struct tally_task){ 0 };
	}
}

/* Nothing refers to one by its index, so the last takes its place. */
static void forget_codes(struct tally *tally)
{
	for (size_t i = tally->codes.len; i-- > 0;) {
		struct tally_code *code = &tally->codes.data[i];

		if (!is_old(tally, code->used))
			continue;
		hash_del(&tally->by_code, code->event->id);
		tally->bytes -= code->size;
		free(code->event);
		*code = tally->codes.data[--tally->codes.len];
		if (i < tally->codes.len)
			*hash_find(&tally->by_code, code->event->id) = i;
	}
}

bool tally_next(struct tally *tally)
{
	if (carry(tally) < 0) {
		tally->counts.len = 0;
		tally->timeline.ticks.len = 0;
	}
	tally->interval++;
	if (tally->interval - tally->epoch < TALLY_EPOCH_INTERVALS)
		return false;
	tally->last_epoch = tally->epoch;
	tally->epoch = tally->interval;
	forget_stacks(tally);
	forget_tasks(tally);
	forget_codes(tally);
	return true;
}
