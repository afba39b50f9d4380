/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/inlined.h - an address → the functions that were inlined there, and their source lines.
 * From DWARF 2 to 5, in the file itself or its debug file, which may share parts with another
 * (.gnu_debugaltlink) and have others split off (.dwo, .dwp). Units are read when an address in
 * them is asked for the first time and kept within limits; ask by rising address where there are
 * many. All from one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"
#include "dwarf/debug_part.h"

#define INLINED_FRAMES_MAX \
	64 /* of one address; what is between the last one and these is left out */
#define INLINED_MEMORY_MAX (64UL << 20)
#define INLINED_WORK_MAX (256UL << 20)

struct inlined;

/* Images are borrowed until inlined_free. */
struct inlined_input {
	struct image *image;         /* the one with .debug_info */
	struct image *alt;           /* what its .gnu_debugaltlink names, or NULL */
	struct image *const *splits; /* .dwo and .dwp files */
	size_t splits_len;
	bool asking;       /* for an alt or splits that are missing: INLINED_WANTS */
	size_t memory_max; /* to be kept from one call to the next; 0: INLINED_MEMORY_MAX */
	uint64_t work_max; /* bytes to be read in one call; 0: INLINED_WORK_MAX */
	bool (*stop)(
		void *ctx); /* asked every 100 us or so, true: the call gives up; NULL: never */
	void *ctx;
};

struct inlined_frame {
	const char
		*name; /* mangled where it is in the file, else behind its namespaces; "": none */
	const char *path; /* of the source file, as far as it is known; "" */
	const char *file; /* the last part of it */
	uint32_t line;    /* 0: not known */
};

/* The innermost one first, each inlined into the next; the last one is a function of its own. */
struct inlined_frames {
	struct inlined_frame all[INLINED_FRAMES_MAX];
	size_t len;
};

enum inlined_result {
	INLINED_FOUND,
	INLINED_NONE,     /* nothing is said of this address, or what says it is damaged */
	INLINED_GIVEN_UP, /* too much work, or told to stop; a unit that was too much work stays so
			   */
	INLINED_WANTS,    /* inlined_wanted says what, if it can be had; give it and ask again */
};

struct inlined_stats {
	size_t units;        /* in all */
	size_t units_loaded; /* since it was opened, some maybe more than once */
	size_t units_bad;    /* damaged */
	size_t units_given_up;
	size_t memory_bytes; /* now */
};

/* -ENODATA: the image has no debugging information; -EBADMSG, -EFBIG, -ENOTSUP: its sections cannot
 * be read; -ETIME: over the work of one call; -ENOMEM. An alt or split file that cannot be read is
 * done without. *out is the caller's. */
int inlined_open(const struct inlined_input *input, struct inlined **out);
void inlined_free(struct inlined *inlined);

/* vaddr is the image's. What is in *out is good until the next call. -ENOMEM, or what it is. */
int inlined_find(struct inlined *inlined, uint64_t vaddr, struct inlined_frames *out);
/* Of kind DEBUG_PART_NONE: nothing is wanted. */
const struct debug_part *inlined_wanted(const struct inlined *inlined);
/* The answer to that: an image, which is borrowed until inlined_free, or NULL. -ENOMEM, -ETIME. */
int inlined_give(struct inlined *inlined, struct image *image);
void inlined_stats(const struct inlined *inlined, struct inlined_stats *out);
