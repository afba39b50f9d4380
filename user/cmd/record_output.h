/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_output.h - profiles → a format → the clerk. A file is begun with the first profile
 * that is put and ends when it is told to; a format that streams takes any number in between. */
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
	/* Between pieces: writing may take long, and what is sampled meanwhile must not be lost. */
	int (*meanwhile)(void *ctx);
	void *ctx;
	uint32_t file_index; /* of a bundle, counted from 1; 0: none */

	bool open, failed;
	struct sink_file file;
	struct why why; /* of what the clerk refused */
	char path[OUTPUT_PATH_MAX];
	uint64_t samples, stacks, profiles, untimed;
};

int record_output_put(struct record_output *output, const struct profile *profile, struct why *why);
/* The file is whole and has its name; log gets a line of it. */
int record_output_end(struct record_output *output, struct log *log, struct why *why);
void record_output_done(struct record_output *output);
