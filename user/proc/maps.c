/* SPDX-License-Identifier: Apache-2.0 */
/* proc/maps.c - one line: START-END PERMS OFFSET MAJOR:MINOR INODE [PATH]. */
#include "proc/maps.h"

#include <stdio.h>
#include <string.h>

static bool parse_line(const char *line, size_t len, struct maps_entry *out)
{
	unsigned long long start, end, offset, ino;
	unsigned int major, minor;
	char perms[5];
	int path_at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		    &minor, &ino, &path_at) < 7 ||
		strlen(perms) != 4)
		return false;
	out->start = start;
	out->end = end;
	out->file_offset = offset;
	out->ino = ino;
	out->dev = major << 20 | minor;
	out->executable = perms[2] == 'x';
	out->shared = perms[3] == 's';
	len = (size_t)path_at < len ? len - (size_t)path_at : 0;
	len = len < MAPS_PATH_MAX ? len : MAPS_PATH_MAX - 1;
	memcpy(out->path, line + path_at, len);
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
	return entry->shared && deleted && deleted[strlen(" (deleted)")] == '\0' &&
		(starts_with(entry->path, "/memfd:") || starts_with(entry->path, "/dev/zero") ||
			starts_with(entry->path, "/SYSV") || starts_with(entry->path, "/dev/shm/"));
}
