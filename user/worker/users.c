/* SPDX-License-Identifier: Apache-2.0 */
/* worker/users.c - a line of /etc/passwd is NAME:PASSWORD:UID:GID:... A file that cannot be read
 * takes no number: an empty container has none. */
#include "worker/users.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
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

static bool may_change_user(void)
{
	const uint64_t needed = CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_KILL);

	return geteuid() == 0 && (caps_permitted() & needed) == needed;
}

static bool others_may_execute(int program)
{
	const mode_t others = S_IROTH | S_IXOTH;
	struct stat st;

	return fstat(program, &st) == 0 && (st.st_mode & others) == others;
}

uid_t users_of_program(int *program, const char **refused)
{
	struct stat root;
	uid_t uid;
	int copy;

	*program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	*refused = NULL;
	if (!may_change_user())
		return 0;
	/* It loads libraries. */
	if (stat("/", &root) < 0 || !(root.st_mode & S_IXOTH)) {
		*refused = "other users may not enter the root folder";
		return 0;
	}
	uid = users_choose(USERS_CAPTURE);
	if (uid == 0)
		*refused = "/etc/passwd has all the numbers of its users";
	if (uid == 0 || others_may_execute(*program))
		return uid;
	copy = fd_own_program();
	if (copy < 0) {
		*refused = "other users may not execute this program, and no copy can be made in "
			   "memory";
		return 0;
	}
	fd_close(program);
	*program = copy;
	return uid;
}
