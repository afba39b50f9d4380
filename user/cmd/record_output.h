/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_output.h - profiles → a format → the clerk. The first profile begins a file, and
 * record_output_end ends it. A format that streams takes any number of profiles, others take one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "output/output.h"
#include "profile/profile.h"
#include "sink/file.h"

struct clerk;
struct log;
struct sink;

struct record_output {
	struct clerk *clerk;
	const struct sink *sink;
	const struct sink_options *options;
	/* Called between pieces: writing may take long, and no sample may be lost meanwhile. */
	int (*meanwhile)(void *ctx);
	void *ctx;
	uint32_t file_index; /* of a bundle's file, from 1; 0: no bundle */

	bool open, failed;
	struct sink_file file;
	struct why why; /* the clerk's error */
	char path[OUTPUT_PATH_MAX];
	uint64_t samples, stacks, profiles, untimed;
};

int record_output_put(struct record_output *output, const struct profile *profile, struct why *why);
/* Completes the file, which gets its name, and logs a line about it. */
int record_output_end(struct record_output *output, struct log *log, struct why *why);
void record_output_done(struct record_output *output);
