/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_ranges.c - converts both encodings of lists into pairs of addresses. Each entry costs
 * budget, because a file may let all its DIEs refer to one long list. */
#include "dwarf/dwarf_ranges.h"

#include <errno.h>

#define TOMBSTONE_MAX 1 /* what binutils' linkers leave of a dropped section */

enum rle {
	RLE_END_OF_LIST,
	RLE_BASE_ADDRESSX,
	RLE_STARTX_ENDX,
	RLE_STARTX_LENGTH,
	RLE_OFFSET_PAIR,
	RLE_BASE_ADDRESS,
	RLE_START_END,
	RLE_START_LENGTH,
};

static int add(struct dwarf_ranges *out, uint64_t start, uint64_t end)
{
	struct dwarf_range *range;

	if (start >= end || start <= TOMBSTONE_MAX)
		return 0;
	range = vec_add(&out->all);
	if (!range)
		return -ENOMEM;
	*range = (struct dwarf_range){ start, end };
	return 0;
}

/* Relative to a base that is gone, they are gone too. */
static int add_to_base(struct dwarf_ranges *out, uint64_t base, uint64_t start, uint64_t end)
{
	if (start > UINT64_MAX - base || end > UINT64_MAX - base)
		return 0;
	return add(out, base + start, base + end);
}

/* .debug_ranges */
static int read_pairs(const struct dwarf_unit *unit, struct cursor *c, struct dwarf_work *work,
	struct dwarf_ranges *out)
{
	unsigned int size = unit->format.address_size;
	uint64_t select = size == 8 ? UINT64_MAX : UINT32_MAX, base = unit->base;
	int err = 0;

	while (err == 0) {
		uint64_t start = dwarf_number(c, size), end = dwarf_number(c, size);

		if (c->bad)
			return -EBADMSG;
		if (start == 0 && end == 0)
			return 0;
		if (!dwarf_work_spend(work, 2 * size))
			return -ETIME;
		if (start == select)
			base = end;
		else
			err = add_to_base(out, base, start, end);
	}
	return err;
}

static uint64_t address_at(const struct dwarf_unit *unit, uint64_t index)
{
	struct dwarf_value value = { .class = DWARF_ADDRESS_INDEX, .u = index };
	uint64_t address = 0;

	dwarf_unit_address(unit, &value, &address);
	return address;
}

/* One entry of .debug_rnglists; *base goes on to the next. */
static int read_entry(const struct dwarf_unit *unit, struct cursor *c, enum rle kind,
	uint64_t *base, struct dwarf_ranges *out)
{
	unsigned int size = unit->format.address_size;
	uint64_t a, b;

	switch (kind) {
	case RLE_BASE_ADDRESSX:
		*base = address_at(unit, cursor_uleb(c));
		return 0;
	case RLE_BASE_ADDRESS:
		*base = dwarf_number(c, size);
		return 0;
	case RLE_OFFSET_PAIR:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		return add_to_base(out, *base, a, b);
	case RLE_STARTX_ENDX:
		a = address_at(unit, cursor_uleb(c));
		return add(out, a, address_at(unit, cursor_uleb(c)));
	case RLE_STARTX_LENGTH:
		a = address_at(unit, cursor_uleb(c));
		return add_to_base(out, a, 0, cursor_uleb(c));
	case RLE_START_END:
		a = dwarf_number(c, size);
		return add(out, a, dwarf_number(c, size));
	case RLE_START_LENGTH:
		a = dwarf_number(c, size);
		return add_to_base(out, a, 0, cursor_uleb(c));
	default:
		return -EBADMSG;
	}
}

static int read_entries(const struct dwarf_unit *unit, struct cursor *c, struct dwarf_work *work,
	struct dwarf_ranges *out)
{
	uint64_t base = unit->base;
	int err = 0;

	while (err == 0) {
		uint8_t kind = cursor_u8(c);

		if (c->bad)
			return -EBADMSG;
		if (kind == RLE_END_OF_LIST)
			return 0;
		if (!dwarf_work_spend(work, 8))
			return -ETIME;
		err = read_entry(unit, c, kind, &base, out);
	}
	return err;
}

static int read_list(const struct dwarf_unit *unit, const struct dwarf_value *ranges,
	struct dwarf_work *work, struct dwarf_ranges *out)
{
	bool pairs = unit->format.version < 5;
	struct bytes section = unit->sections[pairs ? DWARF_RANGES : DWARF_RNGLISTS];
	struct cursor c = cursor_init(section.data, section.len);
	uint64_t offset = ranges->u, size = unit->format.offset_size;

	if (ranges->class == DWARF_LIST_INDEX) {
		if (offset > section.len || unit->rnglists_base > section.len)
			return -EBADMSG;
		cursor_seek(&c, unit->rnglists_base + offset * size);
		offset = dwarf_number(&c, (unsigned int)size);
		offset = c.bad || offset > section.len ? UINT64_MAX : offset + unit->rnglists_base;
	} else if (pairs && unit->dwarf->split) { /* a skeleton has the base for us alone */
		offset = offset > section.len || unit->ranges_base > section.len
			? UINT64_MAX
			: offset + unit->ranges_base;
	}
	cursor_seek(&c, offset);
	return pairs ? read_pairs(unit, &c, work, out) : read_entries(unit, &c, work, out);
}

int dwarf_ranges_read(const struct dwarf_unit *unit, const struct dwarf_value *low_pc,
	const struct dwarf_value *high_pc, const struct dwarf_value *ranges,
	struct dwarf_work *work, struct dwarf_ranges *out)
{
	uint64_t start, end;

	if (ranges->class == DWARF_OFFSET || ranges->class == DWARF_NUMBER ||
		ranges->class == DWARF_LIST_INDEX)
		return read_list(unit, ranges, work, out);
	if (!dwarf_unit_address(unit, low_pc, &start))
		return 0;
	if (high_pc->class == DWARF_NUMBER)
		return add_to_base(out, start, 0, high_pc->u);
	return dwarf_unit_address(unit, high_pc, &end) ? add(out, start, end) : 0;
}
