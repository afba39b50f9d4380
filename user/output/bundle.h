/* SPDX-License-Identifier: Apache-2.0 */
/* output/bundle.h - one capture in a directory: a file for each viewer, and an archive of them. */
#pragma once

#include <time.h>

#include "base/err.h"
#include "output/place.h"

struct bundle_file {
	const char *name;   /* in the directory */
	const char *format; /* of sink/sink.h */
};

#define BUNDLE_ARCHIVE "prof.tar.gz"

/* The list ends with an entry without a name. */
const struct bundle_file *bundle_files(void);
/* NULL: there are fewer. */
const struct bundle_file *bundle_file(size_t number);
/* Makes the directory if it is missing, and tries whether each file can be written there. */
int bundle_make(const char *dir, struct why *why);
/* Is this one of the files in dir? */
bool bundle_has(const char *dir, const struct place_id *file);
/* Writes dir/BUNDLE_ARCHIVE from the files in dir. */
int bundle_pack(const char *dir, time_t when, struct why *why);
