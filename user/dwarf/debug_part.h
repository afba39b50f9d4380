/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_part.h - other files that debugging information refers to, and their candidate paths.
 * The names are untrusted: only names and folders that are usual for such files are candidates, and
 * the caller opens them inside the root that it searches. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/build_id.h"
#include "elf/image.h"

#define DEBUG_PART_TEXT_MAX 1024 /* with the NUL; parts with longer names are ignored */
#define DEBUG_PART_PLACES 4

enum debug_part_kind {
	DEBUG_PART_NONE,
	DEBUG_PART_ALT,     /* parts that dwz moved out of several files (.gnu_debugaltlink) */
	DEBUG_PART_PACKAGE, /* all split units of one program: PATH.dwp */
	DEBUG_PART_SPLIT,   /* one split unit (DW_AT_dwo_name) */
	DEBUG_PART_KINDS,
};

struct debug_part {
	uint32_t kind;
	struct build_id build_id; /* of DEBUG_PART_ALT */
	char dir[DEBUG_PART_TEXT_MAX], name[DEBUG_PART_TEXT_MAX];
};

/* Sets *out to the file named by .gnu_debugaltlink. False: no such section, or it is damaged. */
bool debug_part_alt(struct image *image, struct debug_part *out);
/* The i-th path to try, i < DEBUG_PART_PLACES; path is the mapped file's, absolute. -ENOENT: none;
 * -ENAMETOOLONG. */
int debug_part_candidate(
	const struct debug_part *part, const char *path, unsigned int i, char out[PATH_MAX]);
