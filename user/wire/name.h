/* SPDX-License-Identifier: Apache-2.0 */
/* wire/name.h - what a client asks of addresses, and what it is told. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_part.h"
#include "sym/elf_sym.h"

struct worker_query {
	const uint64_t *addresses; /* file offsets, or a map's addresses */
	size_t len;
	bool demangle;           /* objects only */
	uint64_t until_ns;       /* when to give up waiting */
	bool spare;              /* memory, rather than time: few symbols are kept */
	uint64_t lines_until_ns; /* objects only: when no more inlined frames, files and lines are
				  * asked for; 0: never were, nor will be of this object */
	/* Opens a file that lines need; a descriptor, or a negative: it is not to be had. NULL:
	 * none is. Gets the ctx of the names; must not call the client. */
	int (*open_part)(void *ctx, const struct debug_part *part);
};

enum worker_map_source { WORKER_PERF_MAP, WORKER_JITDUMP, WORKER_MAP_SOURCES };

struct worker_name {
	const char *name; /* not "cleaned": any byte but NUL */
	uint64_t start;   /* where the symbol begins; 0 in a map */
	uint8_t source;   /* enum elf_sym_source; of a map enum worker_map_source */
	bool inlined;     /* into the next one, which is told for the same index */
	const char *path; /* of the source file; "": not known, or not asked for */
	uint32_t line;    /* 0: likewise */
};

/* For each address that has a name, by rising index; inlined ones, which start and source are not
 * about, the innermost first. Negative ends the call and is what it returns.
 * Must not call the client. */
typedef int (*worker_name_fn)(void *ctx, size_t index, const struct worker_name *name);
