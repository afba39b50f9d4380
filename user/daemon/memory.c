/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/memory.c - reads the second number of statm, in pages. */
#include "daemon/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

uint64_t memory_resident(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *second;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (pid <= 0 || fd_read_path(path, 256, &text) < 0 || !text.data)
		return 0;
	second = strchr(text.data, ' ');
	return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
