/* SPDX-License-Identifier: Apache-2.0 */
/* output/bundle.h - one capture in a folder, as files for every viewer, and an archive of them. */
#pragma once

#include <time.h>

#include "base/err.h"

struct bundle_file {
	const char *name;   /* in the folder */
	const char *format; /* of sink/sink.h */
};

#define BUNDLE_ARCHIVE "prof.tar.gz"

/* The last has no name. */
const struct bundle_file *bundle_files(void);
/* Makes the folder where there is none, and tries whether each file can be written there. */
int bundle_make(const char *dir, struct why *why);
/* Writes dir/BUNDLE_ARCHIVE from the files that are there. */
int bundle_pack(const char *dir, time_t when, struct why *why);
