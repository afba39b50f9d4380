/* SPDX-License-Identifier: Apache-2.0 */
/* wire/name.h - a client's query for names of addresses, and the answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_part.h"
#include "sym/elf_sym.h"

struct worker_query {
	const uint64_t *addresses; /* file offsets, or a map's addresses */
	size_t len;
	bool demangle;     /* objects only */
	uint64_t until_ns; /* deadline */
	bool spare;        /* save memory rather than time: cache few symbols */
	/* Objects only: deadline for inlined frames, files and lines; 0: this object needs none,
	 * now or later. */
	uint64_t lines_until_ns;
	/* Opens a file that lines need; a descriptor, or a negative: unavailable. NULL: none is
	 * available. Gets the ctx of the names; must not call the client. */
	int (*open_part)(void *ctx, const struct debug_part *part);
};

enum worker_map_source { WORKER_PERF_MAP, WORKER_JITDUMP, WORKER_MAP_SOURCES };

struct worker_name {
	const char *name; /* raw: any byte but NUL; "": of the function only the start is known */
	uint64_t start;   /* start of the symbol or function; 0 in a map */
	uint8_t source; /* enum elf_sym_source, or of a map enum worker_map_source; no name: any */
	bool inlined;     /* inlined into the next one, which has the same index */
	const char *path; /* source file; "": unknown or not requested */
	uint32_t line;    /* 0: the same */
};

/* Called for each address with a name, by rising index; inlined names come first, innermost first,
 * and their start and source are unset. A negative return ends the call and is returned.
 * Must not call the client. */
typedef int (*worker_name_fn)(void *ctx, size_t index, const struct worker_name *name);
