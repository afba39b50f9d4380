/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_frames.h - the .eh_frame FDE at a file offset. With a search table only the FDEs that are
 * asked for are read; in a file without one, all of them once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/eh_table.h"
#include "elf/image.h"

#define ELF_FRAMES_MAX (1U << 22)

struct elf_range {
	uint32_t start, end; /* file offsets; start must be first: the sort key */
};

struct elf_frames {
	const struct image *image;
	struct eh_table table;     /* if it has entries, `all` is empty */
	VEC(struct elf_range) all; /* sorted, disjoint */
	bool any;                  /* there are FDEs */
	uint32_t last, jumps;      /* of the places that were looked up */
	size_t dropped;
};

struct elf_extent {
	uint32_t start, end; /* file offsets */
	bool function;       /* of one FDE; else a run of bytes without */
};

/* A file without .eh_frame, or with a broken one, has no or fewer FDEs. -ENOMEM. *out is zeroed or
 * owned by the caller after a failure too. */
int elf_frames_open(struct image *image, struct elf_frames *out);
void elf_frames_done(struct elf_frames *frames);
/* The extent around the offset, never empty. */
struct elf_extent elf_frames_find(struct elf_frames *frames, uint32_t offset);

/* The first range that ends after the offset, or the number of all. */
size_t elf_ranges_find(const struct elf_range *all, size_t len, uint64_t offset);
/* Sorts; those that overlap are joined, or the first ends where the next one begins. -ENOMEM */
int elf_ranges_settle(struct elf_range *all, size_t *len, bool join);
