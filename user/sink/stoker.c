/* SPDX-License-Identifier: Apache-2.0 */
/* sink/stoker.c - a whole profile, in pieces (profile/stoker_format.h). An item is put where it is
 * first used, after all that it refers to, so the numbers of the file grow by small steps; a piece
 * may end after any item. Each piece has a checksum: damage leaves those before it as they are. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/own.h"
#include "profile/stoker_format.h"

#define ZSTD_LEVEL 6

struct writing {
	const struct profile *p;
	struct buf *out;
	ZSTD_CCtx *zstd;
	struct buf lists[STOKER_LISTS], piece;
	uint64_t counts[STOKER_LISTS]; /* of the piece */
	uint32_t next[STOKER_LISTS];   /* the next item's number */
	/* By the profile's number: the file's + 1; 0: not put yet. */
	uint32_t *strings, *objects, *frames, *stacks, *labels, *keys;
	uint32_t last_stack; /* the profile's number of the stack that was put last, + 1 */
	uint64_t expected_name, expected_stack; /* of the next frame and sample */
	uint64_t tick_ns, event_ns;             /* of the last ones */
};

static void writing_done(struct writing *w)
{
	ZSTD_freeCCtx(w->zstd);
	for (size_t i = 0; i < STOKER_LISTS; i++)
		buf_done(&w->lists[i]);
	buf_done(&w->piece);
	free(w->strings);
	free(w->objects);
	free(w->frames);
	free(w->stacks);
	free(w->labels);
	free(w->keys);
}

static int writing_init(struct writing *w)
{
	const struct profile *p = w->p;

	w->zstd = ZSTD_createCCtx();
	w->strings = calloc(p->strings.len + 1, sizeof(uint32_t));
	w->objects = calloc(p->objects.len + 1, sizeof(uint32_t));
	w->frames = calloc(p->frames.len + 1, sizeof(uint32_t));
	w->stacks = calloc(p->stacks.len + 1, sizeof(uint32_t));
	w->labels = calloc(p->labels.len + 1, sizeof(uint32_t));
	w->keys = calloc(p->free_keys.len + 1, sizeof(uint32_t));
	if (!w->zstd || !w->strings || !w->objects || !w->frames || !w->stacks || !w->labels ||
		!w->keys)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
		ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)))
		return -EIO;
	w->next[STOKER_STRINGS] = 1;
	return 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void put_frame_head(struct buf *out, size_t size)
{
	const uint32_t head[2] = { STOKER_MAGIC, (uint32_t)size };

	buf_put(out, head, sizeof(head));
}

static void put_head(struct writing *w)
{
	put_frame_head(w->out, strlen(STOKER_NAME) + 1);
	buf_puts(w->out, STOKER_NAME);
	buf_putc(w->out, STOKER_FORMAT);
}

/* The frame's size comes before what has it. */
static void compress_piece(struct writing *w)
{
	size_t bound = ZSTD_compressBound(w->piece.len), len;
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	char *room;

	buf_put_uleb(&packed, w->piece.len);
	if (buf_reserve(&packed, bound, &room) < 0) {
		buf_fail(w->out, -ENOMEM);
		return;
	}
	len = ZSTD_compress2(w->zstd, room, bound, w->piece.data, w->piece.len);
	if (ZSTD_isError(len)) {
		buf_fail(w->out, -EIO);
		return;
	}
	buf_commit(&packed, len);
	put_frame_head(w->out, packed.len);
	buf_append(w->out, &packed);
}

static void end_piece(struct writing *w)
{
	buf_clear(&w->piece);
	for (size_t i = 0; i < STOKER_LISTS; i++) {
		buf_put_uleb(&w->piece, w->counts[i]);
		buf_append(&w->piece, &w->lists[i]);
		buf_clear(&w->lists[i]);
		w->counts[i] = 0;
	}
	if (buf_fail(w->out, buf_err(&w->piece)) == 0)
		compress_piece(w);
}

/* An item of the list is complete: its number. */
static uint32_t end_item(struct writing *w, enum stoker_list list)
{
	size_t bytes = 0;

	w->counts[list]++;
	for (size_t i = 0; i < STOKER_LISTS; i++) {
		buf_fail(w->out, buf_err(&w->lists[i]));
		bytes += w->lists[i].len;
	}
	if (bytes >= STOKER_PIECE_BYTES)
		end_piece(w);
	return w->next[list]++;
}

/* ---- what others refer to: each returns the file's number ------------------------------------ */

static uint32_t string_of(struct writing *w, uint32_t string)
{
	struct buf *out = &w->lists[STOKER_STRINGS];
	const char *text = profile_text(w->p, string);

	if (*text == '\0')
		return 0;
	if (w->strings[string] == 0) {
		buf_put_uleb(out, strlen(text));
		buf_puts(out, text);
		w->strings[string] = end_item(w, STOKER_STRINGS) + 1;
	}
	return w->strings[string] - 1;
}

static uint32_t object_of(struct writing *w, uint32_t object)
{
	const struct profile_object *from = &w->p->objects.data[object];
	uint32_t path, build_id;

	if (w->objects[object] == 0) {
		path = string_of(w, from->path);
		build_id = string_of(w, from->build_id);
		buf_put_uleb(&w->lists[STOKER_OBJECTS], path);
		buf_put_uleb(&w->lists[STOKER_OBJECTS], build_id);
		w->objects[object] = end_item(w, STOKER_OBJECTS) + 1;
	}
	return w->objects[object] - 1;
}

static uint32_t frame_of(struct writing *w, uint32_t frame)
{
	const struct profile_frame *from = &w->p->frames.data[frame];
	struct buf *out = &w->lists[STOKER_FRAMES];
	uint32_t module, file, object, name;

	if (w->frames[frame] != 0)
		return w->frames[frame] - 1;
	module = string_of(w, from->module);
	file = string_of(w, from->file);
	object = from->object ? object_of(w, from->object - 1) + 1 : 0;
	name = string_of(w, from->name);
	buf_put_uleb(out, stoker_step(w->expected_name, name));
	buf_put_uleb(out, from->class);
	buf_put_uleb(out, object);
	buf_put_uleb(out, module);
	buf_put_uleb(out, from->address);
	buf_put_uleb(out, file);
	buf_put_uleb(out, from->line);
	w->expected_name = (uint64_t)name + 1;
	w->frames[frame] = end_item(w, STOKER_FRAMES) + 1;
	return w->frames[frame] - 1;
}

static uint32_t frame_at(const struct profile *p, uint32_t stack, uint32_t from_root)
{
	const struct profile_stack *s = &p->stacks.data[stack];

	return p->frame_ids.data[s->first + s->len - 1 - from_root];
}

/* Frames at the root that the stack has as the one put last. */
static uint32_t shared_with_last(const struct writing *w, uint32_t stack)
{
	const struct profile *p = w->p;
	uint32_t len = p->stacks.data[stack].len, last = w->last_stack, shared = 0;

	if (last == 0)
		return 0;
	if (p->stacks.data[last - 1].len < len)
		len = p->stacks.data[last - 1].len;
	while (shared < len && frame_at(p, stack, shared) == frame_at(p, last - 1, shared))
		shared++;
	return shared;
}

static uint32_t stack_of(struct writing *w, uint32_t stack)
{
	uint32_t len = w->p->stacks.data[stack].len, shared;
	struct buf *out = &w->lists[STOKER_STACKS];

	if (w->stacks[stack] != 0)
		return w->stacks[stack] - 1;
	shared = shared_with_last(w, stack);
	for (uint32_t i = shared; i < len; i++)
		frame_of(w, frame_at(w->p, stack, i));
	buf_put_uleb(out, shared);
	buf_put_uleb(out, len - shared);
	for (uint32_t i = shared; i < len; i++)
		buf_put_uleb(out, frame_of(w, frame_at(w->p, stack, i)));
	w->last_stack = stack + 1;
	w->stacks[stack] = end_item(w, STOKER_STACKS) + 1;
	return w->stacks[stack] - 1;
}

static uint32_t key_of(struct writing *w, uint32_t key)
{
	uint32_t free_key = key - PROFILE_KEYS, name;

	if (key < PROFILE_KEYS)
		return key;
	if (w->keys[free_key] == 0) {
		name = string_of(w, w->p->free_keys.data[free_key]);
		buf_put_uleb(&w->lists[STOKER_KEYS], name);
		w->keys[free_key] = end_item(w, STOKER_KEYS) + 1;
	}
	return PROFILE_KEYS + w->keys[free_key] - 1;
}

static uint32_t labels_of(struct writing *w, uint32_t id)
{
	struct buf *out = &w->lists[STOKER_LABELS];
	struct profile_labels set;

	if (w->labels[id] != 0)
		return w->labels[id] - 1;
	profile_labels_get(w->p, id, &set);
	for (uint32_t i = 0; i < set.len; i++) {
		struct profile_label *label = &set.list[i];

		if (!profile_key_is_number(label->key))
			label->value = string_of(w, label->value);
		label->key = key_of(w, label->key);
	}
	buf_put_uleb(out, set.len);
	for (uint32_t i = 0; i < set.len; i++) {
		buf_put_uleb(out, set.list[i].key);
		buf_put_uleb(out, set.list[i].value);
	}
	w->labels[id] = end_item(w, STOKER_LABELS) + 1;
	return w->labels[id] - 1;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void put_about(struct writing *w)
{
	const struct profile *p = w->p;
	const uint64_t numbers[] = { p->start_ns, p->start_tick_ns, p->duration_ns,
		p->ticks_dropped, p->labels_cut, p->events_dropped, p->events_cut,
		string_of(w, p->account) };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		buf_put_uleb(&w->lists[STOKER_ABOUT],
			numbers[i] < STOKER_TIME_MAX ? numbers[i] : STOKER_TIME_MAX);
	end_item(w, STOKER_ABOUT);
}

static void put_kinds(struct writing *w)
{
	struct buf *out = &w->lists[STOKER_KINDS];

	for (uint32_t i = 0; i < w->p->kinds_len; i++) {
		const struct profile_kind *kind = &w->p->kinds[i];
		uint32_t name = string_of(w, kind->name), unit = string_of(w, kind->unit);

		buf_put_uleb(out, name);
		buf_put_uleb(out, unit);
		buf_put_uleb(out, kind->scale);
		buf_put_uleb(out, kind->period_ns);
		end_item(w, STOKER_KINDS);
	}
}

static void put_sample(struct writing *w, const struct profile_sample *sample)
{
	uint32_t stack = stack_of(w, sample->stack), labels = labels_of(w, sample->labels);
	struct buf *out = &w->lists[STOKER_SAMPLES];

	buf_put_uleb(out, stoker_step(w->expected_stack, stack));
	buf_put_uleb(out, labels);
	buf_put_uleb(out, sample->kind);
	buf_put_uleb(out, sample->value);
	w->expected_stack = (uint64_t)stack + 1;
	end_item(w, STOKER_SAMPLES);
}

/* The step from the last time, which is time_ns then. */
static void put_time(struct buf *out, uint64_t *last_ns, uint64_t time_ns)
{
	time_ns = time_ns < STOKER_TIME_MAX ? time_ns : STOKER_TIME_MAX;
	buf_put_uleb(out, stoker_step(*last_ns, time_ns));
	*last_ns = time_ns;
}

static void put_tick(struct writing *w, const struct profile_tick *tick)
{
	struct buf *out = &w->lists[STOKER_TICKS];

	put_time(out, &w->tick_ns, tick->time_ns);
	buf_put_uleb(out, tick->sample);
	buf_put_uleb(out, tick->cpu == PROFILE_NO_CPU ? 0 : (uint64_t)tick->cpu + 1);
	end_item(w, STOKER_TICKS);
}

static void put_event(struct writing *w, const struct profile_event *event)
{
	struct buf *out = &w->lists[STOKER_EVENTS];
	uint32_t text = string_of(w, event->text), labels = labels_of(w, event->labels);
	uint64_t stack = event->stack == PROFILE_NO_STACK ? 0 : stack_of(w, event->stack) + 1ULL;

	put_time(out, &w->event_ns, event->time_ns);
	buf_put_uleb(out, event->duration_ns);
	buf_put_uleb(out, text);
	buf_put_uleb(out, stack);
	buf_put_uleb(out, labels);
	end_item(w, STOKER_EVENTS);
}

static void put_end(struct writing *w)
{
	const uint64_t numbers[] = { w->p->samples.len, w->p->ticks.len, w->p->events.len };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		buf_put_uleb(&w->lists[STOKER_END], numbers[i]);
	end_item(w, STOKER_END);
	end_piece(w);
}

int stoker_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(writing_done) struct writing w = { .p = p, .out = out };
	int err = writing_init(&w);

	(void)options;
	if (err < 0)
		return buf_fail(out, err);
	put_head(&w);
	put_about(&w);
	put_kinds(&w);
	vec_each (&p->samples, sample)
		put_sample(&w, sample);
	vec_each (&p->ticks, tick)
		put_tick(&w, tick);
	vec_each (&p->events, event)
		put_event(&w, event);
	put_end(&w);
	return buf_err(out);
}
