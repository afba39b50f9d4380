/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_language.h - the part of bpf/abi.h for languages whose frames are data. User space says
 * where a runtime keeps the frames of a thread, and what a frame and its code hold; BPF follows
 * them, gives each code an id, and sends what names it. */
#pragma once

#include "bpf/abi_hotspot.h"

#define LANGUAGES_MAX 1024 /* descriptions; the first stands for none. A multiple of 64 */

/* A FRAME_CODE is the id of a code << FRAME_PLACE_BITS | the place in it, see enum code_place. */
#define FRAME_PLACE_BITS 28
#define FRAME_PLACE_MASK ((1ULL << FRAME_PLACE_BITS) - 1)
#define CODE_UNREADABLE 1 /* the id of all code that could not be read; others: OBJECT_FIRST on */

/* Where the frames end that belong to one frame of the native function that runs them. */
enum segment_end {
	SEGMENT_EVERY, /* each frame is alone: CPython up to 3.10 */
	SEGMENT_ENTRY, /* after a frame whose byte is the value: 3.11 */
	SEGMENT_SHIM,  /* at a frame whose byte is at least the value, which is none of the
			* program's: from 3.12 on */
};

/* Where a frame says which instruction is executed. */
enum code_place {
	PLACE_BYTES,   /* s32: offset in the code: CPython 3.8, 3.9 */
	PLACE_UNITS,   /* s32: the same in units of two bytes: 3.10 */
	PLACE_ADDRESS, /* address of the unit: from 3.11 on */
};

/* One runtime, as it is in one file. Offsets in structs are bytes. */
struct language {
	__u32 object;         /* the file */
	__u8 kind;            /* enum language_kind */
	__u8 version;         /* CPython 3.version */
	__u8 segment_end;     /* enum segment_end */
	__u8 segment_value;   /* to compare the byte with */
	__s64 runtime;        /* address, from where the file's offset 0 is or would be mapped */
	__s64 code_type;      /* address of the type of code, likewise */
	__u64 eval_begin;     /* file offsets of the native function, where no anchor of a */
	__u64 eval_end;       /* segment can be had; else 0 */
	__u16 key;            /* runtime: of the key of a thread's own state, an int */
	__u16 current;        /* runtime: state of the thread that runs; 0: it has no such field */
	__u16 interpreters;   /* runtime: first interpreter */
	__u16 threads;        /* interpreter: first thread's state */
	__u16 thread_next;    /* in a thread's state */
	__u16 thread_id;      /* what pthread_self() returned */
	__u16 thread_frame;   /* innermost frame; 0: the link has it */
	__u16 thread_link;    /* innermost link, a struct on the native stack; 0: there are none */
	__u16 link_frame;     /* in a link */
	__u16 link_previous;
	__u16 code_window;    /* in the code: where the next four are looked for */
	__u16 code_first;     /* in the code: its first instruction */
	__u16 code_copies;    /* in the code: array of its instructions' copies, after a word */
	__u8 place_kind;      /* enum code_place */
	__u8 frame_is_large;  /* LANGUAGE_FRAME_LARGE bytes of it are read */
	__u8 frame_code;      /* in the frame's window */
	__u8 frame_previous;
	__u8 frame_place;
	__u8 frame_end;       /* of the byte of enum segment_end */
	__u8 frame_copy;      /* s32: which copy of the instructions is run; 0: there are none */
	__u8 code_file;       /* in the code's window: strings */
	__u8 code_name;
	__u8 code_lines;      /* bytes */
	__u8 code_first_line; /* s32 */
	__u8 text_ascii;      /* in a string: where its characters are */
	__u8 text_other;
	__u8 code_tag;        /* bits of a frame's word for its code that are no address */
	__u8 object_extra;    /* bytes that an object's head has more than two words */
	__u8 text_shift;      /* in a string's state: the width of its characters */
};

enum language_kind { LANGUAGE_CPYTHON = 1, LANGUAGE_HOTSPOT };

#define LANGUAGE_FRAME_SMALL 80
#define LANGUAGE_FRAME_LARGE 112
#define LANGUAGE_CODE_WINDOW 128

#define LANGUAGE_WALK_MAX 2048 /* frames of one thread */
/* Frames of one segment: the leaf's, and after those a ring of the root's. */
#define LANGUAGE_LEAF_FRAMES 448
#define LANGUAGE_ROOT_FRAMES 64 /* power of two, as the sum */
#define LANGUAGE_FRAMES (LANGUAGE_LEAF_FRAMES + LANGUAGE_ROOT_FRAMES)

#define CODE_NAME_BYTES 128
#define CODE_FILE_BYTES 256
#define CODE_LINES_BYTES 8192

/* A code that is sampled for the first time. */
struct event_code {
	__u32 kind;
	__u32 id;
	__u64 start_ns; /* of its process */
	__u32 tgid;
	__s32 first_line;
	/* Of HotSpot's, where the rest of its names and lines is: its method; of code that a
	 * compiler made, else 0: its blob, and its number, which no other code of the process
	 * has. */
	__u64 method;
	__u64 blob;
	__u32 compile_id;
	__u8 language; /* enum language_kind */
	__u8 version;
	__u8 name_width, file_width; /* bytes a character: 1, 2 or 4; 1 is Latin 1 */
	__u16 name_bytes, file_bytes, lines_bytes;
	__u8 name_cut, file_cut; /* the name's end is missing; the file's beginning */
	__u8 name[CODE_NAME_BYTES], file[CODE_FILE_BYTES];
	__u8 lines[CODE_LINES_BYTES]; /* the last, so that an event ends where they do */
};

static inline __u64 frame_code(__u32 id, __u64 place)
{
	return (__u64)id << FRAME_PLACE_BITS |
		(place < FRAME_PLACE_MASK ? place : FRAME_PLACE_MASK);
}

_Static_assert(sizeof(struct language) == 88, "language");
_Static_assert(sizeof(struct event_code) == 8632, "event_code");
