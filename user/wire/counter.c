/* SPDX-License-Identifier: Apache-2.0 */
/* wire/counter.c - a place is walked object by object, and objects are made as they are met: the
 * order of rows is the order of the JSON. wire/counters.h says what the numbers mean. */
#include "wire/counter.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"

#define NAME_BYTES_MAX 64

#define REASON_NAME(id, name, text) [id] = (name),
#define SOURCE_NAME(id, name) [id] = (name),
static const char *const lost_names[] = { LOST_REASONS(REASON_NAME) };
static const char *const event_names[EVENT_KINDS_MAX] = { EVENT_LOSSES(REASON_NAME) };
static const char *const target_names[] = { TARGET_LOSSES(REASON_NAME) };
static const char *const end_names[] = { STACK_ENDS(REASON_NAME) };
static const char *const unnamed_names[] = { UNNAMED_REASONS(REASON_NAME) };
static const char *const object_names[] = { OBJECT_REASONS(REASON_NAME) };
static const char *const source_names[] = { NAME_SOURCES(SOURCE_NAME) };
static const char *const file_names[] = { FILE_REASONS(REASON_NAME) };
static const char *const debug_names[] = { DEBUG_REASONS(REASON_NAME) };
static const char *const fetch_names[] = { FETCH_REASONS(REASON_NAME) };
static const char *const worker_names[] = { WORKER_LOSSES(REASON_NAME) };

/* Version 0.1.0 had these names for some of them. */
static const char *const event_old[EVENT_KINDS_MAX] = {
	[EVENT_TASK] = "who",
	[EVENT_DEFERRED] = "held",
};

static const struct counter_names lists[COUNTER_TYPES] = {
	[COUNTER_LOST] = { "reason", lost_names, NULL, ARRAY_SIZE(lost_names) },
	[COUNTER_EVENTS] = { "kind", event_names, event_old, ARRAY_SIZE(event_names) },
	[COUNTER_TARGETS] = { "kind", target_names, NULL, ARRAY_SIZE(target_names) },
	[COUNTER_ENDS] = { "reason", end_names, NULL, ARRAY_SIZE(end_names) },
	[COUNTER_UNNAMED] = { "reason", unnamed_names, NULL, ARRAY_SIZE(unnamed_names) },
	[COUNTER_OBJECTS] = { "reason", object_names, NULL, ARRAY_SIZE(object_names) },
	[COUNTER_SOURCES] = { "source", source_names, NULL, ARRAY_SIZE(source_names) },
	[COUNTER_FILES] = { "reason", file_names, NULL, ARRAY_SIZE(file_names) },
	[COUNTER_DEBUG] = { "reason", debug_names, NULL, ARRAY_SIZE(debug_names) },
	[COUNTER_FETCH] = { "reason", fetch_names, NULL, ARRAY_SIZE(fetch_names) },
	[COUNTER_WORKERS] = { "reason", worker_names, NULL, ARRAY_SIZE(worker_names) },
};

const struct counter_names *counter_names(enum counter_type type)
{
	return lists[type].names ? &lists[type] : NULL;
}

const char *counter_old_name(const struct counter_names *list, size_t id)
{
	return list->old ? list->old[id] : NULL;
}

double counter_scale(enum counter_type type)
{
	return type == COUNTER_US || type == COUNTER_PPM ? 1e-6 : type == COUNTER_NS ? 1e-9 : 1;
}

static const void *field(const struct counter *row, const void *owner)
{
	return (const char *)owner + row->at;
}

uint64_t counter_sum(const struct counter *row, const void *owner)
{
	const uint64_t *counts = field(row, owner);
	uint64_t sum = 0;

	for (size_t i = 0; i < row->size / sizeof(*counts); i++)
		sum += counts[i];
	return sum;
}

static json_t *list_json(
	const struct counter *row, const struct counter_names *list, const uint64_t *counts)
{
	json_t *object = json_object();

	assert(row->size == list->len * sizeof(*counts));
	for (size_t i = 0; i < list->len; i++) {
		if (!list->names[i] || counts[i] == 0)
			continue;
		json_object_set_new(object, list->names[i], json_integer((json_int_t)counts[i]));
		if (counter_old_name(list, i))
			json_object_set_new(object, counter_old_name(list, i),
				json_integer((json_int_t)counts[i]));
	}
	return object;
}

/* A new reference, or NULL. */
static json_t *value_json(const struct counter *row, const void *owner)
{
	const void *at = field(row, owner);

	switch (row->type) {
	case COUNTER_U32:
		assert(row->size == sizeof(uint32_t));
		return json_integer(*(const uint32_t *)at);
	case COUNTER_REAL:
		assert(row->size == sizeof(double));
		return json_real(*(const double *)at);
	case COUNTER_TEXT:
		return json_string(*(const char *const *)at);
	case COUNTER_NOTES:
		return json_array();
	default:
		break;
	}
	if (counter_names(row->type))
		return list_json(row, counter_names(row->type), at);
	assert(row->size == sizeof(uint64_t));
	return json_integer(
		(json_int_t)(*(const uint64_t *)at / (row->type == COUNTER_US ? 1000 : 1)));
}

/* The next name of a place; the rest of it is after the '.'. */
static const char *next_name(const char *place, char name[NAME_BYTES_MAX])
{
	size_t len = strcspn(place, ".");

	assert(len < NAME_BYTES_MAX);
	memcpy(name, place, len);
	name[len] = '\0';
	return place + len + (place[len] == '.');
}

static int put(json_t *root, const char *place, json_t *value)
{
	char name[NAME_BYTES_MAX];

	for (place = next_name(place, name); *place; place = next_name(place, name)) {
		if (!json_object_get(root, name))
			json_object_set_new(root, name, json_object());
		root = json_object_get(root, name);
	}
	return json_object_set_new(root, name, value) < 0 ? -ENOMEM : 0;
}

int counter_put_all(json_t *root, const struct counter *rows, size_t len, const void *owner)
{
	for (size_t i = 0; i < len; i++)
		if (put(root, rows[i].place, value_json(&rows[i], owner)) < 0)
			return -ENOMEM;
	return 0;
}

json_t *counter_find(const json_t *root, const char *place)
{
	char name[NAME_BYTES_MAX];

	while (root && *place) {
		place = next_name(place, name);
		root = json_object_get(root, name);
	}
	return (json_t *)root;
}
