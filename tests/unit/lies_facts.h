/* SPDX-License-Identifier: Apache-2.0 */
/* lies_facts.h - is what passed the client's checks what it seems to be? All of it is read. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cgroup/state_file.h"
#include "client/worker_rows.h"
#include "dwarf/debug_file.h"
#include "dwarf/debug_part.h"
#include "wire/mappings.h"

/* The fault; NULL: there is none. */
static inline const char *facts_fault(const struct state_facts *facts)
{
	const char *texts[] = { facts->name, facts->image, facts->pod, facts->namespace_ };
	const char *at = facts->labels, *end = facts->labels + facts->labels_len;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strnlen(texts[i], STATE_NAME_MAX) == STATE_NAME_MAX)
			return "a text has no end";
	if (strnlen(facts->dir, STATE_DIR_MAX) == STATE_DIR_MAX)
		return "a folder has no end";
	if (facts->dir[0] != '\0' && facts->dir[0] != '/')
		return "a folder is not absolute";
	if (facts->labels_len > sizeof(facts->labels) || facts->pause > 1)
		return "facts are none";
	while (at < end) {
		at += strnlen(at, (size_t)(end - at)) + 1;
		if (at >= end)
			return "a label has no value";
		at += strnlen(at, (size_t)(end - at)) + 1;
		if (at > end)
			return "a label has no end";
	}
	return NULL;
}

/* *last: the last entry of the list. */
static inline bool mappings_fault(const struct buf *list, const struct mappings_dump *dump,
	struct mappings_entry *last)
{
	struct cursor c = cursor_init(list->data, list->len);

	while (mappings_next(&c, last))
		if (strlen(last->path) > list->len || last->start >= last->end)
			return true;
	return c.bad || (dump->end != 0 && (dump->start >= dump->end || dump->number > INT_MAX));
}

/* Do a file's facts lead to another place than those of debug files? */
static inline const char *debug_file_fault(const struct worker_rows *rows)
{
	struct debug_file_query query = { .path = "/usr/lib/file.so",
		.build_id = rows->build_id,
		.link = rows->link };
	char path[PATH_MAX];

	if (rows->build_id.len > BUILD_ID_BYTES_MAX)
		return "a build ID is too long";
	for (int place = 0; place < DEBUG_FILE_PLACES; place++)
		if (debug_file_candidate(&query, (enum debug_file_place)place, path) == 0 &&
			(path[0] != '/' || strstr(path, "/../")))
			return "a path leads elsewhere";
	return NULL;
}

static inline const char *debug_part_fault(const struct debug_part *part)
{
	char path[PATH_MAX];

	if (part->kind >= DEBUG_PART_KINDS || part->build_id.len > BUILD_ID_BYTES_MAX)
		return "a part is none";
	for (unsigned int place = 0; place < DEBUG_PART_PLACES; place++)
		if (debug_part_candidate(part, "/usr/bin/program", place, path) == 0 &&
			path[0] != '/')
			return "a part is nowhere";
	return NULL;
}
