/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_bytes.h - call frame sections, byte by byte, for tests. A program is a C string: CFI("\x41").
 */
#pragma once

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

struct cfi_text {
	const char *bytes;
	size_t len;
};

#define CFI(text) ((struct cfi_text){ text, sizeof(text) - 1 })
/* For tables that are static. */
#define CFI_INIT(text)                 \
	{                              \
		text, sizeof(text) - 1 \
	}

#define CFI_SECTION_VADDR 0x100000ULL
/* rsp + 8, return address at CFA - 8: how every function of x86-64 begins. */
#define CFI_X86_64 CFI("\x0c\x07\x08\x90\x01")
#define CFI_ARM64 CFI("\x0c\x1f\x00")

static inline void cfi_put(struct buf *b, uint64_t value, size_t size)
{
	buf_put(b, &value, size);
}

static inline size_t cfi_begin(struct buf *b)
{
	cfi_put(b, 0, 4);
	return b->len;
}

/* Pads with DW_CFA_nop, as producers do. */
static inline void cfi_end(struct buf *b, size_t begun)
{
	uint32_t length;

	while (b->len % 4)
		buf_putc(b, DW_CFA_nop);
	length = (uint32_t)(b->len - begun);
	memcpy(b->data + begun - 4, &length, 4);
}

/* Version 1, addresses in units of 1, offsets in units of -8. letters "" or "z...". */
static inline size_t cfi_cie(struct buf *b, const char *letters, struct cfi_text data, uint8_t ra,
	struct cfi_text program)
{
	size_t offset = b->len;
	size_t begun = cfi_begin(b);

	cfi_put(b, 0, 4);
	cfi_put(b, 1, 1);
	buf_put(b, letters, strlen(letters) + 1);
	cfi_put(b, 1, 1);
	cfi_put(b, 0x78, 1);
	cfi_put(b, ra, 1);
	if (*letters == 'z')
		cfi_put(b, data.len, 1);
	buf_put(b, data.bytes, data.len);
	buf_put(b, program.bytes, program.len);
	cfi_end(b, begun);
	return offset;
}

/* Pointers are relative to where they are, in 4 bytes: what linkers make. */
static inline size_t cfi_cie_usual(struct buf *b)
{
	return cfi_cie(b, "zR", CFI("\x1b"), 16, CFI_X86_64);
}

static inline void cfi_fde(
	struct buf *b, size_t cie, uint64_t start, uint32_t size, struct cfi_text program)
{
	size_t begun = cfi_begin(b);

	cfi_put(b, b->len - cie, 4);
	cfi_put(b, start - (CFI_SECTION_VADDR + b->len), 4);
	cfi_put(b, size, 4);
	cfi_put(b, 0, 1);
	buf_put(b, program.bytes, program.len);
	cfi_end(b, begun);
}

/* .debug_frame, 32-bit format, version 4. */
static inline size_t cfi_debug_cie(struct buf *b, struct cfi_text program)
{
	size_t offset = b->len;
	size_t begun = cfi_begin(b);

	cfi_put(b, 0xffffffff, 4);
	buf_put(b, "\x04\0\x08\0\x01\x78\x10", 7);
	buf_put(b, program.bytes, program.len);
	cfi_end(b, begun);
	return offset;
}

static inline void cfi_debug_fde(
	struct buf *b, size_t cie, uint64_t start, uint64_t size, struct cfi_text program)
{
	size_t begun = cfi_begin(b);

	cfi_put(b, cie, 4);
	cfi_put(b, start, 8);
	cfi_put(b, size, 8);
	buf_put(b, program.bytes, program.len);
	cfi_end(b, begun);
}
