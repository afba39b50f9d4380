/* SPDX-License-Identifier: Apache-2.0 */
/* profile/events.h - things that happen at a time: a collection of garbage, a restart, a trap that
 * fired. An event is no sample: no sum has it. */
#pragma once

#include <stdint.h>

struct profile;

#define PROFILE_EVENTS_MAX 1000000       /* 32 MB; further events are only counted */
#define PROFILE_EVENT_BYTES_MAX 512      /* of a text; longer ones are cut and counted */
#define PROFILE_NO_STACK UINT32_MAX

struct profile_event {
	uint64_t time_ns;     /* on the clock of ticks */
	uint64_t duration_ns; /* 0: a moment */
	uint32_t text;        /* strings */
	uint32_t stack;       /* PROFILE_NO_STACK: none */
	uint32_t labels;      /* a set of labels.h */
};

/* Adds an event with this text; event->text is not used. Events may come unordered: call
 * profile_sort at the end. 0 or -ENOMEM. */
int profile_event(struct profile *profile, const struct profile_event *event, const char *text);
/* Sorts events by time; profile_sort does, too. */
void profile_sort_events(struct profile *profile);
