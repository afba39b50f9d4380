/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/output.h - where a profile goes: stdout, or files that are whole or not there.
 * A file is written beside its name and renamed, so a reader never sees half of one. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

#define OUTPUT_PATH_MAX 4096

struct output {
	const char *pattern; /* "-": stdout; else a path with strftime's % in it */
	char last[OUTPUT_PATH_MAX];
	unsigned int same; /* how often the pattern gave the same path again */
};

/* Does the directory exist and may we write there? To be asked before sampling begins. */
int output_check(const struct output *output, struct why *why);
/* Writes bytes under the pattern as it reads at `when`; where that is the last path again, under
 * NAME-2.EXT, NAME-3.EXT. The path is in output->last. */
int output_write(struct output *output, time_t when, struct buf *bytes, struct why *why);
/* One file, without pattern. "-" is stdout. */
int output_write_path(const char *path, const struct buf *bytes, struct why *why);
