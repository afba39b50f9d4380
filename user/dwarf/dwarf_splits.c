/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_splits.c - reads split files. A .dwo file holds one unit, whose parts are its
 * sections. A .dwp file holds many, one after the other in each section, and an index with the part
 * of each unit (DWARF 5 §7.3.5; before that the GNU extension, which numbers the sections
 * differently). Units that are not in the index, or point outside their section, are left out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_units.h"

#define COLUMNS_MAX 16
#define ROWS_MAX (1U << 20)

struct index {
	struct bytes bytes;
	uint32_t version, columns, rows, slots;
	int sections[COLUMNS_MAX]; /* enum dwarf_section, or -1 */
};

static int section_of(uint32_t version, uint32_t id)
{
	switch (id) {
	case 1:
		return DWARF_INFO;
	case 3:
		return DWARF_ABBREV;
	case 4:
		return DWARF_LINE;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8:
		return version >= 5 ? DWARF_RNGLISTS : -1;
	default:
		return -1;
	}
}

/* Header, ids and indices by slot, then a row of section numbers, the offsets, the sizes. */
static uint64_t table_at(const struct index *index)
{
	return 16 + 12 * (uint64_t)index->slots;
}

static int read_index(const struct dwarf *dwarf, struct index *out)
{
	struct index index = { .bytes = dwarf->sections[DWARF_CU_INDEX] };
	struct cursor c = cursor_init(index.bytes.data, index.bytes.len);

	index.version = cursor_u32(&c);
	if ((index.version & 0xffff) == 5)
		index.version = 5;
	index.columns = cursor_u32(&c);
	index.rows = cursor_u32(&c);
	index.slots = cursor_u32(&c);
	if (c.bad || (index.version != 2 && index.version != 5) || index.columns > COLUMNS_MAX ||
		index.rows > ROWS_MAX || index.slots > 4 * ROWS_MAX)
		return -EBADMSG;
	cursor_seek(&c, table_at(&index));
	for (uint32_t i = 0; i < index.columns; i++)
		index.sections[i] = section_of(index.version, cursor_u32(&c));
	if (c.bad)
		return -EBADMSG;
	*out = index;
	return 0;
}

static int add_split(struct dwarf_units *units, const struct dwarf_split *split)
{
	struct dwarf_split *slot = vec_add(&units->splits);

	if (!slot)
		return -ENOMEM;
	*slot = *split;
	return 0;
}

/* The parts of a row, counted from 1. False: one leads out of its section. */
static bool read_row(
	const struct index *index, const struct dwarf *dwarf, uint32_t row, struct dwarf_split *out)
{
	uint64_t line = 4 * (uint64_t)index->columns;
	struct cursor offsets = cursor_init(index->bytes.data, index->bytes.len), sizes = offsets;

	cursor_seek(&offsets, table_at(index) + row * line);
	cursor_seek(&sizes, table_at(index) + ((uint64_t)index->rows + row) * line);
	for (uint32_t i = 0; i < index->columns; i++) {
		uint32_t offset = cursor_u32(&offsets), size = cursor_u32(&sizes);
		int section = index->sections[i];
		struct cursor part;

		if (section < 0)
			continue;
		part = cursor_init(dwarf->sections[section].data, dwarf->sections[section].len);
		cursor_seek(&part, offset);
		if (section == DWARF_INFO) {
			out->start = offset;
			out->end = (uint64_t)offset + size;
		} else {
			out->sections[section] = cursor_bytes(&part, size);
		}
		if (part.bad || offsets.bad || sizes.bad)
			return false;
	}
	return true;
}

static int add_package(
	struct dwarf_units *units, const struct dwarf *dwarf, struct dwarf_work *work)
{
	struct index index;
	int err = read_index(dwarf, &index);

	for (uint32_t i = 0; err == 0 && i < index.slots; i++) {
		struct dwarf_split split = { .dwarf = dwarf, .skeleton = UINT64_MAX };
		struct cursor ids = cursor_init(index.bytes.data, index.bytes.len), rows = ids;
		uint32_t row;

		if (!dwarf_work_spend(work, 64))
			return -ETIME;
		cursor_seek(&ids, 16 + 8 * (uint64_t)i);
		cursor_seek(&rows, 16 + 8 * (uint64_t)index.slots + 4 * (uint64_t)i);
		split.id = cursor_u64(&ids);
		row = cursor_u32(&rows);
		memcpy(split.sections, dwarf->sections, sizeof(split.sections));
		if (row > 0 && row <= index.rows && !ids.bad && !rows.bad &&
			read_row(&index, dwarf, row, &split))
			err = add_split(units, &split);
	}
	return err;
}

int dwarf_splits_add(struct dwarf_units *units, const struct dwarf *dwarf, struct dwarf_work *work)
{
	struct dwarf_split split = { .dwarf = dwarf, .skeleton = UINT64_MAX };
	struct dwarf_unit unit;
	uint64_t offset = 0;

	if (dwarf->sections[DWARF_CU_INDEX].len > 0)
		return add_package(units, dwarf, work);
	memcpy(split.sections, dwarf->sections, sizeof(split.sections));
	for (; dwarf_unit_header(dwarf, offset, &unit) == 0; offset = unit.end) {
		int err = dwarf_unit_read(&unit, NULL, work);

		if (err == -ENOMEM || err == -ETIME)
			return err;
		if (err < 0 || unit.dwo_id == 0)
			continue;
		split.id = unit.dwo_id;
		split.start = unit.start;
		split.end = unit.end;
		err = add_split(units, &split);
		if (err < 0)
			return err;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct dwarf_split *x = a, *y = b;

	if (x->dwarf != y->dwarf)
		return x->dwarf < y->dwarf ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

int dwarf_splits_settle(struct dwarf_units *units)
{
	int err = 0;

	if (units->splits.len > 0)
		qsort(units->splits.data, units->splits.len, sizeof(*units->splits.data), by_place);
	for (size_t i = units->splits.len; i-- > 0 && err == 0;)
		err = hash_put(&units->splits_by_id, units->splits.data[i].id, i);
	return err;
}

struct dwarf_split *dwarf_splits_find(struct dwarf_units *units, uint64_t id)
{
	uint64_t *at = units->splits.len ? hash_find(&units->splits_by_id, id) : NULL;

	return at ? &units->splits.data[*at] : NULL;
}

struct dwarf_split *dwarf_splits_at(
	struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset)
{
	const struct dwarf_split key = { .dwarf = dwarf, .start = offset };
	struct dwarf_split *split;
	size_t low = 0, high = units->splits.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_place(&units->splits.data[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	split = &units->splits.data[low - 1];
	return split->dwarf == dwarf && offset < split->end ? split : NULL;
}
