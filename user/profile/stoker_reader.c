/* SPDX-License-Identifier: Apache-2.0 */
/* profile/stoker_reader.c - reads piece by piece. Numbers of the file become those of the profile
 * by a list for each kind of item, in which a number that is not there yet is damage. Memory is
 * charged before it is taken: a stack by its frames, whether or not it is a new one. */
#include "profile/stoker_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/stoker_format.h"

#define SCALE_MAX 1000000
#define KIND_BYTES_MAX 256 /* of a kind's name */

struct reader {
	struct profile *out;
	ZSTD_DCtx *zstd;
	struct buf text;
	/* By the file's number: the profile's. Keys: the string of their name. */
	VEC(uint32_t) ids[STOKER_LISTS];
	VEC(uint32_t) root_first; /* the last stack */
	VEC(uint32_t) leaf_first; /* the same */
	uint64_t counts[STOKER_LISTS]; /* items so far */
	uint64_t bytes, frames;        /* of all pieces and stacks */
	uint64_t totals[PROFILE_KINDS_MAX];
	uint64_t name, stack;       /* expected next */
	uint64_t tick_ns, event_ns; /* of the last ones */
	uint64_t lost_ticks;        /* beyond PROFILE_TICKS_MAX */
	const char *what;           /* why it cannot be read */
};

static void reader_done(struct reader *r)
{
	ZSTD_freeDCtx(r->zstd);
	buf_done(&r->text);
	for (size_t i = 0; i < STOKER_LISTS; i++)
		vec_done(&r->ids[i]);
	vec_done(&r->root_first);
	vec_done(&r->leaf_first);
}

static int refuse(struct reader *r, int err, const char *what)
{
	r->what = what;
	return err;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int add_id(struct reader *r, enum stoker_list list, uint32_t id)
{
	uint32_t *slot = vec_add(&r->ids[list]);

	if (!slot)
		return -ENOMEM;
	*slot = id;
	return 0;
}

/* The profile's number of an item of the list. */
static int find_id(struct reader *r, enum stoker_list list, uint64_t number, uint32_t *id)
{
	if (number >= r->ids[list].len)
		return refuse(r, -EBADMSG, "it refers to something that does not come before it");
	*id = r->ids[list].data[number];
	return 0;
}

static int take_id(struct reader *r, struct cursor *c, enum stoker_list list, uint32_t *id)
{
	return find_id(r, list, cursor_uleb(c), id);
}

static int take_below(struct reader *r, struct cursor *c, uint64_t limit, uint32_t *out)
{
	uint64_t number = cursor_uleb(c);

	if (number >= limit)
		return refuse(r, -EBADMSG, "a number of it is too large");
	*out = (uint32_t)number;
	return 0;
}

static int take_time(struct reader *r, struct cursor *c, uint64_t *last_ns)
{
	uint64_t time_ns = stoker_stepped(*last_ns, cursor_uleb(c));

	if (time_ns > STOKER_TIME_MAX)
		return refuse(r, -EBADMSG, "a time of it is too large");
	*last_ns = time_ns;
	return 0;
}

/* ---- items: what stacks are made of ---------------------------------------------------------- */

static int read_string(struct reader *r, struct cursor *c)
{
	uint64_t len = cursor_uleb(c);
	struct bytes text = cursor_bytes(c, len);
	uint32_t id;
	int err = c->bad ? -EBADMSG
			 : strtab_put(&r->out->strings, (const char *)text.data, text.len, &id);

	return err < 0 ? err : add_id(r, STOKER_STRINGS, id);
}

static int read_object(struct reader *r, struct cursor *c)
{
	struct profile_object object;
	uint32_t id;
	int err = take_id(r, c, STOKER_STRINGS, &object.path);

	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &object.build_id);
	if (err == 0)
		err = profile_object(r->out, &object, &id);
	return err < 0 ? err : add_id(r, STOKER_OBJECTS, id);
}

/* A mark is one by its name, too: text that is made of the profile would have another class. */
static void check_class(const struct profile *p, struct profile_frame *frame)
{
	const char *name = profile_text(p, frame->name);

	if (frame->class == PROFILE_MARK && !profile_is_mark(name, strlen(name)))
		frame->class = PROFILE_NATIVE;
}

static int read_frame(struct reader *r, struct cursor *c)
{
	struct profile_frame frame = { 0 };
	uint64_t name = stoker_stepped(r->name, cursor_uleb(c)), object;
	uint32_t id;
	int err = find_id(r, STOKER_STRINGS, name, &frame.name);

	r->name = name + 1;
	if (err == 0)
		err = take_below(r, c, PROFILE_MARK + 1, &frame.class);
	object = cursor_uleb(c);
	if (err == 0 && object > 0)
		err = find_id(r, STOKER_OBJECTS, object - 1, &frame.object);
	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &frame.module);
	frame.address = cursor_uleb(c);
	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &frame.file);
	if (err == 0)
		err = take_below(r, c, 1ULL << 32, &frame.line);
	if (err < 0 || c->bad)
		return err < 0 ? err : -EBADMSG;
	check_class(r->out, &frame);
	err = profile_frame(r->out, &frame, &id);
	return err < 0 ? err : add_id(r, STOKER_FRAMES, id);
}

static int read_frames(struct reader *r, struct cursor *c, uint64_t shared, uint64_t more)
{
	int err = 0;

	r->root_first.len = shared;
	for (uint64_t i = 0; i < more && err == 0; i++) {
		uint32_t *slot = vec_add(&r->root_first);

		err = slot ? take_id(r, c, STOKER_FRAMES, slot) : -ENOMEM;
	}
	if (err == 0)
		err = vec_reserve(&r->leaf_first, r->root_first.len);
	for (size_t i = 0, len = r->root_first.len; i < len && err == 0; i++)
		r->leaf_first.data[i] = r->root_first.data[len - 1 - i];
	return err;
}

static int read_stack(struct reader *r, struct cursor *c)
{
	uint64_t shared = cursor_uleb(c), more = cursor_uleb(c);
	uint32_t id;
	int err;

	if (c->bad || shared > r->root_first.len)
		return refuse(r, -EBADMSG, "a stack has more of the one before than that has");
	if (more > STOKER_FRAMES_MAX - shared)
		return refuse(r, -EFBIG, "a stack has too many frames");
	r->frames += shared + more;
	if (r->frames > STOKER_FRAMES_SUM_MAX)
		return refuse(r, -EFBIG, "its stacks have too many frames");
	err = read_frames(r, c, shared, more);
	if (err == 0 && c->bad)
		err = -EBADMSG;
	if (err == 0)
		err = profile_stack(
			r->out, r->leaf_first.data, (uint32_t)r->root_first.len, &id);
	return err < 0 ? err : add_id(r, STOKER_STACKS, id);
}

/* ---- items: labels and kinds ----------------------------------------------------------------- */

static int read_key(struct reader *r, struct cursor *c)
{
	uint32_t name;
	int err = take_id(r, c, STOKER_STRINGS, &name);

	return err < 0 ? err : add_id(r, STOKER_KEYS, name);
}

/* A copy of a string, or of its beginning: the table of strings may move when it grows. Returns its
 * length; the copy has a NUL. */
static size_t copy_text(const struct profile *p, uint32_t string, char *out, size_t size)
{
	const char *text = profile_text(p, string);
	size_t len = strnlen(text, size - 1);

	memcpy(out, text, len);
	out[len] = '\0';
	return len;
}

/* A text that is longer than its limit stays so, and is cut and counted. */
static int put_free(struct reader *r, struct profile_labels *labels, uint32_t key, uint32_t value)
{
	char name[PROFILE_KEY_BYTES_MAX + 2], text[PROFILE_VALUE_BYTES_MAX + 8];
	size_t name_len = copy_text(r->out, key, name, sizeof(name));
	size_t len = copy_text(r->out, value, text, sizeof(text));

	return profile_labels_put(r->out, labels, name, name_len, text, len);
}

static int read_label(struct reader *r, struct cursor *c, struct profile_labels *labels)
{
	uint64_t key = cursor_uleb(c);
	uint32_t name = 0, value = 0;
	int err;

	if (key < PROFILE_KEYS && profile_key_is_number((uint32_t)key)) {
		err = take_below(r, c, 1ULL << 31, &value);
		if (err == 0)
			profile_labels_set_number(labels, (uint32_t)key, (int32_t)value);
		return err;
	}
	err = key < PROFILE_KEYS ? 0 : find_id(r, STOKER_KEYS, key - PROFILE_KEYS, &name);
	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &value);
	if (err == 0 && key >= PROFILE_KEYS)
		return put_free(r, labels, name, value);
	if (err == 0)
		profile_labels_set(labels, (uint32_t)key, value);
	return err;
}

static int read_labels(struct reader *r, struct cursor *c)
{
	struct profile_labels labels = { 0 };
	uint64_t len = cursor_uleb(c);
	uint32_t id;
	int err = 0;

	if (len > PROFILE_KEYS + PROFILE_FREE_MAX)
		return refuse(r, -EBADMSG, "a sample has too many labels");
	for (uint64_t i = 0; i < len && err == 0; i++)
		err = read_label(r, c, &labels);
	if (err == 0)
		err = c->bad ? -EBADMSG : profile_labels(r->out, &labels, &id);
	return err < 0 ? err : add_id(r, STOKER_LABELS, id);
}

static bool is_scale(uint64_t scale)
{
	while (scale > 1 && scale % 10 == 0 && scale <= SCALE_MAX)
		scale /= 10;
	return scale == 1;
}

/* The first one is kind 0, which is always there. */
static int make_kind(struct reader *r, const struct profile_kind *kind)
{
	struct profile *p = r->out;
	char name[KIND_BYTES_MAX + 2];
	size_t len = copy_text(p, kind->name, name, sizeof(name));
	uint32_t id = 0, had = p->kinds_len;
	int err;

	if (r->counts[STOKER_KINDS] > 0) {
		if (len > KIND_BYTES_MAX)
			return refuse(r, -EFBIG, "the name of a kind is too long");
		err = len > 0 ? profile_kind(p, name, len, &id)
			      : profile_kind(p, PROFILE_CPU, strlen(PROFILE_CPU), &id);
		if (err == -ENOSPC)
			return refuse(r, -EFBIG, "it has too many kinds of value");
		if (err < 0)
			return err;
		if (p->kinds_len == had)
			return refuse(r, -EBADMSG, "a kind of value is there twice");
		p->kinds[id] = (struct profile_kind){ p->kinds[id].name, kind->unit, kind->scale,
			kind->period_ns };
	} else {
		p->kinds[0] = *kind;
	}
	return add_id(r, STOKER_KINDS, id);
}

static int read_kind(struct reader *r, struct cursor *c)
{
	struct profile_kind kind = { 0 };
	uint64_t scale;
	int err = take_id(r, c, STOKER_STRINGS, &kind.name);

	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &kind.unit);
	scale = cursor_uleb(c);
	kind.period_ns = cursor_uleb(c);
	if (err == 0 && (c->bad || !is_scale(scale) || kind.period_ns > STOKER_TIME_MAX))
		err = refuse(r, -EBADMSG, "a kind of value has an odd scale or period");
	kind.scale = (uint32_t)scale;
	return err < 0 ? err : make_kind(r, &kind);
}

/* ---- items: samples, times, events ----------------------------------------------------------- */

static int read_sample(struct reader *r, struct cursor *c)
{
	uint64_t number = stoker_stepped(r->stack, cursor_uleb(c)), value;
	uint32_t stack, labels = 0, kind = 0;
	int err = find_id(r, STOKER_STACKS, number, &stack);

	r->stack = number + 1;
	if (err == 0)
		err = take_id(r, c, STOKER_LABELS, &labels);
	if (err == 0)
		err = take_id(r, c, STOKER_KINDS, &kind);
	value = cursor_uleb(c);
	if (err < 0 || c->bad)
		return err < 0 ? err : -EBADMSG;
	if (value > STOKER_SUM_MAX - r->totals[kind])
		return refuse(r, -EFBIG, "the sum of its values is too large");
	r->totals[kind] += value;
	err = profile_add_kind(r->out, stack, labels, kind, value);
	if (err < 0)
		return err;
	return add_id(r, STOKER_SAMPLES,
		(uint32_t)*hash_find(
			&r->out->sample_index[kind], (uint64_t)stack << 32 | labels));
}

static int read_tick(struct reader *r, struct cursor *c)
{
	struct profile_tick tick = { 0 }, *slot;
	uint32_t cpu = 0;
	int err = take_time(r, c, &r->tick_ns);

	if (err == 0)
		err = take_id(r, c, STOKER_SAMPLES, &tick.sample);
	if (err == 0)
		err = take_below(r, c, PROFILE_NO_CPU, &cpu);
	if (err < 0 || c->bad)
		return err < 0 ? err : -EBADMSG;
	if (r->out->ticks.len >= PROFILE_TICKS_MAX) {
		r->lost_ticks++;
		return 0;
	}
	slot = vec_add(&r->out->ticks);
	if (!slot)
		return -ENOMEM;
	*slot = tick;
	slot->time_ns = r->tick_ns;
	slot->cpu = cpu == 0 ? PROFILE_NO_CPU : cpu - 1;
	return 0;
}

static int read_event(struct reader *r, struct cursor *c)
{
	struct profile_event event = { .stack = PROFILE_NO_STACK };
	char text[PROFILE_EVENT_BYTES_MAX + 8];
	uint64_t stack;
	uint32_t string = 0;
	int err = take_time(r, c, &r->event_ns);

	event.time_ns = r->event_ns;
	event.duration_ns = cursor_uleb(c);
	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &string);
	stack = cursor_uleb(c);
	if (err == 0 && stack > 0)
		err = find_id(r, STOKER_STACKS, stack - 1, &event.stack);
	if (err == 0)
		err = take_id(r, c, STOKER_LABELS, &event.labels);
	if (err < 0 || c->bad)
		return err < 0 ? err : -EBADMSG;
	if (event.duration_ns > STOKER_TIME_MAX)
		return refuse(r, -EBADMSG, "a time of it is too large");
	copy_text(r->out, string, text, sizeof(text));
	return profile_event(r->out, &event, text);
}

static int read_about(struct reader *r, struct cursor *c)
{
	struct profile *p = r->out;
	uint64_t *const numbers[] = { &p->start_ns, &p->start_tick_ns, &p->duration_ns,
		&p->ticks_dropped, &p->labels_cut, &p->events_dropped, &p->events_cut };
	uint64_t values[ARRAY_SIZE(numbers)];
	uint32_t account = 0;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		values[i] = cursor_uleb(c);
		if (values[i] > STOKER_TIME_MAX)
			err = refuse(r, -EBADMSG, "a number about it is too large");
	}
	if (err == 0)
		err = take_id(r, c, STOKER_STRINGS, &account);
	if (err < 0 || c->bad)
		return err < 0 ? err : -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] += values[i];
	p->account = account;
	return 0;
}

static int read_end(struct reader *r, struct cursor *c)
{
	static const enum stoker_list lists[] = { STOKER_SAMPLES, STOKER_TICKS, STOKER_EVENTS };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (cursor_uleb(c) != r->counts[lists[i]])
			return refuse(r, -EBADMSG, "some of it is missing");
	return c->bad ? -EBADMSG : 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static int (*const readers[STOKER_LISTS])(struct reader *r, struct cursor *c) = {
	[STOKER_STRINGS] = read_string,
	[STOKER_OBJECTS] = read_object,
	[STOKER_FRAMES] = read_frame,
	[STOKER_STACKS] = read_stack,
	[STOKER_KEYS] = read_key,
	[STOKER_LABELS] = read_labels,
	[STOKER_KINDS] = read_kind,
	[STOKER_SAMPLES] = read_sample,
	[STOKER_TICKS] = read_tick,
	[STOKER_EVENTS] = read_event,
	[STOKER_ABOUT] = read_about,
	[STOKER_END] = read_end,
};

static int read_list(struct reader *r, struct cursor *c, enum stoker_list list)
{
	uint64_t count = cursor_uleb(c);
	int err = 0;

	if (c->bad)
		return -EBADMSG;
	if (count > STOKER_ITEMS_MAX - r->counts[list])
		return refuse(r, -EFBIG, "it has too many items");
	if (list >= STOKER_ABOUT && count + r->counts[list] > 1)
		return refuse(r, -EBADMSG, "it has two ends or beginnings");
	for (; count > 0 && err == 0; count--) {
		err = readers[list](r, c);
		if (err == 0 && c->bad)
			err = -EBADMSG;
		r->counts[list] += err == 0;
	}
	return err;
}

static int unpack(struct reader *r, struct cursor *c)
{
	uint64_t bytes = cursor_uleb(c);
	size_t len;
	char *room;

	if (c->bad || bytes > STOKER_PIECE_MAX)
		return refuse(r, -EFBIG, "a piece of it is too large");
	r->bytes += bytes;
	if (r->bytes > STOKER_BYTES_MAX)
		return refuse(r, -EFBIG, "it is too large");
	buf_clear(&r->text);
	if (buf_reserve(&r->text, bytes, &room) < 0)
		return -ENOMEM;
	len = ZSTD_decompressDCtx(r->zstd, room, bytes, c->at, cursor_left(c));
	if (ZSTD_isError(len) || len != bytes)
		return refuse(r, -EBADMSG, "it cannot be decompressed");
	buf_commit(&r->text, len);
	return 0;
}

static int read_piece(struct reader *r, struct bytes piece)
{
	struct cursor c = cursor_init(piece.data, piece.len);
	int err = unpack(r, &c);

	c = cursor_init(r->text.data, r->text.len);
	for (size_t list = 0; list < STOKER_LISTS && err == 0; list++)
		err = read_list(r, &c, (enum stoker_list)list);
	return err == 0 && cursor_left(&c) > 0 ? -EBADMSG : err;
}

/* The content of the next skippable frame; empty at the end of the file. */
static struct bytes next_frame(struct cursor *c)
{
	uint32_t magic = cursor_u32(c), size = cursor_u32(c);

	c->bad |= magic != STOKER_MAGIC;
	return cursor_bytes(c, size);
}

static bool is_head(struct bytes frame)
{
	return frame.len > strlen(STOKER_NAME) &&
		memcmp(frame.data, STOKER_NAME, strlen(STOKER_NAME)) == 0;
}

bool stoker_looks_like(struct bytes file)
{
	struct cursor c = cursor_init(file.data, file.len);

	return is_head(next_frame(&c));
}

static int read_pieces(struct reader *r, struct cursor *c, struct stoker_found *found)
{
	int err = 0;

	while (err == 0 && r->counts[STOKER_END] == 0) {
		struct bytes piece;

		found->at = cursor_offset(c);
		piece = next_frame(c);
		err = c->bad ? refuse(r, -EBADMSG, "it is cut short") : read_piece(r, piece);
	}
	if (err == 0 && cursor_left(c) > 0) {
		found->at = cursor_offset(c);
		err = refuse(r, -EBADMSG, "something follows its end");
	}
	if (err == -EBADMSG && !r->what)
		r->what = "a piece of it ends too soon or too late";
	return err;
}

int stoker_read(struct bytes file, struct profile *out, struct stoker_found *found)
{
	_cleanup_(reader_done) struct reader r = { .out = out, .zstd = ZSTD_createDCtx() };
	struct cursor c = cursor_init(file.data, file.len);
	struct bytes head = next_frame(&c);
	int err;

	*found = (struct stoker_found){ 0 };
	if (!is_head(head))
		return -ENOEXEC;
	if (head.data[strlen(STOKER_NAME)] != STOKER_FORMAT)
		return -ENOTSUP;
	if (!r.zstd || add_id(&r, STOKER_STRINGS, 0) < 0)
		return -ENOMEM;
	err = read_pieces(&r, &c, found);
	found->what = r.what;
	out->ticks_dropped += r.lost_ticks;
	profile_sort(out);
	return err;
}
