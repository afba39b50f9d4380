/* SPDX-License-Identifier: Apache-2.0 */
/* output/place.h - decides what a path means as the place of an output.
 *   -, /dev/stdout, /dev/stderr,     an open descriptor of ours; it is written to, never opened
 *   /dev/fd/N, /proc/self/fd/N       anew
 *   a regular file, or nothing yet   a file made beside and renamed
 *   a regular file that is a mount   written in place: rename() cannot replace it. Containers get
 *                                    single files as mounts
 *   a FIFO or device                 written to, but only where the user named it exactly, and no
 *                                    other user put it into a folder that everybody can write to
 *   a symbolic link                  its target, once, and only where nobody else can have made or
 *                                    can change the link: the caller owns it, and others cannot
 *                                    write to its folder. On the way to the folder links of the
 *                                    caller and of root are followed, and no others
 * Everything else is an error that names the thing, the cause and the remedy. Nothing waits: a FIFO
 * without a reader is an error. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define OUTPUT_PATH_MAX 4096

enum place_kind {
	PLACE_NONE,
	PLACE_DESCRIPTOR, /* fd: a duplicate */
	PLACE_NEW,        /* dir and name: of a file to make */
	PLACE_MOUNT,      /* fd: the file, its contents untouched so far */
	PLACE_STREAM,     /* fd: the FIFO or device, in non-blocking mode */
};

struct place {
	enum place_kind kind;
	int fd, dir; /* -1: none */
	char name[NAME_MAX + 1];
};

#define PLACE_INIT                   \
	{                            \
		.fd = -1, .dir = -1, \
	}

/* Two paths that lead to the same file have the same one. */
struct place_id {
	enum place_kind kind; /* of a device PLACE_DESCRIPTOR */
	dev_t dev; /* of the folder of a file to make, else of the thing itself; so is ino */
	ino_t ino;
	char name[NAME_MAX + 1]; /* of a file to make */
};

/* The name was chosen by: */
enum place_name {
	PLACE_EXACT,   /* the user */
	PLACE_PATTERN, /* the user's pattern and the time */
	PLACE_OURS,    /* stoker, in a folder; no link is followed */
};

/* On success *out is the caller's. */
int place_open(const char *path, enum place_name name, struct place *out, struct why *why);
/* For what cannot be written once more, if the path has become one that place_open refuses: its
 * folder and its last part, as PLACE_NEW. The file that is made there must not get that name. */
int place_open_beside(const char *path, struct place *out, struct why *why);
/* Opens a folder that files are to go into, with O_PATH. The rule for links is the same. make: it
 * is made where nothing is. */
int place_open_folder(const char *path, bool make, int *dir, struct why *why);
/* Likewise the store, for reading. Its path is opened again and again, so nobody but root and the
 * caller may have it lead elsewhere, now or later (folder_open, own): else -EPERM. */
int place_open_store(const char *path, bool make, int *dir, struct why *why);
/* The same rule for other paths: -EPERM. Only the folders on the way and links count, so 0 also
 * where nothing is there. */
int place_check(const char *path, struct why *why);
void place_close(struct place *place);
int place_identify(const struct place *place, struct place_id *out);
/* Does writing both lose one of them? Devices and descriptors take both. */
bool place_clashes(const struct place_id *a, const struct place_id *b);
/* Text for -errno of a write, with what to do. */
const char *place_error(int err);
/* "-" in words. */
const char *place_text(const char *path);
