/* SPDX-License-Identifier: Apache-2.0 */
/* wire/counter.h - numbers of a struct as JSON, by a table of rows (wire/counters.h). */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/counters.h"

enum counter_type {
	COUNTER_U64,
	COUNTER_U32,
	COUNTER_REAL,
	COUNTER_US,    /* uint64_t nanoseconds; JSON has microseconds, the metric seconds */
	COUNTER_NS,    /* uint64_t nanoseconds; the metric has seconds */
	COUNTER_PPM,   /* uint64_t millionths; the metric has ones */
	COUNTER_TEXT,  /* const char *; no metric */
	COUNTER_NOTES, /* a list that the owner of the struct fills; no metric */
	/* Arrays of uint64_t by the ids of a list (bpf/reasons.h, NAME_SOURCES). JSON has an object
	 * with those that are not 0, the metric a label. */
	COUNTER_LOST,
	COUNTER_EVENTS,
	COUNTER_TARGETS,
	COUNTER_ENDS,
	COUNTER_UNNAMED,
	COUNTER_OBJECTS,
	COUNTER_SOURCES,
	COUNTER_FILES,
	COUNTER_DEBUG,
	COUNTER_FETCH,
	COUNTER_WORKERS,
	COUNTER_TYPES,
};

struct counter {
	const char *place, *metric, *text, *help;
	enum counter_type type;
	size_t at, size; /* of the field in its struct; 0: the table's user has no struct */
};

/* The names of an array. */
struct counter_names {
	const char *label;        /* of the metric */
	const char *const *names; /* by id; NULL: no such id */
	const char *const *old;   /* by id: a deprecated name, or NULL. NULL: none has one */
	size_t len;
};

/* A row of a table for a struct, and of one for places alone. The size is that of the field's type:
 * tools take the size of a field that is a pointer for a mistake. */
#define COUNTER_OF(owner, place, type, field, metric, text, help)            \
	{ place, metric, text, help, COUNTER_##type, offsetof(owner, field), \
		sizeof(__typeof__(((const owner *)NULL)->field)) },
#define COUNTER_PLACE(place, type, field, metric, text, help) \
	{ place, metric, text, help, COUNTER_##type, 0, 0 },

/* NULL: the type is no array. */
const struct counter_names *counter_names(enum counter_type type);
/* The deprecated name of an id, or NULL. */
const char *counter_old_name(const struct counter_names *list, size_t id);
/* The factor from the JSON's unit to the metric's. */
double counter_scale(enum counter_type type);
/* The number, or the sum of an array. */
uint64_t counter_sum(const struct counter *row, const void *owner);
/* Puts all rows into root, in their order. 0 or -ENOMEM. */
int counter_put_all(json_t *root, const struct counter *rows, size_t len, const void *owner);
/* The value at a place; NULL: there is none. */
json_t *counter_find(const json_t *root, const char *place);
