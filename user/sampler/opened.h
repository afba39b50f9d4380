/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/opened.h - judges a descriptor from an opener: can it be used and closed without waiting?
 */
#pragma once

#include <stdbool.h>

struct sampler;

enum opened {
	OPENED_FOLDER, /* O_PATH: closing it makes no call of its file system */
	OPENED_COPY,   /* memory that nobody can change */
	OPENED_FILE,   /* of a local file system, by the kernel's word; to be read */
	OPENED_PROVEN, /* the same; or of an overlay, whose lower layer was found to be local */
	OPENED_OURS,   /* to be read; of any file system: root or the caller chose the file */
};

/* Is it such a one? Nothing is asked of its file system. */
bool opened_is(struct sampler *sampler, int fd, enum opened as);
