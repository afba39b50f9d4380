/* SPDX-License-Identifier: Apache-2.0 */
/* worker/mapping.h - maps an untrusted file that may be truncated meanwhile.
 * A read after the file's new end would kill the process. Instead the whole mapping, or the part of
 * a file in memory, turns to zeros and is marked as torn; results from it must be discarded. Only
 * code of ours may read it: a system call that is given such an address may fail. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"
#include "wire/status.h"

#define MAPPING_BYTES_MAX (4ULL << 30)
#define MAPPINGS_MAX 4096 /* limit: files kept for lines, and a few more */
#define MAPPINGS_SPARE 16 /* reserved for files that are not kept */

struct mapping {
	const void *data;
	size_t len;
	size_t slot;
};

#define MAPPING_INIT \
	{            \
		0    \
	}

/* Call it once, before the first mapping. 0 or -errno. */
int mapping_catch_faults(void);

/* Maps a whole regular file read-only. WORKER_OK; WORKER_NOT_ELF: empty; WORKER_TOO_LARGE;
 * WORKER_UNREADABLE, also on file systems that would have us pay for what is read. */
enum worker_status mapping_open(int fd, struct mapping *out);
void mapping_done(struct mapping *mapping);
/* True: keep no further mappings; the rest is reserved for the next load. */
bool mapping_scarce(void);
bool mapping_torn(const struct mapping *mapping);
/* Releases the memory of pages that were read; they are read again on demand. */
void mapping_forget(const struct mapping *mapping);
