/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.c - makes and removes a cgroup all the time, with a path of nearly 1,000 bytes.
 * Usage: cgroups FOLDER SECONDS
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

#define PART_LEN 250
#define PARTS 3

static char path[PARTS * (PART_LEN + 1) + 256];

static int make(const char *folder)
{
	if (mkdir(folder, 0755) == 0 || errno == EEXIST)
		return 0;
	perror(folder);
	return -1;
}

/* A folder with a long path, below the one in `path`. */
static int make_long(void)
{
	for (int i = 0; i < PARTS; i++) {
		size_t len = strlen(path);

		path[len] = '/';
		memset(path + len + 1, 'x', PART_LEN);
		path[len + 1 + PART_LEN] = '\0';
		if (make(path) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 2, 60));

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || snprintf(path, 200, "%s", argv[1]) >= 200)
		return 2;
	if (make_long())
		return 1;
	puts("ready");
	/* Of its own: others do the same in this folder. */
	snprintf(path + strlen(path), 32, "/%d", getpid());
	while (!is_past(end))
		if (make(path) < 0 || rmdir(path) < 0)
			return 1;
	return 0;
}
