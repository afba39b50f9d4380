/* SPDX-License-Identifier: Apache-2.0 */
/* lies_facts.h - are facts that passed the client's checks of their shape? All of them is read. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cgroup/state_file.h"
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
