/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/kill_switch.c - watches the folder of each file or, until that exists, the folder above.
 * An event's content does not matter: the watches are set again, then the files are looked at. */
#include "daemon/kill_switch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"

#define IN_FOLDER (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB | IN_ONLYDIR)
#define IN_ABOVE (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)

static const struct {
	const char *file, *folder, *above;
} places[] = {
	{ KILL_SWITCH_HOST, "/etc/stoker", "/etc" },
	{ KILL_SWITCH_BOOT, "/run/stoker", "/run" },
};

/* A link's own owner, as only that says who put it there. */
static bool is_on(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == 0;
}

const char *kill_switch_find(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_on(places[i].file))
			return places[i].file;
	return NULL;
}

/* A folder that was made after the first try is there at the second: its making is no event yet.
 * Where a place cannot be watched nothing is, and whoever looks then looks at the files: all root
 * processes of the host share a limit of watches. */
static void watch(struct kill_switch *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(places) && s->fd >= 0; i++) {
		if (inotify_add_watch(s->fd, places[i].folder, IN_FOLDER) >= 0)
			continue;
		if (inotify_add_watch(s->fd, places[i].above, IN_ABOVE) < 0)
			fd_close(&s->fd);
		else
			inotify_add_watch(s->fd, places[i].folder, IN_FOLDER);
	}
}

void kill_switch_open(struct kill_switch *s)
{
	s->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch(s);
	s->found = kill_switch_find();
}

const char *kill_switch_look(struct kill_switch *s)
{
	char events[4096];
	bool came = s->fd < 0;

	while (s->fd >= 0 && read(s->fd, events, sizeof(events)) > 0)
		came = true;
	if (!came)
		return s->found;
	watch(s);
	s->found = kill_switch_find();
	return s->found;
}

void kill_switch_hurry(void)
{
	const struct itimerval limit = { .it_value = { 1, 500000 } };

	setitimer(ITIMER_REAL, &limit, NULL);
}

void kill_switch_close(struct kill_switch *s)
{
	fd_close(&s->fd);
}
