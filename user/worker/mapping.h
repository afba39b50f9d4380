/* SPDX-License-Identifier: Apache-2.0 */
/* worker/mapping.h - a stranger's file in memory, while the stranger may cut it short.
 * A read behind the file's new end would kill us; instead the whole mapping turns to zeros and is
 * marked as torn, so what was made of it is to be thrown away. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"
#include "wire/status.h"

#define MAPPING_BYTES_MAX (4ULL << 30)
#define MAPPINGS_MAX 4096 /* at a time: those that are kept for lines, and a few more */
#define MAPPINGS_SPARE 16 /* that are not to be kept */

struct mapping {
	const void *data;
	size_t len;
	size_t slot;
};

#define MAPPING_INIT \
	{            \
		0    \
	}

/* Once, before the first mapping. 0 or -errno. */
int mapping_catch_faults(void);

/* The whole of a regular file, read-only. WORKER_OK, WORKER_NOT_ELF for an empty file,
 * WORKER_TOO_LARGE, WORKER_UNREADABLE. */
enum worker_status mapping_open(int fd, struct mapping *out);
void mapping_done(struct mapping *mapping);
/* No more should be kept: what is left is for the next file that is loaded. */
bool mapping_scarce(void);
bool mapping_torn(const struct mapping *mapping);
/* What was read is in memory no longer, until it is read again. */
void mapping_forget(const struct mapping *mapping);
