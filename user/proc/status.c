/* SPDX-License-Identifier: Apache-2.0 */
/* proc/status.c - the kernel writes these texts, but a process chooses its own name in them. So
 * fields are found at the start of a line only, and the name is skipped with care. */
#include "proc/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The text after "KEY:" at the start of a line; NULL if there is no such line. */
static const char *find_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && *text) {
		if (strncmp(text, key, len) == 0)
			return text + len;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

static void parse_ns_pids(const char *text, struct status *out)
{
	char *end;

	while (text && *text && *text != '\n' && out->ns_pids_len < STATUS_NSPID_MAX) {
		long pid = strtol(text, &end, 10);

		if (end == text)
			break;
		out->ns_pids[out->ns_pids_len++] = (pid_t)pid;
		text = end;
	}
}

int status_parse(const char *text, struct status *out)
{
	const char *uid = find_line(text, "Uid:"), *name = find_line(text, "Name:\t");
	const char *threads = find_line(text, "Threads:");
	struct status s = { 0 };
	char *end;

	if (!uid)
		return -EBADMSG;
	strtoul(uid, &end, 10); /* the real one */
	s.euid = (uid_t)strtoul(end, NULL, 10);
	s.threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 0;
	parse_ns_pids(find_line(text, "NSpid:"), &s);
	if (name)
		for (size_t i = 0; i < sizeof(s.name) - 1 && name[i] && name[i] != '\n'; i++)
			s.name[i] = name[i];
	*out = s;
	return 0;
}

int status_parse_parent(const char *text, pid_t *parent)
{
	const char *at = find_line(text, "PPid:");

	if (!at)
		return -EBADMSG;
	*parent = (pid_t)strtol(at, NULL, 10);
	return 0;
}

int status_parse_start(const char *stat_text, uint64_t *start_ticks)
{
	const char *at = strrchr(stat_text, ')');
	char *end;

	/* After the name: state is field 3, the start is field 22. */
	for (int field = 3; at && field <= 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EBADMSG;
	*start_ticks = strtoull(at, &end, 10);
	return end == at ? -EBADMSG : 0;
}

bool status_has_ended(const char *stat_text)
{
	const char *at = strrchr(stat_text, ')');

	return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

int status_parse_cgroup(const char *text, char *path, size_t size)
{
	const char *at = find_line(text, "0::");
	size_t len = at ? strcspn(at, "\n") : 0;

	if (!at)
		return -ENOENT;
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(path, at, len);
	path[len] = '\0';
	return 0;
}
