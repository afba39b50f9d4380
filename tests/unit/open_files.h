/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.h - how many descriptors does the test have? */
#pragma once

#include <dirent.h>
#include <stddef.h>

static inline size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t len = 0;

	while (readdir(dir))
		len++;
	closedir(dir);
	return len - 3; /* ., .. and its own */
}
