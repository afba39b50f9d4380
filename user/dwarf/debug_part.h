/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_part.h - the other files that debugging information refers to, and where they may
 * lie. What names them is as hostile as the rest: only what is called as such files are, or lies
 * where they do, is a candidate; the caller opens it inside the root that it searches. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/build_id.h"
#include "elf/image.h"

#define DEBUG_PART_TEXT_MAX 1024 /* with the NUL; what has a longer one is done without */
#define DEBUG_PART_PLACES 4

enum debug_part_kind {
	DEBUG_PART_NONE,
	DEBUG_PART_ALT,     /* what dwz shared out of several files (.gnu_debugaltlink) */
	DEBUG_PART_PACKAGE, /* all split units of one program: PATH.dwp */
	DEBUG_PART_SPLIT,   /* one split unit (DW_AT_dwo_name) */
	DEBUG_PART_KINDS,
};

struct debug_part {
	uint32_t kind;
	struct build_id build_id; /* of an alt */
	char dir[DEBUG_PART_TEXT_MAX], name[DEBUG_PART_TEXT_MAX];
};

/* Is the file that .gnu_debugaltlink names. False: there is no such section, or it is damaged. */
bool debug_part_alt(struct image *image, struct debug_part *out);
/* The i-th path to try, i < DEBUG_PART_PLACES; path is the mapped file's, absolute. -ENOENT: there
 * is none; -ENAMETOOLONG. */
int debug_part_candidate(
	const struct debug_part *part, const char *path, unsigned int i, char out[PATH_MAX]);
