/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_index.c - a page is a range of file offsets, and so one of addresses in each
 * executable segment that has a part of it. Its rows depend on the functions that begin in it, on
 * those before that reach into it, and on the next one, as a short gap before it is padding.
 * An entry that shows something else than its FDE spoils the table, and its file is compiled whole.
 */
#include "unwind/rows_index.h"

#include <elf.h>
#include <errno.h>

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/rows.h"

/* A function may lie in another one. So many starts before a page are looked at. */
#define ENTRIES_BEFORE 16
/* So many bytes of records are read for a page, besides those of all records twice a request. */
#define PAGE_BYTES_MAX (64U << 10)
#define READS_MAX 2

static bool is_code(const struct image_segment *s)
{
	return s->type == PT_LOAD && (s->flags & PF_X) && s->file_size > 0;
}

/* Has it code that the table does not list? */
static bool has_more(struct image *image)
{
	struct gopclntab go;

	return image_section_find(image, ".debug_frame") || gopclntab_init(&go, image) != -ENOENT;
}

static uint32_t page_of(const struct image_segment *s, uint64_t vaddr)
{
	return (uint32_t)((s->file_offset + (vaddr - s->vaddr)) >> ROWS_PAGE_SHIFT);
}

static void add_page(struct rows_outline *out, uint32_t page)
{
	if (out->len == 0) {
		out->first = page;
		out->len = 1;
	}
	if (page < out->first) {
		out->len += out->first - page;
		out->first = page;
	}
	if (page - out->first >= out->len)
		out->len = page - out->first + 1;
}

/* The end of a segment's last functions, as far as their records say. */
static uint64_t end_of(struct eh_table *table, size_t begin, size_t end)
{
	uint64_t most = 0;

	for (size_t i = end; i > begin && end - i < ENTRIES_BEFORE; i--) {
		struct eh_frame_fde fde;
		size_t record_bytes;

		if (eh_table_read(table, i - 1, &fde, &record_bytes) == 0 &&
			fde.start + fde.size > most)
			most = fde.start + fde.size;
	}
	return most;
}

static void outline_segment(
	struct eh_table *table, const struct image_segment *s, struct rows_outline *out)
{
	size_t begin = eh_table_below(table, s->vaddr), i = begin;
	size_t end = eh_table_below(table, s->vaddr + s->file_size);
	uint64_t last = s->vaddr + s->file_size - 1, until;
	uint32_t before = UINT32_MAX;

	for (; i < end; i++) {
		uint64_t start = eh_table_start(table, i);
		uint32_t page = page_of(s, start);

		/* A function without a caller begins a byte early. */
		if (i == begin)
			add_page(out, page_of(s, start > s->vaddr ? start - 1 : start));
		out->used += page != before;
		before = page;
		add_page(out, page);
	}
	until = end_of(table, begin, end);
	if (until > s->vaddr)
		add_page(out, page_of(s, until - 1 < last ? until - 1 : last));
}

static bool is_sound(const struct image_segment *s)
{
	return s->file_offset <= FRAME_OFFSET_MASK &&
		s->file_size <= FRAME_OFFSET_MASK - s->file_offset &&
		s->vaddr <= UINT64_MAX - s->file_size;
}

/* Pages of a part that two segments show would be counted twice. */
static bool overlaps_code_before(struct image *image, size_t i)
{
	const struct image_segment *s = image_segment(image, i);

	for (size_t j = 0; j < i; j++) {
		const struct image_segment *t = image_segment(image, j);

		if (is_code(t) && t->file_offset < s->file_offset + s->file_size &&
			s->file_offset < t->file_offset + t->file_size)
			return true;
	}
	return false;
}

int rows_index_outline(struct image *image, struct rows_outline *out)
{
	struct rows_outline outline = { 0 };
	struct eh_table table;
	int err = has_more(image) ? -ENODATA : eh_table_open(image, &table);

	if (err < 0)
		return err;
	for (size_t i = 0; i < image_segments(image) && err == 0; i++) {
		const struct image_segment *s = image_segment(image, i);

		if (is_code(s) && is_sound(s) && !overlaps_code_before(image, i))
			outline_segment(&table, s, &outline);
		else if (is_code(s))
			err = -ENODATA;
	}
	eh_table_done(&table);
	/* Two segments may begin and end in one page. */
	if (outline.used > outline.len)
		outline.used = outline.len;
	if (err < 0 || outline.len == 0 ||
		!unwind_rows_span_fits(
			outline.first, outline.first + outline.len - 1, outline.used))
		return -ENODATA;
	*out = outline;
	return 0;
}

int rows_index_open(struct image *image, struct rows_index *out)
{
	struct rows_index index = { .image = image };
	struct eh_frame eh;
	int err = eh_frame_find(image, &eh);

	if (err == 0)
		err = eh_table_open_again(image, &index.table);
	if (err < 0)
		return err == -ENOMEM ? err : -ENODATA;
	index.bytes_max = READS_MAX * (uint64_t)eh.data.len;
	*out = index;
	return 0;
}

void rows_index_done(struct rows_index *index)
{
	eh_table_done(&index->table);
}

static int visit(struct rows_index *index, size_t i, eh_frame_fn fn, void *arg,
	struct eh_frame_stats *stats)
{
	struct eh_frame_fde fde;
	size_t record_bytes = 0;
	int err = eh_table_read(&index->table, i, &fde, &record_bytes);

	index->bytes_read += record_bytes;
	if (index->bytes_read > index->bytes_max || err == -ESTALE)
		return -EBADMSG;
	stats->fdes++;
	stats->fdes_bad += err == -EBADMSG;
	if (err < 0)
		return err == -EBADMSG ? 0 : err;
	stats->fdes_empty += fde.size == 0;
	return fde.size > 0 ? fn(arg, &fde) : 0;
}

/* The functions of a range of addresses, [start, end). */
static int walk_range(struct rows_index *index, uint64_t start, uint64_t end, eh_frame_fn fn,
	void *arg, struct eh_frame_stats *stats)
{
	size_t from = eh_table_below(&index->table, start);
	size_t to = eh_table_below(&index->table, end);
	int err = 0;

	from -= from < ENTRIES_BEFORE ? from : ENTRIES_BEFORE;
	to += to < index->table.len;
	for (size_t i = from; i < to && err == 0; i++)
		err = visit(index, i, fn, arg, stats);
	return err;
}

int rows_index_walk(struct rows_index *index, uint32_t page, eh_frame_fn fn, void *arg,
	struct eh_frame_stats *stats)
{
	/* Records near the page's ends decide about gaps there. */
	uint64_t low = (uint64_t)page << ROWS_PAGE_SHIFT, high = low + (1ULL << ROWS_PAGE_SHIFT);
	int err = 0;

	index->bytes_max += PAGE_BYTES_MAX;
	low -= low < UNWIND_ROWS_GAP ? low : UNWIND_ROWS_GAP;
	high += UNWIND_ROWS_GAP;
	for (size_t i = 0; i < image_segments(index->image) && err == 0; i++) {
		const struct image_segment *s = image_segment(index->image, i);
		uint64_t from = low > s->file_offset ? low : s->file_offset;
		uint64_t to = high - s->file_offset < s->file_size ? high
								   : s->file_offset + s->file_size;

		if (is_code(s) && is_sound(s) && high > s->file_offset && from < to)
			err = walk_range(index, s->vaddr + (from - s->file_offset),
				s->vaddr + (to - s->file_offset), fn, arg, stats);
	}
	for (size_t i = 0; i < CFI_LOST_MAX; i++)
		stats->lost[i] = eh_frame_reader_lost(index->table.reader)[i];
	return err;
}
