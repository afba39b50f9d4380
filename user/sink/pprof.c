/* SPDX-License-Identifier: Apache-2.0 */
/* sink/pprof.c - profile.proto of github.com/google/pprof; the writer of the file compresses it. A
 * place in a file is a Location; functions that were inlined there are its further Lines, innermost
 * first. All labels of --by are labels here, and `stack`
 * says if the user stack is complete. Names are final, and mappings say so, or pprof would
 * look for symbols again. Without a period, as from folded text, there are counts and no times. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "profile/stack_state.h"
#include "sink/guessed.h"
#include "sink/protobuf.h"

#define PAGE_BYTES 4096

/* Fields of profile.proto. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	TIME_NANOS = 9,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	COMMENT = 13,
	DEFAULT_SAMPLE_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_INLINE = 10
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

struct mapping {
	uint32_t name, build_id; /* strings of the profile */
	uint64_t limit;          /* above all addresses */
};

/* A run of frames: those inlined, and the function. */
struct place {
	uint32_t first, len; /* in profile.frame_ids */
};

struct pprof {
	const struct profile *profile;
	struct buf *out;
	struct strtab strings; /* written last */
	uint32_t *string_ids;  /* by string of the profile; 0: not met yet */
	VEC(struct mapping) mappings;
	VEC(struct place) places;
	VEC(uint64_t) functions; /* name and file, strings of the profile */
	struct hash mapping_index, place_index, function_index;
	struct buf message, inner; /* being made */
};

static void pprof_done(struct pprof *w)
{
	strtab_done(&w->strings);
	free(w->string_ids);
	vec_done(&w->mappings);
	vec_done(&w->places);
	vec_done(&w->functions);
	hash_done(&w->mapping_index);
	hash_done(&w->place_index);
	hash_done(&w->function_index);
	buf_done(&w->message);
	buf_done(&w->inner);
}

/* ---- strings ----------------------------------------------------------------------------------
 */

static uint32_t text_at(struct pprof *w, const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	uint32_t at = 0;

	buf_fail(w->out, utf8_put_clean(&clean, text));
	buf_fail(w->out, strtab_put(&w->strings, buf_text(&clean), clean.len, &at));
	return at;
}

static void put_string(struct pprof *w, struct buf *out, uint32_t field, uint32_t string)
{
	if (w->string_ids[string] == 0 && string > 0)
		w->string_ids[string] = text_at(w, profile_text(w->profile, string));
	protobuf_number(out, field, w->string_ids[string]);
}

/* ---- what is met: each gets a number from 1 on -------------------------------------------------
 */

/* A number for an entry without memory; the profile fails. */
static uint64_t no_memory(struct pprof *w)
{
	buf_fail(w->out, -ENOMEM);
	return 0;
}

static uint64_t mapping_id(struct pprof *w, const struct profile_frame *frame)
{
	const struct profile_object *object =
		frame->object ? &w->profile->objects.data[frame->object - 1] : NULL;
	uint32_t name = object ? object->path : frame->module;
	uint64_t key = (uint64_t)name << 32 | (object ? object->build_id : 0);
	uint64_t *have = hash_find(&w->mapping_index, key);
	struct mapping *slot;

	if (frame->class == PROFILE_MARK || name == 0)
		return 0;
	if (!have) {
		slot = vec_add(&w->mappings);
		if (!slot || hash_put(&w->mapping_index, key, w->mappings.len) < 0)
			return no_memory(w);
		*slot = (struct mapping){ name, object ? object->build_id : 0, 0 };
		have = hash_find(&w->mapping_index, key);
	}
	slot = &w->mappings.data[*have - 1];
	if (frame->address >= slot->limit && frame->class != PROFILE_KERNEL)
		slot->limit = (frame->address / PAGE_BYTES + 1) * PAGE_BYTES;
	return *have;
}

static uint64_t function_id(struct pprof *w, const struct profile_frame *frame)
{
	uint64_t key = (uint64_t)frame->name << 32 | frame->file, *slot;
	uint64_t *have = hash_find(&w->function_index, key);

	if (have)
		return *have;
	slot = vec_add(&w->functions);
	if (!slot || hash_put(&w->function_index, key, w->functions.len) < 0)
		return no_memory(w);
	*slot = key;
	return w->functions.len;
}

static bool same_place(const struct profile *p, const struct place *a, const struct place *b)
{
	return a->len == b->len &&
		memcmp(p->frame_ids.data + a->first, p->frame_ids.data + b->first,
			a->len * sizeof(uint32_t)) == 0;
}

static uint64_t location_id(struct pprof *w, const struct place *place)
{
	uint64_t key = hash_bytes(
		w->profile->frame_ids.data + place->first, place->len * sizeof(uint32_t));
	uint64_t *have;
	struct place *slot;

	for (; (have = hash_find(&w->place_index, key)); key++)
		if (same_place(w->profile, &w->places.data[*have - 1], place))
			return *have;
	slot = vec_add(&w->places);
	if (!slot || hash_put(&w->place_index, key, w->places.len) < 0)
		return no_memory(w);
	*slot = *place;
	return w->places.len;
}

/* ---- samples ----------------------------------------------------------------------------------
 */

static void put_locations(struct pprof *w, const struct profile_stack *stack)
{
	const struct profile *p = w->profile;
	struct place place = { .first = stack->first };

	buf_clear(&w->inner);
	for (uint32_t i = stack->first; i < stack->first + stack->len; i++) {
		const struct profile_frame *frame = &p->frames.data[p->frame_ids.data[i]];

		place.len++;
		if (frame->class == PROFILE_INLINED && i + 1 < stack->first + stack->len)
			continue;
		buf_put_uleb(&w->inner, location_id(w, &place));
		place = (struct place){ .first = i + 1 };
	}
	if (stack->len > 0)
		protobuf_message(&w->message, SAMPLE_LOCATION, &w->inner);
}

static void put_label(struct pprof *w, const char *key, const char *text)
{
	if (strcmp(text, "?") == 0)
		return;
	buf_clear(&w->inner);
	protobuf_number(&w->inner, LABEL_KEY, text_at(w, key));
	protobuf_number(&w->inner, LABEL_STR, text_at(w, text));
	protobuf_message(&w->message, SAMPLE_LABEL, &w->inner);
}

/* Filters such as -tagfocus=pid=7 take a number for a number. Without a unit readers drop 0, which
 * is a CPU, and take the key for the unit of others. */
static void put_number_label(struct pprof *w, const char *key, int32_t number)
{
	if (number < 0)
		return;
	buf_clear(&w->inner);
	protobuf_number(&w->inner, LABEL_KEY, text_at(w, key));
	protobuf_number(&w->inner, LABEL_NUM, (uint64_t)number);
	protobuf_number(&w->inner, LABEL_NUM_UNIT, text_at(w, key));
	protobuf_message(&w->message, SAMPLE_LABEL, &w->inner);
}

static void put_labels(struct pprof *w, uint32_t labels)
{
	const struct profile *p = w->profile;

	for (uint32_t key = 0; key < PROFILE_KEYS + p->free_keys.len; key++) {
		if (profile_key_is_number(key))
			put_number_label(
				w, profile_key_name(p, key), profile_label_number(p, labels, key));
		else
			put_label(w, profile_key_name(p, key), sink_label(p, labels, key, NULL));
	}
}

static const char *state_text(enum stack_state state)
{
	static const char *const texts[] = {
		[STACK_STATE_NONE] = "?",
		[STACK_STATE_COMPLETE] = "complete",
		[STACK_STATE_GUESSED] = "guessed",
		[STACK_STATE_TRUNCATED] = "truncated",
	};

	return texts[state];
}

/* Kind 0 is samples and their time, or one of both. */
static bool has_samples(const struct profile *p)
{
	return p->kinds[0].unit == 0 && (p->kinds[0].period_ns > 0 || p->kinds_len == 1);
}

static bool has_amount(const struct profile *p)
{
	return p->kinds[0].unit != 0 || p->kinds[0].period_ns > 0 || p->kinds_len > 1;
}

/* A value for each type of put_types, in its order; zeros where the sample is of another kind. */
static void put_values(struct pprof *w, const struct profile_sample *sample)
{
	const struct profile *p = w->profile;

	buf_clear(&w->inner);
	if (has_samples(p))
		buf_put_uleb(&w->inner, sample->kind == 0 ? sample->value : 0);
	for (uint32_t kind = 1; kind < p->kinds_len; kind++)
		buf_put_uleb(&w->inner,
			sample->kind == kind ? profile_kind_amount(p, kind, sample->value) : 0);
	if (has_amount(p))
		buf_put_uleb(&w->inner,
			sample->kind == 0 ? profile_kind_amount(p, 0, sample->value) : 0);
}

static void put_sample(struct pprof *w, const struct profile_sample *sample)
{
	const struct profile *p = w->profile;

	buf_clear(&w->message);
	put_locations(w, &p->stacks.data[sample->stack]);
	put_values(w, sample);
	protobuf_message(&w->message, SAMPLE_VALUE, &w->inner);
	put_labels(w, sample->labels);
	put_label(w, "stack", state_text(stack_state_of(p, sample->stack)));
	protobuf_message(w->out, SAMPLE, &w->message);
}

/* ---- what they refer to -------------------------------------------------------------------------
 */

static void put_line(struct pprof *w, const struct profile_frame *frame)
{
	buf_clear(&w->inner);
	protobuf_number(&w->inner, LINE_FUNCTION, function_id(w, frame));
	protobuf_number(&w->inner, LINE_LINE, frame->line);
	protobuf_message(&w->message, LOCATION_LINE, &w->inner);
}

static void put_location(struct pprof *w, uint64_t id, const struct place *place)
{
	const struct profile *p = w->profile;
	const uint32_t *frames = p->frame_ids.data + place->first;
	const struct profile_frame *function = &p->frames.data[frames[place->len - 1]];

	buf_clear(&w->message);
	protobuf_number(&w->message, LOCATION_ID, id);
	protobuf_number(&w->message, LOCATION_MAPPING, mapping_id(w, function));
	protobuf_number(&w->message, LOCATION_ADDRESS, function->address);
	for (uint32_t i = 0; i < place->len; i++)
		put_line(w, &p->frames.data[frames[i]]);
	protobuf_message(w->out, LOCATION, &w->message);
}

static void put_function(struct pprof *w, uint64_t id, uint64_t function)
{
	buf_clear(&w->message);
	protobuf_number(&w->message, FUNCTION_ID, id);
	put_string(w, &w->message, FUNCTION_NAME, (uint32_t)(function >> 32));
	put_string(w, &w->message, FUNCTION_SYSTEM_NAME, (uint32_t)(function >> 32));
	put_string(w, &w->message, FUNCTION_FILENAME, (uint32_t)function);
	protobuf_message(w->out, FUNCTION, &w->message);
}

static void put_mapping(struct pprof *w, uint64_t id, const struct mapping *mapping)
{
	buf_clear(&w->message);
	protobuf_number(&w->message, MAPPING_ID, id);
	protobuf_number(&w->message, MAPPING_LIMIT, mapping->limit);
	put_string(w, &w->message, MAPPING_FILENAME, mapping->name);
	put_string(w, &w->message, MAPPING_BUILD_ID, mapping->build_id);
	for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINE; has++)
		protobuf_number(&w->message, has, 1);
	protobuf_message(w->out, MAPPING, &w->message);
}

static void put_type(struct pprof *w, uint32_t field, const char *type, const char *unit)
{
	buf_clear(&w->message);
	protobuf_number(&w->message, TYPE_TYPE, text_at(w, type));
	protobuf_number(&w->message, TYPE_UNIT, text_at(w, unit));
	protobuf_message(w->out, field, &w->message);
}

/* Perf's clocks count CPU time. */
static const char *type_of(const struct profile *p)
{
	const char *name = profile_kind_name(p, 0);

	if (p->kinds[0].unit == 0 && p->kinds[0].period_ns == 0 && p->kinds_len == 1)
		return PROFILE_SAMPLES;
	return strstr(name, "-clock") ? PROFILE_CPU : name;
}

/* Kind 0 is the default; readers that know no default take the last one. */
static void put_types(struct pprof *w)
{
	const struct profile *p = w->profile;

	if (has_samples(p))
		put_type(w, SAMPLE_TYPE, PROFILE_SAMPLES, "count");
	for (uint32_t kind = 1; kind < p->kinds_len; kind++)
		put_type(w, SAMPLE_TYPE, profile_kind_name(p, kind),
			profile_kind_amount_unit(p, kind));
	if (has_amount(p))
		put_type(w, SAMPLE_TYPE, type_of(p), profile_kind_amount_unit(p, 0));
	if (has_samples(p) && has_amount(p))
		put_type(w, PERIOD_TYPE, type_of(p), PROFILE_NANOSECONDS);
	if (p->kinds_len > 1)
		protobuf_number(w->out, DEFAULT_SAMPLE_TYPE, text_at(w, type_of(p)));
}

static void put_head(struct pprof *w)
{
	const struct profile *p = w->profile;
	char guessed[GUESSED_MAX];

	put_types(w);
	protobuf_number(w->out, PERIOD, p->kinds[0].period_ns);
	protobuf_number(w->out, TIME_NANOS, p->start_ns);
	protobuf_number(w->out, DURATION_NANOS, p->duration_ns);
	if (*guessed_text(p, guessed))
		protobuf_number(w->out, COMMENT, text_at(w, guessed));
}

/* Each loop adds to the lists of those after it. */
static void put_referred(struct pprof *w)
{
	for (size_t i = 0; i < w->places.len; i++)
		put_location(w, i + 1, &w->places.data[i]);
	for (size_t i = 0; i < w->functions.len; i++)
		put_function(w, i + 1, w->functions.data[i]);
	for (size_t i = 0; i < w->mappings.len; i++)
		put_mapping(w, i + 1, &w->mappings.data[i]);
	for (uint32_t i = 0; i < w->strings.len; i++) {
		const char *text = strtab_get(&w->strings, i);

		protobuf_bytes(w->out, STRING, text, strlen(text));
	}
}

int pprof_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(pprof_done) struct pprof w = { .profile = p, .out = out };

	(void)options;
	w.string_ids = calloc(p->strings.len + 1, sizeof(*w.string_ids));
	if (!w.string_ids || strtab_init(&w.strings) < 0)
		return buf_fail(out, -ENOMEM);
	put_head(&w);
	vec_each (&p->samples, sample)
		put_sample(&w, sample);
	/* After a failure the tables may have entries without a value. */
	if (buf_err(out) == 0)
		put_referred(&w);
	return buf_err(out);
}
