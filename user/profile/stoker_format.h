/* SPDX-License-Identifier: Apache-2.0 */
/* profile/stoker_format.h - the file of a whole profile, `.stoker`, version 0: stoker-file(5) has
 * it in full. All of it is in skippable frames (RFC 8878 §3.1.2): the first names the format and
 * its version, each of the others is a piece. A piece is its size, unpacked, and a Zstandard frame
 * of lists, one of each kind below in this order, as a count and its items. Numbers are ULEB128
 * (DWARF 5 §7.6). An item has a number, from 0 on, in its list over all pieces; what an item refers
 * to comes before it. */
#pragma once

#include <stdint.h>

#define STOKER_MAGIC 0x184D2A54U
#define STOKER_NAME "stoker profile" /* then the version */
#define STOKER_FORMAT 0

/* The comment of each is its items. A string is written as its number; 0 is "". */
enum stoker_list {
	STOKER_STRINGS, /* length, bytes: number 1 and on */
	STOKER_OBJECTS, /* path, build ID */
	/* name, as the step from that of the frame before, + 1; class (enum profile_class),
	 * object + 1, module, address, source file, line */
	STOKER_FRAMES,
	/* How many frames at the root are those of the stack before, how many more there are, and
	 * these, from the root on. */
	STOKER_STACKS,
	STOKER_KEYS,    /* name: of free labels */
	STOKER_LABELS,  /* a set: count, key, value of each; a value is a string or number */
	STOKER_KINDS,   /* name, unit, scale, period */
	/* stack, as the step from that of the sample before, + 1; labels, kind, value */
	STOKER_SAMPLES,
	STOKER_TICKS, /* time, as the step from the tick before; sample, CPU + 1 */
	/* time, as the step from the event before; duration, text, stack + 1, labels */
	STOKER_EVENTS,
	/* start, start on the clock of ticks, duration, ticks_dropped, labels_cut, events_dropped,
	 * events_cut, account: once, first */
	STOKER_ABOUT,
	STOKER_END, /* the number of samples, ticks and events: once, last */
	STOKER_LISTS,
};

/* Limits of a reader; a writer begins another piece at STOKER_PIECE_BYTES. */
#define STOKER_PIECE_BYTES (1U << 20)
#define STOKER_PIECE_MAX (64U << 20)
#define STOKER_BYTES_MAX (1UL << 30)    /* of all pieces, unpacked */
#define STOKER_ITEMS_MAX 16000000U      /* of each list */
#define STOKER_FRAMES_MAX 4096          /* of a stack */
#define STOKER_FRAMES_SUM_MAX 128000000 /* of all stacks */
#define STOKER_SUM_MAX INT64_MAX        /* of the values of a kind */
#define STOKER_TIME_MAX INT64_MAX

/* The step from one number to another: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
static inline uint64_t stoker_step(uint64_t from, uint64_t to)
{
	return to >= from ? (to - from) << 1 : ((from - to) << 1) - 1;
}

/* The same back. */
static inline uint64_t stoker_stepped(uint64_t from, uint64_t step)
{
	return step & 1 ? from - (step / 2 + 1) : from + step / 2;
}
