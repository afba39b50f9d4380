/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_pointer.c - a value in one of a dozen formats, added to one of a few bases.
 * Addresses are 64 bits wide and wrap, as in the C run time's own reader. Nothing is dereferenced:
 * indirect pointers are refused, or skipped if only their size matters. */
#include "elf/cfi_pointer.h"

#include <dwarf.h>

#define FORMAT_MASK 0x0f
#define BASE_MASK 0x70
#define BASE_ALIGNED 0x50
#define POINTER_BYTES 8

static bool format_known(uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_uleb128:
	case DW_EH_PE_udata2:
	case DW_EH_PE_udata4:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sleb128:
	case DW_EH_PE_sdata2:
	case DW_EH_PE_sdata4:
	case DW_EH_PE_sdata8:
		return true;
	default:
		return false;
	}
}

static uint64_t read_format(struct cursor *c, uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case DW_EH_PE_uleb128:
		return cursor_uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)cursor_sleb(c);
	case DW_EH_PE_udata2:
		return cursor_u16(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cursor_u16(c);
	case DW_EH_PE_udata4:
		return cursor_u32(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cursor_u32(c);
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_u64(c);
	default:
		c->bad = true;
		return 0;
	}
}

bool cfi_pointer_readable(uint8_t encoding, const struct cfi_bases *bases)
{
	if (encoding & DW_EH_PE_indirect || !format_known(encoding))
		return false;
	switch (encoding & BASE_MASK) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_pcrel:
		return true;
	case DW_EH_PE_datarel:
		return bases->data_known;
	default:
		return false;
	}
}

uint64_t cfi_pointer_read(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases)
{
	uint64_t base = 0;

	if (!cfi_pointer_readable(encoding, bases)) {
		c->bad = true;
		return 0;
	}
	if ((encoding & BASE_MASK) == DW_EH_PE_pcrel)
		base = bases->section + cursor_offset(c);
	else if ((encoding & BASE_MASK) == DW_EH_PE_datarel)
		base = bases->data;
	return base + read_format(c, encoding);
}

void cfi_pointer_skip(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases)
{
	if (encoding == DW_EH_PE_omit)
		return;
	if ((encoding & BASE_MASK) == BASE_ALIGNED) {
		uint64_t at = bases->section + cursor_offset(c);

		cursor_skip(c, (size_t)(-at & (POINTER_BYTES - 1)));
		encoding = DW_EH_PE_absptr;
	}
	read_format(c, encoding);
}
