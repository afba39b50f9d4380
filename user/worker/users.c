/* SPDX-License-Identifier: Apache-2.0 */
/* worker/users.c - a line of /etc/passwd is NAME:PASSWORD:UID:GID:... A file that cannot be read
 * takes no number: an empty container has none. */
#include "worker/users.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/own.h"

#define PASSWD_PATH "/etc/passwd"
#define PASSWD_BYTES_MAX (4UL << 20)

/* The field of a line after so many colons; NULL: the line ends before. */
static const char *find_field(const char *line, int number)
{
	for (; number > 0; number--) {
		line += strcspn(line, ":\n");
		if (*line++ != ':')
			return NULL;
	}
	return line;
}

static bool is_number(const char *field, uid_t uid)
{
	char *end;

	return field && *field >= '0' && *field <= '9' && strtoul(field, &end, 10) == uid &&
		(*end == ':' || *end == '\n' || *end == '\0');
}

bool users_is_taken(const struct buf *passwd, uid_t uid)
{
	const char *line = passwd->data ? passwd->data : "";

	while (*line) {
		if (is_number(find_field(line, 2), uid) || is_number(find_field(line, 3), uid))
			return true;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

uid_t users_choose(uid_t first)
{
	_cleanup_(buf_done) struct buf passwd = BUF_INIT;

	if (fd_read_path(PASSWD_PATH, PASSWD_BYTES_MAX, &passwd) < 0)
		return first;
	for (uid_t uid = first; uid < first + USERS_CHOICES; uid++)
		if (!users_is_taken(&passwd, uid))
			return uid;
	return 0;
}
