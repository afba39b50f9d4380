/* SPDX-License-Identifier: Apache-2.0 */
/* profile/profile.h - the one in-memory model that every output reads. A profile is a list of
 * samples; a sample is a stack, labels, a kind and a value. Strings, frames, stacks and labels
 * are interned: each is stored once, under a dense id. Adding the same (stack, labels, kind)
 * again adds to the value. The model knows neither the sources of names nor output formats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/events.h"
#include "profile/kinds.h"
#include "profile/labels.h"
#include "profile/marks.h"
#include "profile/span.h"

enum profile_class {
	PROFILE_NATIVE, PROFILE_KERNEL,    /* user code from a file; the kernel */
	PROFILE_JIT,                       /* user code without a file */
	PROFILE_INLINED, PROFILE_LANGUAGE, /* inlined into its caller; code that is interpreted */
	PROFILE_MARK,                      /* not code: a note in the stack, one of these: */
};

struct profile_frame {
	uint64_t address; /* file offset, or address if there is no file; 0 for marks */
	uint32_t name;    /* strings */
	uint32_t module;  /* file or kernel module, last part of its path; "": none */
	uint32_t file;    /* source file; "": unknown */
	uint32_t line;    /* 0: unknown */
	uint32_t class;   /* enum profile_class */
	uint32_t object;  /* index in profile.objects + 1; 0: none or unknown */
};

/* A file that frames belong to. All fields are strings. */
struct profile_object {
	uint32_t path, build_id; /* in the process's view; hex digits, "": none */
};

struct profile_stack {
	uint32_t first; /* in profile.frame_ids */
	uint32_t len;   /* frames, leaf first */
};

struct profile_sample {
	uint32_t stack;
	uint32_t labels; /* a set of labels.h */
	uint64_t value;  /* in the kind's unit */
	uint32_t kind;   /* in profile.kinds */
};

/* The time of one tick of a sample. */
struct profile_tick {
	uint64_t time_ns; /* CLOCK_MONOTONIC, or a file's own clock: compare in one profile only */
	uint32_t sample;  /* in profile.samples */
	uint32_t cpu;     /* PROFILE_NO_CPU: unknown */
};

#define PROFILE_NO_CPU UINT32_MAX
#define PROFILE_TICKS_MAX 4000000 /* 64 MB; further ticks are only counted */

struct profile {
	struct strtab strings;
	VEC(struct profile_frame) frames;
	VEC(struct profile_object) objects;
	VEC(uint32_t) frame_ids;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_label_set) labels;
	VEC(struct profile_label) label_list;
	VEC(uint32_t) free_keys; /* strings: the names of keys from PROFILE_KEYS on */
	VEC(struct profile_sample) samples;
	VEC(struct profile_tick) ticks; /* by time; empty if times were not kept */
	uint64_t ticks_dropped;         /* ticks without time, over PROFILE_TICKS_MAX */
	VEC(struct profile_span) spans;
	VEC(struct profile_event) events; /* by time */
	uint64_t labels_cut, events_dropped, events_cut; /* by the limits of labels.h, events.h */
	struct hash frame_index, stack_index, label_index, object_index;
	struct hash sample_index[PROFILE_KINDS_MAX]; /* by kind */
	struct profile_kind kinds[PROFILE_KINDS_MAX];
	uint32_t kinds_len;     /* 1 or more */
	uint32_t account;       /* strings: how it was sampled, JSON; "": unknown */
	uint64_t start_ns;      /* CLOCK_REALTIME */
	uint64_t start_tick_ns; /* the same moment on the clock of ticks; 0: unknown */
	uint64_t duration_ns;
};

int profile_init(struct profile *profile);
void profile_done(struct profile *profile);
/* These return 0 or -ENOMEM; the id is the last parameter. Labels and names of code that read as a
 * mark, or end in _[k], _[j] or _[i], are kept with braces: {guessed}. */
int profile_string(struct profile *profile, const char *text, uint32_t *id);
/* *id is the value for a frame's object: the index + 1. */
int profile_object(struct profile *profile, const struct profile_object *object, uint32_t *id);
int profile_frame(struct profile *profile, const struct profile_frame *frame, uint32_t *id);
/* frames: ids, leaf first. */
int profile_stack(struct profile *profile, const uint32_t *frames, uint32_t len, uint32_t *id);
/* Of kind 0, as profile_tick; the others are of the kind. */
int profile_add(struct profile *profile, uint32_t stack, uint32_t labels, uint64_t value);
int profile_add_kind(
	struct profile *p, uint32_t stack, uint32_t labels, uint32_t kind, uint64_t value);
/* Adds one tick: 1 to the sample's value, and its time. If all was added like this, the sum of
 * values is ticks.len + ticks_dropped. Ticks may come unordered: call profile_sort at the end. */
int profile_tick(
	struct profile *profile, uint32_t stack, uint32_t labels, uint32_t cpu, uint64_t time_ns);
int profile_tick_kind(struct profile *p, uint32_t stack, uint32_t labels, uint32_t kind,
	uint32_t cpu, uint64_t time_ns);
void profile_sort(struct profile *profile); /* ticks by time and CPU, events by time */

bool profile_is_mark(const char *name, size_t len); /* is it the name of a PROFILE_MARK? */
#define PROFILE_FOLDED_CLASS_LEN 4 /* folded text ends a frame so; without it: PROFILE_NATIVE */
enum profile_class profile_folded_class(const char *frame, size_t len);
int profile_plain(struct profile *profile, uint32_t *string); /* adds the braces above */
const char *profile_text(const struct profile *profile, uint32_t string);
/* Frame i of a stack; 0 is the leaf. */
const struct profile_frame *profile_stack_frame(
	const struct profile *profile, uint32_t stack, uint32_t i);
uint64_t profile_total(const struct profile *profile); /* of kind 0 */
