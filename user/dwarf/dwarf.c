/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf.c - finds sections by name, with or without the suffix of a split file. The image
 * decompresses them. Their contents are not examined here. */
#include "dwarf/dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_BYTES (64U << 10)

static const char *const names[DWARF_SECTIONS] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_LINE] = ".debug_line",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_CU_INDEX] = ".debug_cu_index",
};

static const struct image_section *find(const struct image *image, int section, bool split)
{
	char name[32];

	/* An index is not split itself. */
	if (!split || section == DWARF_CU_INDEX)
		return image_section_find(image, names[section]);
	snprintf(name, sizeof(name), "%s.dwo", names[section]);
	return image_section_find(image, name);
}

int dwarf_init(struct image *image, struct dwarf *out)
{
	struct dwarf dwarf = { .split = find(image, DWARF_INFO, true) != NULL };

	for (int i = 0; i < DWARF_SECTIONS; i++) {
		const struct image_section *section = find(image, i, dwarf.split);
		int err = 0;

		dwarf.sections[i].data = (const uint8_t *)"";
		if (section)
			err = image_section_bytes(image, section, &dwarf.sections[i]);
		if (err < 0 && err != -ENODATA)
			return err;
	}
	/* A shared file can be strings alone. */
	if (dwarf.sections[DWARF_INFO].len == 0 && dwarf.sections[DWARF_STR].len == 0)
		return -ENODATA;
	*out = dwarf;
	return 0;
}

bool dwarf_work_spend(struct dwarf_work *work, uint64_t bytes)
{
	if (bytes > work->bytes_left) {
		work->bytes_left = 0;
		return false;
	}
	work->bytes_left -= bytes;
	work->unasked += bytes;
	if (work->unasked < ASK_BYTES || !work->stop)
		return true;
	work->unasked = 0;
	work->stopped = work->stop(work->ctx);
	if (work->stopped)
		work->bytes_left = 0;
	return !work->stopped;
}

struct bytes dwarf_string(struct cursor *c)
{
	const char *text = cursor_str(c);

	return c->bad
		? (struct bytes){ 0 }
		: (struct bytes){ (const uint8_t *)text, (size_t)((const char *)c->at - text) - 1 };
}

struct bytes dwarf_string_at(struct bytes section, uint64_t offset)
{
	struct cursor c = cursor_init(section.data, section.len);

	cursor_seek(&c, offset);
	return dwarf_string(&c);
}

uint64_t dwarf_number(struct cursor *c, unsigned int size)
{
	uint64_t low;

	switch (size) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 3:
		low = cursor_u16(c);
		return low | (uint64_t)cursor_u8(c) << 16;
	case 4:
		return cursor_u32(c);
	case 8:
		return cursor_u64(c);
	default:
		c->bad = true;
		return 0;
	}
}
