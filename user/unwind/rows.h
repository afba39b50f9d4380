/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows.h - compact unwind rows of one ELF image, by file offset.
 * They are one block of bytes, so that a worker can send them to the agent:
 *     struct unwind_rows_head
 *     struct unwind_rows_page   pages[pages_len]   by rising number
 *     struct unwind_rule        rules[rules_len]   row's rule id → rule; id 0 is CFA_NONE
 *     pages' data                                  format of bpf/abi_rows.h, padded to 4 bytes each
 * A table has all pages of its file but those without functions. The pages of a large file may be
 * compiled one by one, after an outline that says which it has. */
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
#define UNWIND_ROWS_PAGE_MAX ((uint32_t)(FRAME_OFFSET_MASK >> ROWS_PAGE_SHIFT)) /* number */
/* All files share the page numbers, so no file may use many numbers for few functions. The span
 * from first to last page is at most the first limit, and at most the second limit for each page
 * that has functions. More is -EFBIG. */
#define UNWIND_ROWS_SPAN_MAX (ROWS_PAGES_MAX / 4) /* 1 GiB of text */
#define UNWIND_ROWS_SPAN_SPARSE(pages_len) (256 + 8 * (pages_len))
/* Limit of unmerged rows of all functions, 8 bytes each while building; more is -EFBIG. */
#define UNWIND_ROWS_RAW_MAX (32U << 20)
/* Padding of less than so many bytes between functions belongs to the first. */
#define UNWIND_ROWS_GAP 16

struct unwind_rows_stats {
	uint32_t fdes;               /* records, including .debug_frame */
	uint32_t fdes_bad;           /* malformed, skipped */
	uint32_t fdes_empty;         /* without bytes, skipped */
	uint32_t fdes_outside;       /* outside the executable segments, skipped */
	uint32_t fde_bytes;          /* of the records that single pages were compiled from */
	uint32_t debug_bad;          /* 1: .debug_frame is broken, and records are missing */
	uint32_t rows_raw;           /* before functions are joined and merged */
	uint32_t rules_refused;      /* rows that became CFA_UNSUPPORTED: too many rules */
	uint32_t pages_refused;      /* pages that became CFA_UNSUPPORTED: a row at every byte */
	uint32_t lost[CFI_LOST_MAX]; /* rows that are less exact than their source, by reason */
};

enum unwind_rows_kind {
	UNWIND_ROWS_TABLE,
	UNWIND_ROWS_OUTLINE, /* the numbers of the first and last page, and no page */
	UNWIND_ROWS_PAGES,   /* pages that were asked for; with rows_len 0: without functions */
	UNWIND_ROWS_KINDS,
};

struct unwind_rows_head {
	uint32_t magic;
	uint32_t kind; /* enum unwind_rows_kind */
	/* An outline has the first page's number, the number of pages up to the last, and the
	 * number of those with functions. Else they are 0. */
	uint32_t first, span, used;
	uint32_t pages_len;
	uint32_t rules_len;
	uint32_t rows_len; /* in all pages */
	uint32_t data_bytes;
	struct unwind_rows_stats stats;
};

struct unwind_rows_page {
	uint32_t number; /* file offset >> ROWS_PAGE_SHIFT */
	uint32_t rows_len;
	uint32_t data_offset; /* relative to the data of the first page */
	uint32_t data_bytes;  /* ROWS_INDEX_BYTES + 3 * rows_len, rounded up to 4; 0 without rows */
};

/* A checked view into the bytes. */
struct unwind_rows_view {
	const struct unwind_rows_head *head;
	const struct unwind_rows_page *pages;
	const struct unwind_rule *rules;
	const uint8_t *data;
};

struct unwind_rows {
	void *bytes; /* the whole block, `size` bytes */
	size_t size;
	struct unwind_rows_view view;
};

/* Compiles .eh_frame, and .debug_frame for the parts it does not cover. Where functions overlap,
 * the one with the higher start wins; at equal starts the shorter; if equal, the first in the
 * section. -ENODATA: neither section; -EBADMSG: .eh_frame is broken; -ENOTSUP: the machine; -EFBIG:
 * over a limit above; -ENOMEM. On success *out is the caller's. */
int unwind_rows_build(struct image *image, struct unwind_rows **out, struct why *why);
void unwind_rows_free(struct unwind_rows *rows);
DEFINE_CLEANUP(struct unwind_rows, unwind_rows_free)

/* Checks untrusted bytes. They must be aligned to 4 bytes and must not change while the view is
 * used: copy them, or seal the file, first. -EBADMSG: a search could leave the table, a rule id is
 * unknown, or the span of pages is too large. */
int unwind_rows_view(const void *bytes, size_t size, struct unwind_rows_view *out);

/* The view's first page, and the number of pages from that to its last: of an outline those that it
 * states. span 0: none */
uint32_t unwind_rows_first(const struct unwind_rows_view *view);
uint32_t unwind_rows_span(const struct unwind_rows_view *view);

/* Is a table from page `first` to `last`, pages_len of them with functions, within the limits
 * above? */
bool unwind_rows_span_fits(uint32_t first, uint32_t last, uint32_t pages_len);

/* The page's data, as published to BPF. i < head->pages_len */
struct bytes unwind_rows_page_data(const struct unwind_rows_view *view, uint32_t i);

/* The index of the page with this number; -1: it has no functions. */
int64_t unwind_rows_page_index(const struct unwind_rows_view *view, uint64_t number);
