/* SPDX-License-Identifier: Apache-2.0 */
/* output/output.h - the one writer of files for the user: profiles, bundles, accounts.
 * A file is written beside its name and renamed, so a reader never sees half of one, and a failure
 * leaves nothing. output/place.h says what else a path may name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/new_file.h"
#include "output/place.h"
#include "profile/profile.h"
#include "sink/lost.h"

/* How the end of the wait for a reader comes sooner: of a FIFO, a pipe, a terminal. One for all
 * outputs of a process. */
struct output_hurry {
	int fd;          /* readable, or closed at the other end: hurry */
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: not yet; a reader that takes enough delays it */
	size_t taken;    /* bytes since it was set */
};

struct compress;

struct output {
	const char *pattern; /* "-": stdout; else a path in which strftime() expands % */
	bool gzip;           /* compress, even if the name does not end in .gz */
	bool plain;          /* the pattern is a path that stoker chose: % means itself */
	bool as_is;          /* the pattern is a path that the user named; never compress */
	bool sync;           /* flush the file to the disk before it gets its name */
	bool keep;           /* a complete file that cannot get its name stays beside it */
	int stall_ms;        /* a FIFO's reader must take 1 MiB in it; 0: OUTPUT_STALL_MS */
	struct output_hurry *hurry; /* borrowed; NULL: none */
	char last[OUTPUT_PATH_MAX];
	unsigned int same;     /* how often the pattern gave the same path again */
	struct place_id tried; /* by output_try */

	/* the current file */
	bool writing;
	int fd;
	struct place place;
	struct new_file file; /* where place is PLACE_NEW */
	char path[OUTPUT_PATH_MAX];
	int refused; /* keep: why the file will not get its name; 0: it will */
	struct why refusal;
	uint64_t written;   /* bytes */
	uint64_t waited_ns; /* for a FIFO's reader, since it has taken the last 1 MiB */
	size_t taken;       /* of the next one */
	struct compress *compress;

	struct sink_lost lost; /* by output_write_profile */
};

#define OUTPUT_STALL_MS 60000
#define OUTPUT_HURRY_MS 1000 /* in a hurry a reader must take 64 KiB in it, or the rest */

/* fd: as in struct output_hurry. Uses SIGALRM and ITIMER_REAL of the process: they interrupt a
 * write to a descriptor that waits in the kernel. */
void output_hurry_init(struct output_hurry *hurry, int fd);
/* From now on. */
void output_hurry(struct output_hurry *hurry);

/* Finds out before sampling begins whether the output can be written: makes a temporary file and
 * removes it, or opens the FIFO, device or descriptor, and keeps it for output_begin. */
int output_try(struct output *output, struct why *why);
/* Begins the file that the pattern names at `when`; if that is the last path again, NAME-2.EXT,
 * NAME-3.EXT. The path is in output->path. */
int output_begin(struct output *output, time_t when, struct why *why);
int output_put(struct output *output, const struct buf *bytes, struct why *why);
int output_end(struct output *output, struct why *why);
/* Removes an unfinished file, and closes what output_try kept. To be called after any error. */
void output_abort(struct output *output);
/* Begin, put, end; aborts after an error. */
int output_write(struct output *output, const struct buf *bytes, struct why *why);
/* The same with a profile in a format. */
int output_write_profile(struct output *output, const struct sink *sink,
	const struct sink_options *options, const struct profile *profile, struct why *why);
/* One file that the user named, without pattern or compression. "-" is stdout. hurry: may be NULL.
 */
int output_write_path(const char *path, struct output_hurry *hurry, const struct buf *bytes,
	struct why *why);
