/* SPDX-License-Identifier: Apache-2.0 */
/* guard/kill_switch.c - watches the folder of each file, the folder above, where it may be made or
 * replaced, and mounts, which may hide either. An event's content does not matter: the watches are
 * set again, then the files are looked at. */
#include "guard/kill_switch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"

#define IN_FOLDER (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB | IN_ONLYDIR)
#define IN_ABOVE (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)
#define MOUNTS "/proc/self/mountinfo"

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

static const char *find_ignored(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!is_on(places[i].file) && faccessat(AT_FDCWD, places[i].file, F_OK,
						      AT_SYMLINK_NOFOLLOW) == 0)
			return places[i].file;
	return NULL;
}

int kill_switch_check(struct why *why)
{
	const char *off = kill_switch_find(), *ignored = find_ignored();

	if (off)
		return why_set(
			why, -EPERM, "%s exists: nothing is sampled until it is removed", off);
	why->text[0] = '\0';
	if (ignored)
		why_set(why, 0, "%s exists and is not root's: it has no effect", ignored);
	return 0;
}

/* Places that are not there are none. False: one cannot be watched; all root processes of the host
 * share a limit. */
static bool watch_folders(int inotify)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		/* In this order: a folder that is made in between is an event. */
		if (inotify_add_watch(inotify, places[i].above, IN_ABOVE) < 0 ||
			(inotify_add_watch(inotify, places[i].folder, IN_FOLDER) < 0 &&
				errno != ENOENT && errno != ENOTDIR))
			return false;
	}
	return true;
}

static bool watch_fd(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool watch(struct kill_switch *s)
{
	s->fd = epoll_create1(EPOLL_CLOEXEC);
	s->folders = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	s->mounts = open(MOUNTS, O_RDONLY | O_CLOEXEC);
	return s->fd >= 0 && s->folders >= 0 && watch_folders(s->folders) &&
		watch_fd(s->fd, s->folders, EPOLLIN) && watch_fd(s->fd, s->mounts, EPOLLPRI);
}

void kill_switch_open(struct kill_switch *s)
{
	if (!watch(s))
		kill_switch_close(s);
	s->found = kill_switch_find();
}

const char *kill_switch_look(struct kill_switch *s)
{
	char events[4096];

	/* Whoever polled fd took the news of a mount, so there is nothing to ask here. */
	while (s->folders >= 0 && read(s->folders, events, sizeof(events)) > 0)
		;
	if (s->fd >= 0 && !watch_folders(s->folders))
		kill_switch_close(s);
	s->found = kill_switch_find();
	return s->found;
}

void kill_switch_close(struct kill_switch *s)
{
	fd_close(&s->fd);
	fd_close(&s->folders);
	fd_close(&s->mounts);
}
