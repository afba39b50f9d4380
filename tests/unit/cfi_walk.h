/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_walk.h - walks a section made by cfi_bytes.h and keeps what it saw, for tests. */
#pragma once

#include <elf.h>

#include "base/own.h"
#include "elf/eh_frame.h"
#include "cfi_bytes.h"

#define START 0x4000
#define SIZE 0x40
#define ROWS_MAX 8
#define FDES_MAX 8

/* What a walk saw. */
struct seen {
	uint64_t start[FDES_MAX];
	uint32_t size[FDES_MAX];
	struct cfi_row rows[FDES_MAX][ROWS_MAX];
	size_t rows_len[FDES_MAX];
	size_t len;
	struct eh_frame_stats stats;
};

static inline int keep(void *arg, const struct eh_frame_fde *fde)
{
	struct seen *s = arg;

	assert_true(s->len < FDES_MAX && fde->rows_len > 0 && fde->rows_len <= ROWS_MAX);
	s->start[s->len] = fde->start;
	s->size[s->len] = fde->size;
	s->rows_len[s->len] = fde->rows_len;
	memcpy(s->rows[s->len], fde->rows, fde->rows_len * sizeof(*fde->rows));
	s->len++;
	return 0;
}

static inline struct eh_frame section(const struct buf *b)
{
	return (struct eh_frame){ .data = { (const uint8_t *)b->data, b->len },
		.vaddr = CFI_SECTION_VADDR,
		.machine = EM_X86_64 };
}

static inline int walk(const struct buf *b, struct seen *seen)
{
	struct eh_frame eh = section(b);

	*seen = (struct seen){ 0 };
	return eh_frame_walk(&eh, keep, seen, &seen->stats);
}

static inline void walk_one(struct cfi_text program, struct seen *seen)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	cfi_fde(&b, cfi_cie_usual(&b), START, SIZE, program);
	assert_int_equal(walk(&b, seen), 0);
}

#define SP(off)                                                              \
	{                                                                    \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8 \
	}
#define SP_FP(off, at)                                                                         \
	{                                                                                      \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8, .fp = FP_AT_CFA, \
		.fp_off = (at)                                                                 \
	}
#define REG(reg, off)                                                            \
	{                                                                        \
		.cfa = CFA_REG, .cfa_reg = (reg), .cfa_off = (off), .ra_off = -8 \
	}
#define WITH(...)                                                       \
	{                                                               \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = 8, __VA_ARGS__ \
	}
#define UNSUPPORTED                                                         \
	{                                                                   \
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST \
	}
