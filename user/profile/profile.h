/* SPDX-License-Identifier: Apache-2.0 */
/* profile/profile.h - the one in-memory model that every output reads.
 * A profile is samples; a sample is a stack, labels and a value. Strings, frames, stacks and labels
 * are interned: each once, known by a dense id. Adding the same (stack, labels) again adds to the
 * value. Nothing here knows where a name came from or how it will be written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"

enum profile_class {
	PROFILE_NATIVE, /* user code in a file */
	PROFILE_KERNEL,
	PROFILE_JIT,     /* user code in no file */
	PROFILE_INLINED, /* of its caller's code */
	PROFILE_MARK,    /* not code: says something of the stack, such as [truncated] */
};

struct profile_frame {
	uint64_t address; /* file offset, or address where there is no file; 0 for marks */
	uint32_t name;    /* strings */
	uint32_t module;  /* file or kernel module, last part of its path; "" none */
	uint32_t file;    /* source file; "" not known */
	uint32_t line;    /* 0 not known */
	uint32_t class;   /* enum profile_class */
	uint32_t object;  /* index in profile.objects + 1; 0 none, or not known */
};

/* A file that frames are of. Strings, as all. */
struct profile_object {
	uint32_t path;     /* as the process sees it */
	uint32_t build_id; /* hex digits; "" none */
};

/* Whose sample it is. Strings are ids; "" and -1: not known or not kept. */
struct profile_labels {
	uint32_t container, pod, namespace_, image, unit, comm;
	int32_t pid, tid, cpu;
};

struct profile_stack {
	uint32_t first; /* in profile.frame_ids */
	uint32_t len;   /* frames, leaf first */
};

struct profile_sample {
	uint32_t stack;
	uint32_t labels;
	uint64_t value;
};

/* When one of a sample's ticks was. */
struct profile_tick {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the host, or a file's own clock: a time is to be
			     compared with others of the same profile, not with those of another */
	uint32_t sample;  /* in profile.samples */
	uint32_t cpu;     /* PROFILE_NO_CPU: not known */
};

#define PROFILE_NO_CPU UINT32_MAX
#define PROFILE_TICKS_MAX 4000000 /* 64 MB; those beyond are counted in their samples alone */

struct profile {
	struct strtab strings;
	VEC(struct profile_frame) frames;
	VEC(struct profile_object) objects;
	VEC(uint32_t) frame_ids;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_labels) labels;
	VEC(struct profile_sample) samples;
	VEC(struct profile_tick) ticks; /* by time; empty where times were not kept */
	uint64_t ticks_dropped;         /* over PROFILE_TICKS_MAX: ticks of which no time is kept */
	struct hash frame_index, stack_index, label_index, sample_index, object_index;
	const char *value_type; /* "samples" */
	const char *value_unit; /* "count" */
	uint64_t period_ns;     /* what one sample stands for; 0: not known */
	uint64_t start_ns;      /* CLOCK_REALTIME */
	uint64_t start_tick_ns; /* the same moment by the clock of ticks; 0: not known */
	uint64_t duration_ns;
};

int profile_init(struct profile *profile);
void profile_done(struct profile *profile);

/* All return 0 or -ENOMEM, the id last. */
int profile_string(struct profile *profile, const char *text, uint32_t *id);
/* *id is what a frame has: the index + 1. */
int profile_object(struct profile *profile, const struct profile_object *object, uint32_t *id);
int profile_frame(struct profile *profile, const struct profile_frame *frame, uint32_t *id);
/* frames: ids, leaf first. */
int profile_stack(struct profile *profile, const uint32_t *frames, uint32_t len, uint32_t *id);
int profile_labels(struct profile *profile, const struct profile_labels *labels, uint32_t *id);
int profile_add(struct profile *profile, uint32_t stack, uint32_t labels, uint64_t value);
/* One tick: adds 1 to the sample's value and notes when it was. In a profile of which all was added
 * by this, the values' sum is ticks.len + ticks_dropped. Not in the order of time: profile_sort
 * goes last. */
int profile_tick(
	struct profile *profile, uint32_t stack, uint32_t labels, uint32_t cpu, uint64_t time_ns);
/* Orders ticks by time; those of the same time by cpu. */
void profile_sort(struct profile *profile);

const char *profile_text(const struct profile *profile, uint32_t string);
/* Frame i of a stack, 0 the leaf. */
const struct profile_frame *profile_stack_frame(
	const struct profile *profile, uint32_t stack, uint32_t i);
uint64_t profile_total(const struct profile *profile);
