/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython_trial.c - the same way as in bpf/language.bpf.h, with more looks at what it
 * finds there: a wrong offset leads to words that are no code, no text or no place. */
#include "language/cpython_trial.h"

#include <stdbool.h>
#include <string.h>

enum round { ROUND_RUNTIME, ROUND_INTERPRETER, ROUND_THREAD, ROUND_SELF, ROUND_LINK, ROUND_FRAME,
	ROUND_CODE, ROUND_TEXT, ROUND_CHARACTERS };

#define THREADS_MAX 8 /* a process decides how much is read: not much */
#define FRAMES_MAX 16
#define OUTERS_MAX 4 /* further codes: frames are linked as the table says */
#define TEXT_MAX 65536
#define LINE_MAX 10000000
#define INSTRUCTIONS_MAX (1 << 22)
#define CODE_UNITS_BEFORE 16 /* a frame that has not begun may be before the first */
#define OBJECT_TYPE 8
#define STR_LENGTH 16
#define STR_STATE 32
#define STR_COMPACT (1U << 3)
#define STR_ASCII (1U << 4)

static uint64_t aligned(uint64_t address)
{
	return address & ~7ULL;
}

static uint32_t half(uint64_t word, uint64_t address)
{
	return (uint32_t)(word >> (address & 4) * 8);
}

uint32_t cpython_trial_wants(
	const struct cpython_trial *t, uint64_t a[CPYTHON_TRIAL_WORDS_MAX])
{
	const struct language *l = t->language;
	uint64_t object = t->at + l->object_extra;

	switch ((enum round)t->round) {
	case ROUND_RUNTIME:
		a[0] = t->base + (uint64_t)l->runtime + l->interpreters;
		return 1;
	case ROUND_INTERPRETER:
		a[0] = t->at + l->threads;
		return 1;
	case ROUND_THREAD:
		a[0] = t->at + l->thread_id;
		a[1] = t->at + l->thread_next;
		a[2] = t->at + (l->thread_frame ? l->thread_frame : l->thread_link);
		return 3;
	case ROUND_SELF:
		a[0] = t->thread_number;
		return 1;
	case ROUND_LINK:
		a[0] = t->at + l->link_frame;
		return 1;
	case ROUND_FRAME:
		a[0] = t->at + l->frame_code;
		a[1] = t->at + l->frame_previous;
		a[2] = aligned(t->at + l->frame_place);
		a[3] = aligned(t->at + l->frame_end);
		a[4] = aligned(t->at + l->frame_copy);
		return 5;
	case ROUND_CODE:
		a[0] = object + OBJECT_TYPE;
		a[1] = t->at + l->code_window + l->code_file;
		a[2] = t->at + l->code_window + l->code_name;
		a[3] = aligned(t->at + l->code_window + l->code_first_line);
		return 4;
	case ROUND_TEXT:
		a[0] = t->texts[t->texts_read] + l->object_extra + STR_LENGTH;
		a[1] = t->texts[t->texts_read] + l->object_extra + STR_STATE;
		a[2] = t->texts[t->texts_read] + l->object_extra + OBJECT_TYPE;
		return 3;
	case ROUND_CHARACTERS:
		a[0] = aligned(t->at);
		a[1] = aligned(t->place);
		a[2] = aligned(t->place - 1);
		return 3;
	}
	return 0;
}

/* ---- what was read --------------------------------------------------------------------------- */

static enum cpython_verdict next_round(struct cpython_trial *t, enum round round, uint64_t at)
{
	t->round = round;
	t->at = at;
	return CPYTHON_TRIAL_MORE;
}

/* The innermost frame of this thread, if it runs any. */
static enum cpython_verdict begin_frames(struct cpython_trial *t, uint64_t frame)
{
	if (frame)
		return next_round(t, ROUND_FRAME, frame);
	if (!t->thread_next || ++t->threads >= THREADS_MAX)
		return CPYTHON_TRIAL_EARLY;
	return next_round(t, ROUND_THREAD, t->thread_next);
}

static enum cpython_verdict begin_link(struct cpython_trial *t)
{
	const struct language *l = t->language;

	if (l->thread_frame || t->place == 0)
		return begin_frames(t, t->place);
	return next_round(t, ROUND_LINK, t->place);
}

static enum cpython_verdict take_thread(struct cpython_trial *t, const uint64_t *w)
{
	t->thread_number = w[0];
	t->thread_next = w[1];
	t->place = w[2];
	return w[0] && w[0] % 8 == 0 ? next_round(t, ROUND_SELF, t->at) : CPYTHON_TRIAL_WRONG;
}

/* pthread_self() is the address of a struct; on x86-64 that begins with its own address. */
static enum cpython_verdict take_self(struct cpython_trial *t, const uint64_t *w)
{
#ifdef __x86_64__
	if (w[0] != t->thread_number)
		return CPYTHON_TRIAL_WRONG;
#else
	(void)w;
#endif
	return begin_link(t);
}

/* To the frame around this one. A frame that is alone does not show how they are linked. */
static enum cpython_verdict go_out(struct cpython_trial *t)
{
	if (t->outers > 0 && (t->outer == 0 || t->outers == OUTERS_MAX))
		return CPYTHON_TRIAL_RIGHT;
	if (t->outer == 0)
		t->texts_read = 0;
	if (++t->frames >= FRAMES_MAX)
		return CPYTHON_TRIAL_WRONG;
	return begin_frames(t, t->outer);
}

static enum cpython_verdict take_frame(struct cpython_trial *t, const uint64_t *w)
{
	const struct language *l = t->language;
	uint8_t end = (uint8_t)(w[3] >> ((t->at + l->frame_end) & 7) * 8);
	uint64_t code = w[0] & ~(uint64_t)l->code_tag;

	t->outer = w[1];
	if (l->segment_end == SEGMENT_SHIM && end >= l->segment_value)
		return go_out(t);
	if (l->segment_end == SEGMENT_ENTRY && end > 1)
		return CPYTHON_TRIAL_WRONG;
	t->copied = l->frame_copy && half(w[4], t->at + l->frame_copy) != 0;
	t->place = l->place_kind == PLACE_ADDRESS
		? w[2] - code - l->code_first
		: (uint64_t)(int64_t)(int32_t)half(w[2], t->at + l->frame_place);
	return code && code % 8 == 0 ? next_round(t, ROUND_CODE, code) : CPYTHON_TRIAL_WRONG;
}

static enum cpython_verdict take_code(struct cpython_trial *t, const uint64_t *w)
{
	const struct language *l = t->language;
	int64_t place = (int64_t)t->place;
	uint32_t line = half(w[3], t->at + l->code_window + l->code_first_line);

	if (w[0] != t->base + (uint64_t)l->code_type || w[1] == 0 || w[2] == 0 ||
		line > LINE_MAX)
		return CPYTHON_TRIAL_WRONG;
	if (!t->copied && (place < -CODE_UNITS_BEFORE || place > INSTRUCTIONS_MAX))
		return CPYTHON_TRIAL_WRONG;
	if (t->texts_read == 2) {
		t->outers++;
		return go_out(t);
	}
	t->texts[0] = w[2];
	t->texts[1] = w[1];
	return next_round(t, ROUND_TEXT, t->at);
}

static enum cpython_verdict take_text(struct cpython_trial *t, const uint64_t *w)
{
	const struct language *l = t->language;
	uint32_t state = (uint32_t)w[1] >> l->text_shift, width = state & 7;
	uint64_t at = t->texts[t->texts_read];

	/* A file's name is a str, as a function's is. */
	if (t->texts_read == 0)
		t->text_type = w[2];
	t->is_ascii = (state & STR_ASCII) != 0;
	if (w[2] == 0 || w[2] != t->text_type || w[0] == 0 || w[0] > TEXT_MAX ||
		!(state & STR_COMPACT) || (width != 1 && width != 2 && width != 4))
		return CPYTHON_TRIAL_WRONG;
	at += state & STR_ASCII ? l->text_ascii : l->text_other;
	t->place = at + w[0] * width; /* a character of 0 follows the last one */
	return next_round(t, ROUND_CHARACTERS, at);
}

static uint8_t byte_of(uint64_t word, uint64_t address)
{
	return (uint8_t)(word >> (address & 7) * 8);
}

/* Characters that are one byte wide are looked at: the first ones, and the last. */
static bool is_text(const struct cpython_trial *t, const uint64_t *w)
{
	if (byte_of(w[1], t->place) != 0)
		return false;
	if (!t->is_ascii)
		return w[0] != 0;
	for (uint64_t at = t->at; at < t->place && at < aligned(t->at) + 8; at++)
		if (byte_of(w[0], at) < ' ' || byte_of(w[0], at) > '~')
			return false;
	return byte_of(w[2], t->place - 1) >= ' ' && byte_of(w[2], t->place - 1) <= '~';
}

static enum cpython_verdict take_characters(struct cpython_trial *t, const uint64_t *w)
{
	if (!is_text(t, w))
		return CPYTHON_TRIAL_WRONG;
	if (++t->texts_read == 2)
		return go_out(t);
	return next_round(t, ROUND_TEXT, t->at);
}

enum cpython_verdict cpython_trial_takes(
	struct cpython_trial *t, const uint64_t w[CPYTHON_TRIAL_WORDS_MAX])
{
	switch ((enum round)t->round) {
	case ROUND_RUNTIME:
		return w[0] ? next_round(t, ROUND_INTERPRETER, w[0]) : CPYTHON_TRIAL_EARLY;
	case ROUND_INTERPRETER:
		return w[0] ? next_round(t, ROUND_THREAD, w[0]) : CPYTHON_TRIAL_EARLY;
	case ROUND_THREAD:
		return take_thread(t, w);
	case ROUND_SELF:
		return take_self(t, w);
	case ROUND_LINK:
		return begin_frames(t, w[0]);
	case ROUND_FRAME:
		return take_frame(t, w);
	case ROUND_CODE:
		return take_code(t, w);
	case ROUND_TEXT:
		return take_text(t, w);
	case ROUND_CHARACTERS:
		return take_characters(t, w);
	}
	return CPYTHON_TRIAL_WRONG;
}
