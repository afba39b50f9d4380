/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_form.c - one table gives length and class of each form; the few forms with a length
 * prefix have code of their own. */
#include "dwarf/dwarf_form.h"

#include "base/own.h"
#include "dwarf/dwarf_const.h"

/* Instead of a number of bytes. */
enum {
	UNKNOWN = 0,
	ADDRESS = 0x40,
	OFFSET,
	ULEB,
	SLEB,
	STRING,
	BLOCK,
	BLOCK1,
	BLOCK2,
	BLOCK4,
	NOTHING,
	IMPLICIT,
	INDIRECT,
	SKIP16
};

struct form {
	uint8_t size;
	uint8_t class;
};

static const struct form forms[] = {
	[DW_FORM_addr] = { ADDRESS, DWARF_ADDRESS },
	[DW_FORM_block2] = { BLOCK2, DWARF_NONE },
	[DW_FORM_block4] = { BLOCK4, DWARF_NONE },
	[DW_FORM_data2] = { 2, DWARF_NUMBER },
	[DW_FORM_data4] = { 4, DWARF_NUMBER },
	[DW_FORM_data8] = { 8, DWARF_NUMBER },
	[DW_FORM_string] = { STRING, DWARF_TEXT },
	[DW_FORM_block] = { BLOCK, DWARF_NONE },
	[DW_FORM_block1] = { BLOCK1, DWARF_NONE },
	[DW_FORM_data1] = { 1, DWARF_NUMBER },
	[DW_FORM_flag] = { 1, DWARF_NUMBER },
	[DW_FORM_sdata] = { SLEB, DWARF_NUMBER },
	[DW_FORM_strp] = { OFFSET, DWARF_TEXT_OFFSET },
	[DW_FORM_udata] = { ULEB, DWARF_NUMBER },
	[DW_FORM_ref_addr] = { OFFSET, DWARF_REF_INFO },
	[DW_FORM_ref1] = { 1, DWARF_REF },
	[DW_FORM_ref2] = { 2, DWARF_REF },
	[DW_FORM_ref4] = { 4, DWARF_REF },
	[DW_FORM_ref8] = { 8, DWARF_REF },
	[DW_FORM_ref_udata] = { ULEB, DWARF_REF },
	[DW_FORM_indirect] = { INDIRECT, DWARF_NONE },
	[DW_FORM_sec_offset] = { OFFSET, DWARF_OFFSET },
	[DW_FORM_exprloc] = { BLOCK, DWARF_NONE },
	[DW_FORM_flag_present] = { NOTHING, DWARF_NUMBER },
	[DW_FORM_strx] = { ULEB, DWARF_TEXT_INDEX },
	[DW_FORM_addrx] = { ULEB, DWARF_ADDRESS_INDEX },
	[DW_FORM_ref_sup4] = { 4, DWARF_REF_ALT },
	[DW_FORM_strp_sup] = { OFFSET, DWARF_TEXT_ALT },
	[DW_FORM_data16] = { SKIP16, DWARF_NONE },
	[DW_FORM_line_strp] = { OFFSET, DWARF_TEXT_LINE },
	[DW_FORM_ref_sig8] = { 8, DWARF_NONE },
	[DW_FORM_implicit_const] = { IMPLICIT, DWARF_NUMBER },
	[DW_FORM_loclistx] = { ULEB, DWARF_NONE },
	[DW_FORM_rnglistx] = { ULEB, DWARF_LIST_INDEX },
	[DW_FORM_ref_sup8] = { 8, DWARF_REF_ALT },
	[DW_FORM_strx1] = { 1, DWARF_TEXT_INDEX },
	[DW_FORM_strx2] = { 2, DWARF_TEXT_INDEX },
	[DW_FORM_strx3] = { 3, DWARF_TEXT_INDEX },
	[DW_FORM_strx4] = { 4, DWARF_TEXT_INDEX },
	[DW_FORM_addrx1] = { 1, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx2] = { 2, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx3] = { 3, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx4] = { 4, DWARF_ADDRESS_INDEX },
};

static struct form find(uint16_t number, const struct dwarf_format *format)
{
	struct form form = { UNKNOWN, DWARF_NONE };

	if (number < ARRAY_SIZE(forms))
		form = forms[number];
	else if (number == DW_FORM_GNU_addr_index)
		form = (struct form){ ULEB, DWARF_ADDRESS_INDEX };
	else if (number == DW_FORM_GNU_str_index)
		form = (struct form){ ULEB, DWARF_TEXT_INDEX };
	else if (number == DW_FORM_GNU_ref_alt)
		form = (struct form){ OFFSET, DWARF_REF_ALT };
	else if (number == DW_FORM_GNU_strp_alt)
		form = (struct form){ OFFSET, DWARF_TEXT_ALT };
	if (number == DW_FORM_ref_addr && format->version < 3)
		form.size = ADDRESS;
	if (form.size == ADDRESS)
		form.size = format->address_size;
	else if (form.size == OFFSET)
		form.size = format->offset_size;
	return form;
}

int dwarf_form_size(uint16_t number, const struct dwarf_format *format)
{
	struct form form = find(number, format);

	switch (form.size) {
	case UNKNOWN:
		return -1;
	case NOTHING:
	case IMPLICIT:
		return 0;
	case SKIP16:
		return 16;
	default:
		return form.size < ADDRESS ? form.size : -1;
	}
}

static void read_long(struct cursor *c, struct form form, struct dwarf_value *out)
{
	switch (form.size) {
	case ULEB:
		out->u = cursor_uleb(c);
		break;
	case SLEB:
		out->u = (uint64_t)cursor_sleb(c);
		break;
	case STRING:
		out->text = dwarf_string(c);
		break;
	case BLOCK:
		cursor_skip(c, cursor_uleb(c));
		break;
	case BLOCK1:
		cursor_skip(c, cursor_u8(c));
		break;
	case BLOCK2:
		cursor_skip(c, cursor_u16(c));
		break;
	case BLOCK4:
		cursor_skip(c, cursor_u32(c));
		break;
	case SKIP16:
		cursor_skip(c, 16);
		break;
	default:
		c->bad = true;
	}
}

void dwarf_form_read(struct cursor *c, const struct dwarf_format *format,
	const struct dwarf_spec *spec, struct dwarf_value *out)
{
	struct form form = find(spec->form, format);

	if (form.size == INDIRECT) {
		uint64_t number = cursor_uleb(c);

		/* An implicit constant has its value in the table, where it cannot be then. */
		form = find(number > UINT16_MAX ? 0 : (uint16_t)number, format);
		if (form.size == IMPLICIT || form.size == INDIRECT)
			form.size = UNKNOWN;
	}
	*out = (struct dwarf_value){ .class = form.class };
	if (form.size == NOTHING)
		out->u = 1;
	else if (form.size == IMPLICIT)
		out->u = (uint64_t)spec->implicit;
	else if (form.size != UNKNOWN && form.size < ADDRESS)
		out->u = dwarf_number(c, form.size);
	else
		read_long(c, form, out);
}
