/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/language.bpf.h - the frames of a language between those of its runtime.
 * When a walk first comes to the file of a runtime, the innermost segment of the thread's frames is
 * read, leaf first: what one native frame runs. Then the walk goes on, and where a native frame
 * holds the segment's anchor, a struct that the runtime has on its stack, the segment's frames
 * follow that frame, and the next segment is read. So nothing is known of the native functions.
 * Reading a frame is one read of the process's memory; what it runs is looked at when it is kept.
 * A process may have anything in its memory: lengths and cycles are bounded, and it can
 * name its own frames alone. No maps and no SEC: compiles for the host too. Part of
 * bpf/frame.bpf.h; needed beside what that needs:
 *     struct scratch          language anchor
 *     language_of(index)      description or NULL
 *     language_scratch_of(walk)
 *     language_until(s)       when language_late() is true: a part of the time that is left
 *     language_late(c)
 *     language_code_id(walk, hash, code)   id of the code; 0: it is none */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/hotspot.bpf.h"

#define ANCHOR_NONE 0
#define ANCHOR_ANY 1  /* the next native frame of the function that runs frames */
#define ANCHOR_CUT 2  /* the same: the segment was not read to its end */

/* Frames of CPython 3.11 and later lie beside each other, callers below: some are read at once. */
#define LANGUAGE_BLOCK 1024
#define LANGUAGE_NEAR 65536
#define LANGUAGE_PAGE 4096 /* the least that there is */
#define LANGUAGE_WORDS 256 /* power of two */

struct language_scratch {
	u64 base;    /* where the file's offset 0 is or would be mapped */
	u64 frame;   /* the next frame and link of the thread; 0: none */
	u64 link;
	u64 until_ns; /* from then on no more are read or kept */
	u32 read;    /* number of frames of the thread that were read */
	u32 len;     /* number of the segment's, also of those that the ring lost */
	u32 pushed;  /* of them */
	u32 sent;    /* 1: a code was sent in this turn */
	u32 last_id; /* of the code that was pushed last, */
	u64 last;    /* at this address: a function that calls itself */
	u64 block_at;  /* address of the block; 0: none */
	u64 words[LANGUAGE_WORDS]; /* the block, then a frame that is in none */
	u64 code[16];  /* a part of a code */
	u64 text[16];  /* the beginning of a str */
	struct hotspot_scratch hotspot;
	u64 codes[LANGUAGE_FRAMES];
	u32 places[LANGUAGE_FRAMES];
	struct event_code event;
};

static __always_inline const struct language *language_of(u32 index);
static __always_inline struct language_scratch *language_scratch_of(u64 walk);
static __always_inline u64 language_until(const struct scratch *s);
static __always_inline bool language_late(const struct language_scratch *c);
static __always_inline u32 language_code_id(u64 walk, u64 hash, u64 code);

static __always_inline u64 code_u64(const struct language_scratch *c, u32 at)
{
	return c->code[at >> 3 & 15];
}

static __always_inline u32 code_u32(const struct language_scratch *c, u32 at)
{
	return (u32)(code_u64(c, at) >> (at & 4) * 8);
}

static __always_inline u64 frame_u64(const struct language_scratch *c, u32 at)
{
	return c->words[at >> 3 & (LANGUAGE_WORDS - 1)];
}

static __always_inline u32 frame_u32(const struct language_scratch *c, u32 at)
{
	return (u32)(frame_u64(c, at) >> (at & 4) * 8);
}

static __always_inline u32 frame_u8(const struct language_scratch *c, u32 at)
{
	return (u8)(frame_u64(c, at) >> (at & 7) * 8);
}

/* The word at addr; 0: it cannot be read. */
static __always_inline u64 language_word(u64 walk, u64 addr)
{
	u64 word;

	return walk_read(walk, &word, sizeof(word), addr) ? 0 : word;
}

/* ---- the thread's state ---------------------------------------------------------------------- */

/* Is it the number that the C library gives the thread whose data is at `base`? On arm64 that is
 * the address of a struct right below, whose size differs by version. */
#define THREAD_STRUCT_BYTES_MAX 8192

static __always_inline bool language_is_thread(u64 number, u64 base)
{
#ifdef ARCH_DWARF_LR
	return base - number - 1 < THREAD_STRUCT_BYTES_MAX;
#else
	return number == base;
#endif
}

/* Is it the state of the thread that is walked? */
WALK_GLOBAL int language_is_own(u64 walk, u64 state)
{
	struct scratch *s = scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;
	u64 base;

	if (!l || state == 0)
		return 0;
	base = thread_base_of(s);
	return base && language_is_thread(language_word(walk, state + l->thread_id), base);
}

#define GLIBC_KEYS_AT 0x310 /* struct pthread, x86-64: specific_1stblock, specific */
#define GLIBC_KEY_BLOCKS_AT 0x510
#define MUSL_KEYS_AT 0x80 /* struct pthread: tsd */
#define KEYS_MAX 1024     /* PTHREAD_KEYS_MAX of glibc */

/* Value that the thread has for a key, as glibc and then as musl keep it on x86-64; elsewhere that
 * is no state of this thread. */
WALK_GLOBAL u64 language_state_of_key(u64 walk, u32 key)
{
	struct scratch *s = scratch_of(walk);
	u64 base, block, state;

	if (!s || key >= KEYS_MAX)
		return 0;
	base = thread_base_of(s);
	block = key < 32 ? base + GLIBC_KEYS_AT
			 : language_word(walk, base + GLIBC_KEY_BLOCKS_AT + 8 * (key >> 5));
	state = language_word(walk, block + 16 * (key & 31) + 8);
	if (language_is_own(walk, state))
		return state;
	state = language_word(walk, language_word(walk, base + MUSL_KEYS_AT) + 8 * key);
	return language_is_own(walk, state) ? state : 0;
}

#define STATES_MAX 64 /* of an interpreter */

WALK_GLOBAL u64 language_state_in_list(u64 walk, u64 state)
{
	struct scratch *s = scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;

	if (!l)
		return 0;
	for (u32 i = 0; i < STATES_MAX && state; i++) {
		if (language_is_own(walk, state))
			return state;
		state = language_word(walk, state + l->thread_next);
	}
	return 0;
}

/* The innermost frame and link of the thread. */
WALK_GLOBAL int language_find_thread(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;
	u64 runtime, state;

	if (!c || !l)
		return 0;
	runtime = c->base + l->runtime;
	/* Another interpreter's state may run than the one that the key was set for. */
	state = l->current ? language_word(walk, runtime + l->current) : 0;
	if (!language_is_own(walk, state))
		state = language_state_of_key(walk, (u32)language_word(walk, runtime + l->key));
	if (!state) {
		state = language_word(walk, runtime + l->interpreters);
		state = language_word(walk, state + l->threads);
		state = language_state_in_list(walk, state);
	}
	c->frame = 0;
	if (!state)
		return 0;
	c->link = l->thread_link ? language_word(walk, state + l->thread_link) : 0;
	c->frame = l->thread_frame ? language_word(walk, state + l->thread_frame)
				   : language_word(walk, c->link + l->link_frame);
	return 0;
}

/* ---- its frames ------------------------------------------------------------------------------ */

#define FRAME_UNREADABLE (~0U)

/* Reads a frame; where it is in the words. */
static __always_inline u32 language_read(
	u64 walk, const struct language *l, struct language_scratch *c, u64 frame)
{
	u64 offset = frame - c->block_at, start = frame + LANGUAGE_FRAME_SMALL - LANGUAGE_BLOCK;
	u64 page = frame & ~(u64)(LANGUAGE_PAGE - 1);

	if (l->frame_is_large)
		return walk_read(walk, c->words, LANGUAGE_FRAME_LARGE, frame) ? FRAME_UNREADABLE
									     : 0;
	if (c->block_at && offset <= LANGUAGE_BLOCK - LANGUAGE_FRAME_SMALL && !(offset & 7))
		return offset;
	/* A frame on the native stack is alone. */
	if (c->block_at && start - c->block_at + LANGUAGE_NEAR > 2 * LANGUAGE_NEAR)
		return walk_read(walk, &c->words[LANGUAGE_BLOCK / 8], LANGUAGE_FRAME_SMALL, frame)
			? FRAME_UNREADABLE
			: LANGUAGE_BLOCK;
	/* A read that fails is dear, and there may be nothing before the frame's page. */
	c->block_at = start < page ? page : start;
	if (walk_read(walk, c->words, LANGUAGE_BLOCK, c->block_at) == 0)
		return frame - c->block_at;
	c->block_at = 0;
	return FRAME_UNREADABLE;
}

/* Where the first instruction of a copy is: each thread of a runtime without a lock has its own. */
WALK_GLOBAL u64 language_copy(u64 walk, u64 copies, u32 number)
{
	return language_word(walk, language_word(walk, copies) + 8 + 8 * (u64)number);
}

/* A negative place is one before the first instruction. */
static __always_inline u32 language_place(
	u64 walk, const struct language *l, const struct language_scratch *c, u32 at, u64 code)
{
	s64 place = (s32)frame_u32(c, at + l->frame_place);
	u64 first = code + l->code_first;
	u32 copy = l->frame_copy ? frame_u32(c, at + l->frame_copy) : 0;

	if (l->place_kind == PLACE_ADDRESS) {
		if (copy)
			first = language_copy(walk, code + l->code_copies, copy);
		place = (s64)(frame_u64(c, at + l->frame_place) - first) >> 1;
	}
	if (place < 0)
		return 0;
	return place < (s64)FRAME_PLACE_MASK ? place : (s64)FRAME_PLACE_MASK;
}

/* Where the segment's frame is kept: the leaf's, and of the others the last ones, in a ring. */
static __always_inline u32 language_at(u32 number)
{
	if (number >= LANGUAGE_LEAF_FRAMES)
		number = LANGUAGE_LEAF_FRAMES + (number & (LANGUAGE_ROOT_FRAMES - 1));
	return number & (LANGUAGE_FRAMES - 1);
}

/* Reads one frame. 1: the segment has ended. */
static __always_inline int language_frame(
	u64 walk, struct scratch *s, const struct language *l, struct language_scratch *c)
{
	u64 frame, code, anchor = ANCHOR_ANY;
	u32 in, end, at;

	if (!c->frame || c->read >= LANGUAGE_WALK_MAX)
		return 1;
	frame = c->frame;
	in = language_read(walk, l, c, frame);
	if (in == FRAME_UNREADABLE)
		return 1;
	c->read++;
	end = frame_u8(c, in + l->frame_end);
	c->frame = frame_u64(c, in + l->frame_previous);
	if (l->segment_end == SEGMENT_SHIM && end >= l->segment_value) {
		s->anchor = frame;
		return 1;
	}
	code = frame_u64(c, in + l->frame_code) & ~(u64)l->code_tag;
	at = language_at(c->len++);
	c->codes[at] = code;
	c->places[at] = language_place(walk, l, c, in, code);
	if (l->segment_end == SEGMENT_SHIM ||
		(l->segment_end == SEGMENT_ENTRY && end != l->segment_value))
		return 0;
	if (c->link) {
		anchor = c->link;
		c->link = language_word(walk, anchor + l->link_previous);
	}
	s->anchor = anchor;
	return 1;
}

#define LANGUAGE_TURN 64

/* A turn looks up once what all of its frames need. */
WALK_GLOBAL int language_turn(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;

	if (!c || !l)
		return 1;
	for (u32 i = 0; i < LANGUAGE_TURN; i++)
		if (language_frame(walk, s, l, c))
			return 1;
	return 0;
}

/* Reads the next segment. */
WALK_GLOBAL int language_segment(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);

	if (!s || !c)
		return 0;
	c->len = c->pushed = 0;
	s->anchor = ANCHOR_NONE;
	for (u32 i = 0; i < LANGUAGE_WALK_MAX / LANGUAGE_TURN + 1; i++)
		if (language_turn(walk) || language_late(c))
			break;
	if (s->anchor == ANCHOR_NONE && (c->len > 0 || (c->frame && c->read > 0)))
		s->anchor = ANCHOR_CUT;
	return 0;
}

/* The walk has come to a runtime's file. */
WALK_GLOBAL int language_begin(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l;

	if (!s || !c)
		return 0;
	s->language = s->at.language;
	s->anchor = ANCHOR_NONE;
	l = language_of(s->language);
	if (!l || l->object != s->at.object)
		return 0;
	c->base = s->at.start - s->at.file_offset;
	c->read = c->last = c->block_at = 0;
	c->last_id = CODE_UNREADABLE; /* of a frame without a code */
	c->until_ns = language_until(s);
	language_find_thread(walk);
	return language_segment(walk);
}

/* ---- between native frames ------------------------------------------------------------------- */

/* The head of a str of CPython: reference count, type, length, hash, state. */
#define STR_HEAD_BYTES 40
#define STR_LENGTH 2 /* words */
#define STR_HASH 3
#define STR_STATE 4
#define STR_COMPACT (1U << 3) /* in the state, above the width */
#define STR_ASCII (1U << 4)

/* Up to 3.11: from where on it has its characters, and where its width begins in the state. */
#define TEXT_CHARACTERS 6
#define TEXT_SHIFT 2
#define TEXT_WORDS 16
#define CPYTHON_NUMBERED 12 /* from 3.12 on a code has a number that no other one has */

/* A number for the beginning of a str. 0: it cannot be read. */
WALK_GLOBAL u64 language_text_hash(u64 walk, u64 str)
{
	struct language_scratch *c = language_scratch_of(walk);
	u64 hash, len;

	if (!c || walk_read(walk, c->text, sizeof(c->text), str))
		return 0;
	len = c->text[STR_LENGTH];
	hash = mix(len, c->text[STR_HASH]);
	if (!((u32)c->text[STR_STATE] & STR_ASCII << TEXT_SHIFT))
		return hash;
	NOT_UNROLLED
	for (u32 i = TEXT_CHARACTERS; i < TEXT_WORDS; i++)
		if ((i - TEXT_CHARACTERS) * sizeof(u64) <= len)
			hash = mix(hash, c->text[i & (TEXT_WORDS - 1)]);
	return hash;
}

/* The code's id from what names it: where that lies is another place for another code at the same
 * address. Memory that was freed may get codes of the same shape again and again, each with its
 * name where the one before had it: so without a number the name and the file are read. */
static __always_inline u32 language_identify(u64 walk, const struct scratch *s,
	const struct language *l, struct language_scratch *c, u64 code)
{
	u64 hash = mix(mix(stacks_secret, s->task.start_ns), s->task.tgid);

	if (walk_read(walk, c->code, LANGUAGE_CODE_WINDOW, code + l->code_window))
		return CODE_UNREADABLE;
	/* What CPython has put below an __init__ that it runs itself is named after it in both. */
	if (code_u64(c, l->code_file) == code_u64(c, l->code_name))
		return 0;
	hash = mix(mix(hash, code), code_u64(c, l->code_file));
	hash = mix(mix(hash, code_u64(c, l->code_name)), code_u64(c, l->code_lines));
	hash = mix(mix(hash, code_u32(c, l->code_first_line)), code_u64(c, 0));
	/* With 0: its size, constants, and from 3.12 on the number of the code. */
	hash = mix(mix(mix(hash, code_u64(c, 8)), code_u64(c, 40)), code_u64(c, 72));
	if (l->version < CPYTHON_NUMBERED)
		hash = mix(mix(hash, language_text_hash(walk, code_u64(c, l->code_name))),
			language_text_hash(walk, code_u64(c, l->code_file)));
	return language_code_id(walk, hash, code);
}

/* Pushes the segment's next frame, unless it runs no code. 1: all are pushed, or the turn ends. */
static __always_inline int language_push(
	u64 walk, struct scratch *s, const struct language *l, struct language_scratch *c)
{
	u32 at, id;

	if (c->pushed >= c->len || c->sent)
		return 1;
	if (c->pushed == LANGUAGE_LEAF_FRAMES && c->len > LANGUAGE_FRAMES) {
		/* The ring has lost them. */
		c->pushed = c->len - LANGUAGE_ROOT_FRAMES;
		push(s, (u64)FRAME_LEFT_OUT);
		return 0;
	}
	at = language_at(c->pushed++);
	id = c->codes[at] == c->last ? c->last_id : language_identify(walk, s, l, c, c->codes[at]);
	c->last = c->codes[at];
	c->last_id = id;
	if (id)
		push(s, frame_code(id, c->places[at]));
	return 0;
}

WALK_GLOBAL int language_push_turn(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;

	if (!c || !l)
		return 1;
	for (u32 i = 0; i < LANGUAGE_TURN; i++)
		if (language_push(walk, s, l, c))
			return 1;
	return 0;
}

/* Is the anchor in the frame that was stepped over? */
static __always_inline bool language_holds(struct scratch *s, u64 anchor)
{
	const struct language *l;
	u64 offset;

	if (anchor > ANCHOR_CUT)
		return anchor - s->stepped.sp < s->regs.sp - s->stepped.sp;
	l = language_of(s->language);
	offset = s->stepped.pc - s->at.start + s->at.file_offset;
	return l && s->at.object == l->object && offset > l->eval_begin && offset <= l->eval_end;
}

/* To send a code takes time, so a turn ends with it. */
#define LANGUAGE_TURNS 64
#define SEGMENTS_A_STEP 8 /* code that is stepped through by its frame pointer may hide frames */

/* After a step over a native frame, pushes its segment. If that is not whole the rest of the
 * language's frames is left out. 1: the frame may have another one. */
WALK_GLOBAL int language_join(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);

	if (!s || !c || !language_holds(s, s->anchor))
		return 0;
	c->until_ns = language_until(s);
	for (u32 n = 0; n < LANGUAGE_TURNS; n++) {
		c->sent = 0;
		if (language_push_turn(walk) && !c->sent)
			break;
		if (n + 1 == LANGUAGE_TURNS || language_late(c)) {
			s->anchor = ANCHOR_CUT;
			break;
		}
	}
	if (s->anchor == ANCHOR_CUT) {
		push(s, (u64)FRAME_LEFT_OUT);
		s->anchor = ANCHOR_NONE;
		return 0;
	}
	language_segment(walk);
	return s->anchor != ANCHOR_ANY;
}

/* After a step up from a frame of s->at. */
static __always_inline void walk_language(struct scratch *s)
{
	if (s->at.language && !s->language)
		language_begin(walk_of(s));
	if (s->anchor && language_holds(s, s->anchor))
		for (u32 i = 0; i < SEGMENTS_A_STEP; i++)
			if (!language_join(walk_of(s)))
				break;
}
