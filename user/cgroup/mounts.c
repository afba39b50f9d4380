/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/mounts.c - parses lines of words. Escapes in a mount point (blanks, as \040) are not
 * decoded: nobody mounts cgroups at such places. */
#include "cgroup/mounts.h"

#include <stdlib.h>
#include <string.h>

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

static size_t line_len(const char *line)
{
	return strcspn(line, "\n");
}

/* The n-th word of the line, from 0; its length 0: there is none. */
static const char *word(const char *line, int n, size_t *len)
{
	const char *end = line + line_len(line);

	for (; n > 0 && line < end; n--) {
		line += strcspn(line, " \t\n");
		line += line < end;
	}
	*len = line < end ? strcspn(line, " \t\n") : 0;
	return line;
}

/* Is it one of the words between commas? */
static bool has_word(const char *list, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (size_t at = 0; at < len;) {
		size_t n = strcspn(list + at, ",\n");

		if (at + n > len)
			n = len - at;
		if (n == name_len && memcmp(list + at, name, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* The words after " - ": type, source, options. */
static const char *behind_dash(const char *line)
{
	const char *dash = strstr(line, " - ");

	return dash && dash < line + line_len(line) ? dash + strlen(" - ") : NULL;
}

static bool is_mount_of(const char *line, const char *controller)
{
	const char *fs = behind_dash(line), *type = controller ? "cgroup" : "cgroup2", *options;
	size_t len;

	if (!fs)
		return false;
	options = word(fs, 2, &len);
	if (controller && !has_word(options, len, controller))
		return false;
	word(fs, 0, &len);
	return len == strlen(type) && memcmp(fs, type, len) == 0;
}

static bool is_root(const char *line)
{
	size_t len;
	const char *root = word(line, 3, &len);

	return len == 1 && root[0] == '/';
}

bool mounts_find(const char *mountinfo, const char *controller, char *path, size_t size)
{
	bool found = false;

	for (const char *line = mountinfo; line && *line; line = next_line(line)) {
		size_t len;
		const char *mount = word(line, 4, &len);
		bool whole = is_root(line);

		if (!is_mount_of(line, controller) || len == 0 || len >= size || (found && !whole))
			continue;
		memcpy(path, mount, len);
		path[len] = '\0';
		found = true;
		if (whole)
			break;
	}
	return found;
}

bool mounts_are_whole(const char *mountinfo)
{
	for (const char *line = mountinfo; line && *line; line = next_line(line)) {
		const char *fs = behind_dash(line);
		size_t len;

		if (!fs || !is_root(line))
			continue;
		word(fs, 0, &len);
		if (strncmp(fs, "cgroup2", len) == 0 && len >= strlen("cgroup"))
			return true;
	}
	return false;
}

bool mounts_controller(const char *cgroups, const char *name, struct mounts_controller *out)
{
	for (const char *line = cgroups; line && *line; line = next_line(line)) {
		size_t len;

		word(line, 0, &len);
		if (len != strlen(name) || memcmp(line, name, len) != 0)
			continue;
		out->hierarchy = (uint32_t)strtoul(word(line, 1, &len), NULL, 10);
		out->cgroups = (uint32_t)strtoul(word(line, 2, &len), NULL, 10);
		return true;
	}
	return false;
}

bool mounts_own_path(const char *cgroup, uint32_t hierarchy, char *path, size_t size)
{
	for (const char *line = cgroup; line && *line; line = next_line(line)) {
		char *end;
		unsigned long number = strtoul(line, &end, 10);
		const char *at = *end == ':' ? strchr(end + 1, ':') : NULL;
		size_t len = at ? line_len(at + 1) : 0;

		if (!at || number != hierarchy || at > line + line_len(line) || len >= size)
			continue;
		memcpy(path, at + 1, len);
		path[len] = '\0';
		return true;
	}
	return false;
}
