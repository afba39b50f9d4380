/* SPDX-License-Identifier: Apache-2.0 */
/* make_place.h - a folder of one's own for a test of outputs, and what it has. A test that
 * waits there is ended. Include unit.h first. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define PATIENCE_S 20 /* nothing here waits: a row that takes longer hangs */
static const char *current;
static char home[PATH_MAX];
static int reader = -1;

static void on_alarm(int signal)
{
	(void)signal;
	(void)!write(STDERR_FILENO, "hangs: ", 7);
	(void)!write(STDERR_FILENO, current, strlen(current));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(1);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int make_place(void **state)
{
	char *path = strdup("/tmp/stoker-output-XXXXXX");

	signal(SIGALRM, on_alarm);
	signal(SIGPIPE, SIG_IGN);
	current = "a test";
	alarm(PATIENCE_S);
	umask(022);
	if (!path || !getcwd(home, sizeof(home)) || !mkdtemp(path) || chdir(path) < 0)
		return -1;
	*state = path;
	return chmod(path, 0755);
}

static int remove_place(void **state)
{
	fd_close(&reader);
	alarm(0);
	if (chdir(home) < 0 || nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
		return -1;
	free(*state);
	return 0;
}

static void write_text(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static int make_one(const char *kind, const char *name, const char *arg)
{
	if (strcmp(kind, "folder") == 0)
		return mkdir(name, 0755);
	if (strcmp(kind, "fifo") == 0)
		return mkfifo(name, 0644);
	if (strcmp(kind, "link") == 0)
		return symlink(arg, name);
	if (strcmp(kind, "mode") == 0)
		return chmod(name, (mode_t)strtoul(arg, NULL, 8));
	if (strcmp(kind, "owner") == 0)
		return lchown(name, (uid_t)atoi(arg), (gid_t)-1);
	if (strcmp(kind, "file") == 0)
		write_text(name, "old\n");
	else if (strcmp(kind, "socket") == 0)
		make_socket(name);
	else if (strcmp(kind, "read-fifo") == 0 && mkfifo(name, 0644) == 0)
		reader = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	else
		return -1;
	return 0;
}

/* made: "file NAME", "link NAME TARGET", ... with commas between. */
static inline void make_all(const char *made)
{
	char *text = strdup(made), *rest = text, *one;

	while ((one = strsep(&rest, ",")) && *one) {
		char kind[16] = "", name[64] = "", arg[64] = "";

		assert_true(sscanf(one, "%15s %63s %63s", kind, name, arg) >= 2);
		if (make_one(kind, name, arg) < 0)
			fail_msg("%s: cannot make %s: %m", current, one);
	}
	free(text);
}
