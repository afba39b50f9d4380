/* SPDX-License-Identifier: Apache-2.0 */
/* proc/maps.c - one line: START-END PERMS OFFSET MAJOR:MINOR INODE [PATH]. */
#include "proc/maps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A number and what must follow it: past both, or NULL. */
static const char *take_number(const char *at, int base, char after, uint64_t *out)
{
	char *end;

	if (!at || !isxdigit((unsigned char)*at))
		return NULL;
	*out = strtoull(at, &end, base);
	return end > at && *end == after ? end + 1 : NULL;
}

/* Not by sscanf(), which would look for the end of the whole text for each line of it. */
static bool parse_line(const char *line, size_t len, struct maps_entry *out)
{
	uint64_t major = 0, minor = 0;
	const char *perms =
		take_number(take_number(line, 16, '-', &out->start), 16, ' ', &out->end);
	const char *at;
	char *end;

	if (!perms || strcspn(perms, " \n") != 4 || perms[4] != ' ')
		return false;
	at = take_number(perms + 5, 16, ' ', &out->file_offset);
	at = take_number(at, 16, ':', &major);
	at = take_number(at, 16, ' ', &minor);
	if (!at || !isdigit((unsigned char)*at))
		return false;
	out->ino = strtoull(at, &end, 10);
	if (*end != ' ' && *end != '\n' && *end != '\0')
		return false;
	at = end + strspn(end, " ");
	out->dev = (uint32_t)(major << 20 | minor);
	out->readable = perms[0] == 'r';
	out->writable = perms[1] == 'w';
	out->executable = perms[2] == 'x';
	out->shared = perms[3] == 's';
	len -= (size_t)(at - line);
	len = len < MAPS_PATH_MAX ? len : MAPS_PATH_MAX - 1;
	memcpy(out->path, at, len);
	out->path[len] = '\0';
	return true;
}

uint32_t maps_parse(
	const char *text, void (*take)(void *ctx, const struct maps_entry *entry), void *ctx)
{
	struct maps_entry entry;
	uint32_t bad = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (parse_line(text, len, &entry))
			take(ctx, &entry);
		else
			bad++;
		text += len + (text[len] == '\n');
	}
	return bad;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool maps_is_anon_code(const struct maps_entry *entry)
{
	const char *deleted = strstr(entry->path, " (deleted)");

	if (!entry->executable)
		return false;
	if (entry->ino == 0)
		return entry->path[0] != '[' || starts_with(entry->path, "[anon");
	if (!deleted || deleted[strlen(" (deleted)")] != '\0')
		return false;
	if (starts_with(entry->path, "/anon_hugepage"))
		return true;
	return entry->shared &&
		(starts_with(entry->path, "/memfd:") || starts_with(entry->path, "/dev/zero") ||
			starts_with(entry->path, "/SYSV") || starts_with(entry->path, "/dev/shm/"));
}

bool maps_is_moved_text(const struct maps_entry *before, const struct maps_entry *code,
	const struct maps_entry *after)
{
	return before->ino != 0 && before->ino == after->ino && before->dev == after->dev &&
		before->end == code->start && code->end == after->start &&
		after->file_offset - before->file_offset == after->start - before->start;
}
