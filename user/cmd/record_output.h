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

struct agent;
struct clerk;
struct log;
struct perf_maps;
struct sink;

struct record_output {
	struct clerk *clerk;
	const struct sink *sink;
	const struct sink_options *options;
	const char *kinds;   /* of values that are written, as -e names them; NULL: all */
	uint32_t file_index; /* of a bundle's file, from 1; 0: no bundle */

	bool open;
	int failed; /* the error after which nothing more is written; 0: none */
	struct sink_file file;
	struct why why; /* the clerk's error */
	char path[OUTPUT_PATH_MAX];
	uint64_t samples, stacks, profiles, untimed;

	/* by record_output_lose */
	uint64_t lost_samples, intervals_lost;
	int lost_err; /* of the latest; 0: it was written */
	struct why lost_why; /* of the first */
};

/* Leaves out the kinds that were not asked for, and gives the profile the account, if the format
 * holds it. 0 or -ENOMEM. */
int record_output_prepare(const struct record_output *output, struct agent *agent,
	struct perf_maps *maps, struct profile *profile);
int record_output_put(struct record_output *output, const struct profile *profile, struct why *why);
/* Completes the file, which gets its name, and logs a line about it. */
int record_output_end(struct record_output *output, struct log *log, struct why *why);
/* An interval that could not be written: the next one is begun. Says it once for each cause. */
void record_output_lose(
	struct record_output *output, int err, const struct why *why, struct log *log);
/* Sums up what was lost so: 0 or -errno. */
int record_output_lost(const struct record_output *output, struct why *why);
void record_output_done(struct record_output *output);
