/* SPDX-License-Identifier: Apache-2.0 */
/* base/new_file.h - writes a file that is either whole or absent.
 * The bytes go to a temporary file in the same folder, NAME.XXXXXXXX.part, which gets its name when
 * it is complete. A reader never sees half a file, and a failure leaves nothing, unless the caller
 * keeps what is complete. The temporary file is always new: existing files, links and FIFOs are
 * never opened. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct new_file {
	int dir; /* the folder; the caller's, who keeps it open; -1: nothing is being written */
	int fd;  /* write here */
	bool complete; /* only the name is missing */
	char part[NAME_MAX + 1];
};

#define NEW_FILE_INIT                \
	{                            \
		.dir = -1, .fd = -1, \
	}

enum new_file_how {
	/* Flush the file to the disk, then its name where the folder is open for reading. */
	NEW_FILE_SYNC = 1,
	/* Refuse to replace a file: -EEXIST. */
	NEW_FILE_NO_OLD = 2,
	/* Mode 0640, before there is a byte in it. For new_file_write. */
	NEW_FILE_GROUP = 4,
};

/* All return 0 or -errno. */

/* Creates the temporary file with mode 0644. stem: its name begins with this. */
int new_file_open(struct new_file *file, int dir, const char *stem);
/* Closes the file and gives it its name; NULL: none yet. After an error call it again with another
 * name, or new_file_abort, or new_file_keep where it is complete. */
int new_file_commit(struct new_file *file, const char *name, unsigned int how);
/* Removes the temporary file. 0 too where no such file exists. */
int new_file_abort(struct new_file *file);
/* Leaves the temporary file where it is. */
void new_file_keep(struct new_file *file);
/* Open, write, commit. */
int new_file_write(int dir, const char *name, const void *data, size_t size, unsigned int how);

/* Is this the name of a temporary file with that stem? A killed writer leaves its file. */
bool new_file_is_part(const char *name, const char *stem);
