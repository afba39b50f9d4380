/* SPDX-License-Identifier: Apache-2.0 */
/* output/output.h - where a profile goes: stdout, or files that are whole or not there.
 * A file is written beside its name and renamed, so a reader never sees half of one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

#define OUTPUT_PATH_MAX 4096

struct compress;

struct output {
	const char *pattern; /* "-": stdout; else a path with strftime's % in it */
	bool gzip;           /* compressed, also where the name does not say so */
	bool plain;          /* the pattern is a path, whatever is in it */
	char last[OUTPUT_PATH_MAX];
	unsigned int same; /* how often the pattern gave the same path again */

	/* of the one that is being written */
	int fd;
	bool named, beside; /* a file that is ours to close; that is to be renamed */
	char path[OUTPUT_PATH_MAX];
	struct compress *compress;
};

/* Does the directory exist and may we write there? To be asked before sampling begins. */
int output_check(const struct output *output, struct why *why);
/* Begins a file under the pattern as it reads at `when`; where that is the last path again, under
 * NAME-2.EXT, NAME-3.EXT. The path is in output->path. */
int output_begin(struct output *output, time_t when, struct why *why);
/* After an error, here or elsewhere, output_abort: nothing is left of it. */
int output_put(struct output *output, const struct buf *bytes, struct why *why);
int output_end(struct output *output, struct why *why);
void output_abort(struct output *output);
/* All of it at once: begin, put, end, or nothing is left of it. */
int output_write(struct output *output, const struct buf *bytes, struct why *why);
/* One file, without pattern and as it is. "-" is stdout. */
int output_write_path(const char *path, const struct buf *bytes, struct why *why);
