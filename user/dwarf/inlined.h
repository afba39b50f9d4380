/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/inlined.h - the functions inlined at an address, and their source lines.
 * DWARF 2 to 5, in the file itself or its debug file, which may share parts with another file
 * (.gnu_debugaltlink) and split others off (.dwo, .dwp). A unit is read at the first query of an
 * address in it, and cached within limits. Query many addresses in rising order. Not
 * thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"
#include "dwarf/debug_part.h"

/* Limit of an address: the innermost ones, and the outermost. */
#define INLINED_FRAMES_MAX 64
#define INLINED_MEMORY_MAX (64UL << 20)
#define INLINED_WORK_MAX (256UL << 20)

struct inlined;

/* Images are borrowed until inlined_free. */
struct inlined_input {
	struct image *image;         /* with .debug_info */
	struct image *alt;           /* the file named by its .gnu_debugaltlink, or NULL */
	struct image *const *splits; /* .dwo and .dwp files */
	size_t splits_len;
	bool asking;       /* request a missing alt or split file: INLINED_WANTS */
	size_t memory_max; /* memory between calls; 0: INLINED_MEMORY_MAX */
	uint64_t work_max; /* bytes to read in one call; 0: INLINED_WORK_MAX */
	bool (*stop)(
		void *ctx); /* polled about every 100 us; true: the call gives up; NULL: never */
	void *ctx;
};

struct inlined_frame {
	const char *name; /* mangled if the file has that, else with its namespaces; "": none */
	const char *path; /* source file, as far as known; "" */
	const char *file; /* last part of path */
	uint32_t line;    /* 0: unknown */
};

/* The innermost one first, each inlined into the next; the last one is a real function. */
struct inlined_frames {
	struct inlined_frame all[INLINED_FRAMES_MAX];
	size_t len;
};

enum inlined_result {
	INLINED_FOUND,
	INLINED_NONE,     /* no information for this address, or it is damaged */
	INLINED_GIVEN_UP, /* too much work, or stopped; such a unit is not tried again */
	INLINED_WANTS,    /* answer the request of inlined_wanted, then ask again */
};

struct inlined_stats {
	size_t units;        /* total */
	size_t units_loaded; /* including units that were loaded again */
	size_t units_bad;    /* damaged */
	size_t units_given_up;
	size_t memory_bytes; /* current */
};

/* -ENODATA: the image has no debugging information; -EBADMSG, -EFBIG, -ENOTSUP: its sections cannot
 * be read; -ETIME: over the work of one call; -ENOMEM. An unreadable alt or split file is ignored.
 * *out is the caller's. */
int inlined_open(const struct inlined_input *input, struct inlined **out);
void inlined_free(struct inlined *inlined);

/* vaddr is the image's. *out is valid until the next call. An enum inlined_result or -ENOMEM. */
int inlined_find(struct inlined *inlined, uint64_t vaddr, struct inlined_frames *out);
/* The pending request; kind DEBUG_PART_NONE: none. */
const struct debug_part *inlined_wanted(const struct inlined *inlined);
/* Answers the request with an image, which is borrowed until inlined_free, or NULL. -ENOMEM,
 * -ETIME. */
int inlined_give(struct inlined *inlined, struct image *image);
void inlined_stats(const struct inlined *inlined, struct inlined_stats *out);
