/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_file.h - candidate paths of a file's separate debug file, and the check whether a
 * found file belongs to it. No I/O: the caller opens the candidates, first in the target's root and
 * then in its own, and keeps the first that verifies. Conventions: the build-ID tree and
 * .gnu_debuglink of the GNU toolchain, NAME.so.dbg beside the library as .NET ships it,
 * /usr/lib/debug/PATH.debug|.dbg. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/reasons.h"
#include "elf/build_id.h"
#include "elf/image.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

struct debug_link {
	char name[NAME_MAX + 1]; /* a plain file name; "" without a link */
	uint32_t crc;            /* of the whole debug file */
};

/* Facts of the stripped file. */
struct debug_file_query {
	const char *path;         /* absolute, in the root to search */
	struct build_id build_id; /* len 0: none */
	struct debug_link link;
};

/* In the order of trial. */
enum debug_file_place {
	DEBUG_FILE_BUILD_ID,     /* /usr/lib/debug/.build-id/xx/yyyy.debug */
	DEBUG_FILE_LINK_BESIDE,  /* DIR/LINK */
	DEBUG_FILE_LINK_HIDDEN,  /* DIR/.debug/LINK */
	DEBUG_FILE_LINK_GLOBAL,  /* /usr/lib/debug/DIR/LINK */
	DEBUG_FILE_DBG_BESIDE,   /* PATH.dbg, which is NAME.so.dbg for NAME.so */
	DEBUG_FILE_DEBUG_BESIDE, /* PATH.debug */
	DEBUG_FILE_DEBUG_GLOBAL, /* /usr/lib/debug/PATH.debug */
	DEBUG_FILE_DBG_GLOBAL,   /* /usr/lib/debug/PATH.dbg */
	DEBUG_FILE_PLACES,
};

/* Reads build ID and .gnu_debuglink; path is kept, not copied. A link with a folder in its name is
 * ignored. */
void debug_file_query(struct image *image, const char *path, struct debug_file_query *out);
/* The path to try. -ENOENT: this place has none for this file; -ENAMETOOLONG. */
int debug_file_candidate(
	const struct debug_file_query *query, enum debug_file_place place, char out[PATH_MAX]);
/* The path inside a folder that replaces /usr/lib/debug: a candidate's path without that prefix;
 * for a candidate beside the file, its name alone. Points into path. */
const char *debug_file_below(const char *path);
/* Compares build IDs if both files have one, else the link's CRC. */
enum debug_reason debug_file_verify(
	const struct debug_file_query *query, uint16_t machine, struct image *candidate);
