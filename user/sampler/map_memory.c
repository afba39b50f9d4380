/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_memory.c - the kernel reports a map's memory only as text, under the name of the
 * limit that it used to count against. */
#include "sampler/map_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"

uint64_t map_memory_bytes(int map_fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	if (fd_read_path(path, 65536, &text) < 0 || !text.data)
		return 0;
	line = strstr(text.data, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}
