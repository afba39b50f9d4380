/* SPDX-License-Identifier: Apache-2.0 */
/* syscalls.c - lives in system calls: reads zeroes, writes to nowhere, lists and stats a folder.
 * Usage: syscalls [SECONDS]
 * The user half of nearly every stack is main;in_read|in_write|in_list|in_stat;<libc>, and most of
 * the time is the kernel's: a read of 64 KiB of zeroes is the larger part.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

static char block[65536];

NOINLINE int in_read(int fd)
{
	int failed = 0;

	for (int i = 0; i < 50; i++)
		failed += read(fd, block, sizeof(block)) != (ssize_t)sizeof(block);
	return failed;
}

NOINLINE int in_write(int fd)
{
	int failed = 0;

	for (int i = 0; i < 50; i++)
		failed += write(fd, block, sizeof(block)) != (ssize_t)sizeof(block);
	return failed;
}

NOINLINE int in_list(void)
{
	DIR *dir = opendir("/proc/self");
	int entries = 0;

	if (!dir)
		return 1;
	while (readdir(dir))
		entries++;
	closedir(dir);
	return entries == 0;
}

NOINLINE int in_stat(void)
{
	struct stat st;
	int failed = 0;

	for (int i = 0; i < 50; i++)
		failed += stat("/usr/bin/env", &st) != 0;
	return failed;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	int from = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int failed = from < 0 || to < 0;

	while (!failed && !is_past(end))
		failed = in_read(from) + in_write(to) + in_list() + in_stat();
	if (failed)
		perror("syscalls");
	return failed != 0;
}
