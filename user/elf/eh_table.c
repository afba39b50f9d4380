/* SPDX-License-Identifier: Apache-2.0 */
/* elf/eh_table.c - a binary search over pairs of 32-bit numbers, all relative to the header.
 * Invariant: the starts are sorted; a file whose table is not is refused when it is opened, so each
 * address has one answer, however it is reached. elf/eh_frame.c reads the FDEs. */
#include "elf/eh_table.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>

#include "elf/cfi_pointer.h"
#include "elf/eh_frame.h"
#include "elf/image.h"

#define ENTRY_BYTES 8
#define SAME_START_MAX 8 /* FDEs of one start that are read */
#define ENCODING (DW_EH_PE_datarel | DW_EH_PE_sdata4)

static uint64_t find_header(const struct image *image)
{
	const struct image_section *section = image_section_find(image, ".eh_frame_hdr");

	for (size_t i = 0; !section && i < image_segments(image); i++)
		if (image_segment(image, i)->type == PT_GNU_EH_FRAME)
			return image_segment(image, i)->vaddr;
	return section && section->type != SHT_NOBITS ? section->vaddr : 0;
}

/* The numbers of entry i: 0 its start, 1 its FDE; relative to the header. */
static int64_t number_at(const struct eh_table *table, size_t i, size_t which)
{
	struct cursor c = cursor_init(table->entries.data, table->entries.len);

	cursor_seek(&c, i * ENTRY_BYTES + which * sizeof(uint32_t));
	return (int32_t)cursor_u32(&c);
}

static int read_header(const struct image *image, struct eh_table *out)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);
	struct cfi_bases bases = { .data = find_header(image), .data_known = true };
	uint64_t offset, count;
	uint8_t frame, number;

	if (bases.data == 0 || !image_vaddr_to_offset(image, bases.data, &offset))
		return -ENODATA;
	cursor_seek(&c, offset);
	if (cursor_u8(&c) != 1)
		return -ENODATA;
	frame = cursor_u8(&c);
	number = cursor_u8(&c);
	if (cursor_u8(&c) != ENCODING)
		return -ENODATA;
	bases.section = bases.data + 4;
	cfi_pointer_read(&c, frame, &bases);
	bases.section = bases.data + (cursor_offset(&c) - offset);
	count = cfi_pointer_read(&c, number, &bases);
	if (c.bad || count == 0 || count > cursor_left(&c) / ENTRY_BYTES)
		return -ENODATA;
	out->vaddr = bases.data;
	out->len = (size_t)count;
	out->entries = cursor_bytes(&c, out->len * ENTRY_BYTES);
	return 0;
}

static bool is_sorted(const struct eh_table *table)
{
	struct cursor c = cursor_init(table->entries.data, table->entries.len);
	int32_t before = INT32_MIN;

	for (size_t i = 0; i < table->len; i++) {
		int32_t start = (int32_t)cursor_u32(&c);

		if (start < before)
			return false;
		before = start;
		cursor_skip(&c, sizeof(uint32_t));
	}
	return true;
}

static int open_table(struct image *image, bool again, struct eh_table *out)
{
	struct eh_table table = { 0 };
	struct eh_frame eh;
	int err;

	if (read_header(image, &table) < 0 || !(again || is_sorted(&table)) ||
		eh_frame_find(image, &eh) < 0)
		return -ENODATA;
	table.frame_vaddr = eh.vaddr;
	err = eh_frame_reader_new(&eh, &table.reader);
	if (err < 0)
		return err == -ENOMEM ? err : -ENODATA;
	*out = table;
	return 0;
}

int eh_table_open(struct image *image, struct eh_table *out)
{
	return open_table(image, false, out);
}

int eh_table_open_again(struct image *image, struct eh_table *out)
{
	return open_table(image, true, out);
}

void eh_table_done(struct eh_table *table)
{
	eh_frame_reader_free(table->reader);
	*table = (struct eh_table){ 0 };
}

/* The number of starts at or before `at`, mostly that of the last call or one more. */
static size_t count_until(struct eh_table *table, int64_t at)
{
	size_t low = 0, high = table->len;

	for (size_t i = table->last; i <= table->last + 1 && i <= table->len; i++)
		if ((i == 0 || number_at(table, i - 1, 0) <= at) &&
			(i == table->len || number_at(table, i, 0) > at))
			return table->last = i;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (number_at(table, middle, 0) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return table->last = low;
}

size_t eh_table_below(struct eh_table *table, uint64_t vaddr)
{
	return count_until(table, (int64_t)(vaddr - table->vaddr) - 1);
}

uint64_t eh_table_start(const struct eh_table *table, size_t i)
{
	return table->vaddr + (uint64_t)number_at(table, i, 0);
}

/* The place of entry i's FDE in the section. */
static uint64_t fde_at(const struct eh_table *table, size_t i)
{
	return table->vaddr + (uint64_t)number_at(table, i, 1) - table->frame_vaddr;
}

int eh_table_read(struct eh_table *table, size_t i, struct eh_frame_fde *out, size_t *record_bytes)
{
	struct eh_frame_fde fde;
	int err = eh_frame_read_rows(table->reader, fde_at(table, i), &fde, record_bytes);

	if (err < 0)
		return err;
	if (fde.start != eh_table_start(table, i))
		return -ESTALE;
	*out = fde;
	return 0;
}

/* The size of entry i's function; 0: unknown. */
static uint64_t size_at(const struct eh_table *table, size_t i)
{
	struct eh_frame_fde range;

	if (eh_frame_read_range(table->reader, fde_at(table, i), &range) < 0 ||
		range.start != eh_table_start(table, i))
		return 0;
	return range.size;
}

struct eh_extent eh_table_find(struct eh_table *table, uint64_t vaddr)
{
	int64_t at = (int64_t)(vaddr - table->vaddr), start;
	size_t count = count_until(table, at);
	uint64_t size = 0;
	struct eh_extent out = { .end = UINT64_MAX };

	if (count < table->len)
		out.end = table->vaddr + (uint64_t)number_at(table, count, 0);
	if (count == 0)
		return out;
	start = number_at(table, count - 1, 0);
	for (size_t i = count; i > 0 && count - i < SAME_START_MAX; i--) {
		uint64_t one = number_at(table, i - 1, 0) == start ? size_at(table, i - 1) : 0;

		size = one > size ? one : size;
	}
	out.function = (uint64_t)(at - start) < size;
	out.start = table->vaddr + (uint64_t)start + (out.function ? 0 : size);
	if (out.function && size < out.end - (table->vaddr + (uint64_t)start))
		out.end = table->vaddr + (uint64_t)start + size;
	return out;
}
