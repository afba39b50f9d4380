/* SPDX-License-Identifier: Apache-2.0 */
/* elf/eh_frame.h - the functions of a call frame section, each as a run of unwind rules.
 * Reads .eh_frame (Linux Standard Base Core 5.0 §10.6; x86-64 and AArch64) and .debug_frame (DWARF
 * versions 2 to 5, that is CIE versions 1, 3 and 4, in both the 32-bit and the 64-bit format).
 * A walk visits every record; elf/eh_table.h finds one by the search table of .eh_frame_hdr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/cfi_program.h"

struct image;

struct eh_frame {
	struct bytes data;
	uint64_t vaddr; /* of data's first byte; unused for .debug_frame */
	uint16_t machine;
	bool debug_frame; /* the format of .debug_frame */
	/* The section's size is unknown, only the segment's end: a record of length 0 ends it.
	 * Otherwise such a record, which linkers insert, is skipped. */
	bool ends_at_zero;
};

struct eh_frame_stats {
	uint32_t fdes;
	uint32_t fdes_bad;           /* malformed, or with a malformed or unreadable CIE; skipped */
	uint32_t fdes_empty;         /* functions without bytes; skipped */
	uint32_t lost[CFI_LOST_MAX]; /* rows */
};

/* One function, [start, start + size). Rows are from cfi_machine_run_fde() and valid during the
 * call; eh_frame_walk_ranges() gives none. */
struct eh_frame_fde {
	uint64_t start; /* vaddr */
	uint32_t size;  /* not 0 */
	const struct cfi_row *rows;
	size_t rows_len; /* not 0 */
};

/* 0, or -errno to stop the walk. */
typedef int (*eh_frame_fn)(void *arg, const struct eh_frame_fde *fde);

/* .eh_frame by its section header or else by PT_GNU_EH_FRAME. The bytes belong to the image.
 * -ENODATA: none; -EBADMSG: its stated place is impossible; others as from
 * image_section_bytes(). */
int eh_frame_find(struct image *image, struct eh_frame *out);
/* .debug_frame, decompressed. Errors as above. */
int eh_frame_find_debug(struct image *image, struct eh_frame *out);

/* Calls fn for each function in the section's order. *stats is added to. -EBADMSG: the chain of
 * records is broken (fn was called for those before); -ENOTSUP: the machine; -ENOMEM; or fn's
 * error. */
int eh_frame_walk(
	const struct eh_frame *eh, eh_frame_fn fn, void *arg, struct eh_frame_stats *stats);
/* The same without rows, which are most of the work. */
int eh_frame_walk_ranges(
	const struct eh_frame *eh, eh_frame_fn fn, void *arg, struct eh_frame_stats *stats);

/* Reads single FDEs of .eh_frame. */
struct eh_frame_reader;
/* -ENOTSUP: the machine; -ENOMEM. The section's bytes must outlive *out. */
int eh_frame_reader_new(const struct eh_frame *eh, struct eh_frame_reader **out);
void eh_frame_reader_free(struct eh_frame_reader *reader);
/* The range of the FDE at this offset in the section, which may be empty. -EBADMSG */
int eh_frame_read_range(struct eh_frame_reader *reader, size_t offset, struct eh_frame_fde *out);
/* The same with rows, valid until the next call; none if the range is empty. *record_bytes: of all
 * that was read, a CIE too. -EBADMSG, -ENOMEM */
int eh_frame_read_rows(struct eh_frame_reader *reader, size_t offset, struct eh_frame_fde *out,
	size_t *record_bytes);
/* Rows of all read FDEs that are less exact than their source, by reason. */
const uint32_t *eh_frame_reader_lost(const struct eh_frame_reader *reader);
