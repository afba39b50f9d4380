/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows.h - compact unwind rows of one ELF image, by file offset.
 * They are one run of bytes, so that the process that compiles them can hand them to the one that
 * publishes them:
 *     struct unwind_rows_head
 *     struct unwind_rows_page   pages[pages_len]   by rising number
 *     struct unwind_rule        rules[rules_len]   row's rule id → rule; id 0 is CFA_NONE
 *     pages' data                                  as bpf/abi.h says, each padded to 4 bytes
 * A page that no function touches is left out. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "elf/cfi_rule.h"

struct image;

#define UNWIND_ROWS_MAGIC 0x31776f72U /* "row1" */
/* Page numbers are shared by all files, so none may take many for few functions: from its first
 * page to its last a table has so many at most, and so many for each page that has functions. More
 * is -EFBIG. */
#define UNWIND_ROWS_SPAN_MAX (ROWS_PAGES_MAX / 4) /* 1 GiB of text */
#define UNWIND_ROWS_SPAN_SPARSE(pages_len) (256 + 8 * (pages_len))
/* Rows of all functions before they are merged, 8 bytes each while building; more is -EFBIG. */
#define UNWIND_ROWS_RAW_MAX (32U << 20)
/* Addresses between two functions that are taken for padding, part of the first. */
#define UNWIND_ROWS_GAP 16

struct unwind_rows_stats {
	uint32_t fdes;         /* records read, .debug_frame's too */
	uint32_t fdes_bad;     /* malformed: passed over */
	uint32_t fdes_empty;   /* of no bytes: passed over */
	uint32_t fdes_outside; /* not in the file's executable segments: passed over */
	uint32_t debug_bad;    /* 1: .debug_frame was broken somewhere, the rest of it is missing */
	uint32_t rows_raw;     /* before functions were laid side by side and merged */
	uint32_t rules_refused; /* rows that became CFA_UNSUPPORTED: too many different rules */
	uint32_t pages_refused; /* pages that became CFA_UNSUPPORTED: a row at every byte */
	uint32_t lost[CFI_LOST_MAX]; /* rows that say less than their source, by reason */
};

struct unwind_rows_head {
	uint32_t magic;
	uint32_t pages_len;
	uint32_t rules_len;
	uint32_t rows_len; /* of all pages */
	uint32_t data_bytes;
	struct unwind_rows_stats stats;
};

struct unwind_rows_page {
	uint32_t number; /* file offset >> ROWS_PAGE_SHIFT */
	uint32_t rows_len;
	uint32_t data_offset; /* from the first page's data */
	uint32_t data_bytes;  /* ROWS_INDEX_BYTES + 3 * rows_len, rounded up to 4 */
};

/* The bytes, checked; it points into them. */
struct unwind_rows_view {
	const struct unwind_rows_head *head;
	const struct unwind_rows_page *pages;
	const struct unwind_rule *rules;
	const uint8_t *data;
};

struct unwind_rows {
	void *bytes; /* size of them are all there is to write */
	size_t size;
	struct unwind_rows_view view;
};

/* Compiles .eh_frame and, for what it does not cover, .debug_frame. Of functions that overlap, the
 * one that begins later holds where it lies; of those that begin together, the shorter; of equal
 * ones, the first in the section. -ENODATA: neither section; -EBADMSG: .eh_frame is broken;
 * -ENOTSUP: the machine; -EFBIG: over a limit above; -ENOMEM. On success *out is the caller's. */
int unwind_rows_build(struct image *image, struct unwind_rows **out, struct why *why);
void unwind_rows_free(struct unwind_rows *rows);
DEFINE_CLEANUP(struct unwind_rows, unwind_rows_free)

/* Takes bytes that anyone may have written. They must be aligned to 4 bytes and must not change as
 * long as the view is used: copy them, or seal the file, first. -EBADMSG: a table that a search
 * could leave, that names a rule that is not there, or that spans too many pages. */
int unwind_rows_view(const void *bytes, size_t size, struct unwind_rows_view *out);

/* Does a table from this page to that one, with functions in so many, keep to the limits above? */
bool unwind_rows_span_fits(uint32_t first, uint32_t last, uint32_t pages_len);

/* The page's data, as published to BPF. i < head->pages_len */
struct bytes unwind_rows_page_data(const struct unwind_rows_view *view, uint32_t i);

/* The index of the page of that number, or -1: no function touches it. */
int64_t unwind_rows_page_index(const struct unwind_rows_view *view, uint64_t number);

/* The rule at a file offset, by the search that BPF does; CFA_NONE where there is no page. */
struct unwind_rule unwind_rows_find(const struct unwind_rows_view *view, uint64_t file_offset);
