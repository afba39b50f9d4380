/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_frames.c - translates between file offsets and the addresses of FDEs.
 * Invariant: an offset has one extent, whatever was asked before, and extents of different offsets
 * are equal or disjoint. elf/eh_table.c and elf/eh_frame.c read the section. */
#include "sym/elf_frames.h"

#include <elf.h>
#include <errno.h>

#include "base/radix.h"
#include "elf/eh_frame.h"

#define NEAR_BYTES (1U << 16) /* about what the kernel maps at a fault */
#define JUMPS_PER_PASS 32

size_t elf_ranges_find(const struct elf_range *all, size_t len, uint64_t offset)
{
	size_t low = 0, high = len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int elf_ranges_settle(struct elf_range *all, size_t *len, bool join)
{
	size_t kept = 0;

	if (*len == 0)
		return 0;
	if (radix_sort32(all, *len, sizeof(*all)) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < *len; i++) {
		struct elf_range *last = &all[kept];

		if (all[i].start == last->start || (join && all[i].start < last->end)) {
			last->end = all[i].end > last->end ? all[i].end : last->end;
			continue;
		}
		if (last->end > all[i].start)
			last->end = all[i].start;
		all[++kept] = all[i];
	}
	*len = kept + 1;
	return 0;
}

/* ---- all records ----------------------------------------------------------------------------- */

struct reader {
	const struct image_segment *code; /* of the last FDE, mostly of the next one too */
	struct elf_frames *frames;
};

static int on_frame(void *arg, const struct eh_frame_fde *fde)
{
	struct reader *reader = arg;
	const struct image_segment *code = reader->code;
	struct elf_range *added;
	uint64_t start, size;

	if (!code || fde->start < code->vaddr || fde->start - code->vaddr >= code->file_size)
		reader->code = code = image_vaddr_segment(reader->frames->image, fde->start);
	if (!code || !(code->flags & PF_X))
		return 0;
	start = fde->start - code->vaddr + code->file_offset;
	size = code->file_size - (fde->start - code->vaddr);
	size = fde->size < size ? fde->size : size;
	if (start >= UINT32_MAX - size || reader->frames->all.len >= ELF_FRAMES_MAX) {
		reader->frames->dropped++;
		return 0;
	}
	added = vec_add(&reader->frames->all);
	if (!added)
		return -ENOMEM;
	*added = (struct elf_range){ (uint32_t)start, (uint32_t)(start + size) };
	return 0;
}

static int read_all(struct image *image, struct elf_frames *frames)
{
	struct reader reader = { .frames = frames };
	struct eh_frame_stats stats = { 0 };
	struct eh_frame eh;
	int err = eh_frame_find(image, &eh);

	if (err == 0)
		err = eh_frame_walk_ranges(&eh, on_frame, &reader, &stats);
	return err == -ENOMEM ? err : elf_ranges_settle(frames->all.data, &frames->all.len, false);
}

/* ---- public ---------------------------------------------------------------------------------- */

int elf_frames_open(struct image *image, struct elf_frames *out)
{
	int err;

	*out = (struct elf_frames){ .image = image };
	err = eh_table_open(image, &out->table);
	if (err == -ENODATA)
		err = read_all(image, out);
	out->any = out->table.len > 0 || out->all.len > 0;
	image_pass(image);
	return err;
}

void elf_frames_done(struct elf_frames *frames)
{
	eh_table_done(&frames->table);
	vec_done(&frames->all);
}

static struct elf_extent find_read(const struct elf_frames *frames, uint32_t offset)
{
	const struct elf_range *all = frames->all.data;
	size_t i = elf_ranges_find(all, frames->all.len, offset);
	bool last = i == frames->all.len;

	if (!last && all[i].start <= offset)
		return (struct elf_extent){ all[i].start, all[i].end, true };
	return (struct elf_extent){ .start = i > 0 ? all[i - 1].end : 0,
		.end = last ? UINT32_MAX : all[i].start };
}

/* The code segment at the offset. NULL: *out is the run of bytes between such segments. */
static const struct image_segment *find_code(
	const struct image *image, uint32_t offset, struct elf_extent *out)
{
	*out = (struct elf_extent){ .end = UINT32_MAX };
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);
		uint64_t end = s->file_offset + s->file_size;

		if (s->type != PT_LOAD || !(s->flags & PF_X) || s->file_size == 0 ||
			end < s->file_offset)
			continue;
		if (offset >= s->file_offset && offset < end)
			return s;
		if (s->file_offset > offset && s->file_offset < out->end)
			out->end = (uint32_t)s->file_offset;
		if (end <= offset && end > out->start)
			out->start = (uint32_t)end;
	}
	return NULL;
}

/* Each place far from the last one is another page of the table and one of the FDEs. */
static void pass(struct elf_frames *frames, uint32_t offset)
{
	if (offset - frames->last + NEAR_BYTES > 2 * NEAR_BYTES &&
		++frames->jumps % JUMPS_PER_PASS == 0)
		image_pass(frames->image);
	frames->last = offset;
}

struct elf_extent elf_frames_find(struct elf_frames *frames, uint32_t offset)
{
	const struct image_segment *code;
	struct eh_extent found;
	struct elf_extent out;
	uint64_t before, after, vaddr;

	if (frames->table.len == 0)
		return find_read(frames, offset);
	pass(frames, offset);
	code = find_code(frames->image, offset, &out);
	if (!code)
		return out;
	before = offset - code->file_offset;
	after = code->file_size - before;
	vaddr = code->vaddr + before;
	found = eh_table_find(&frames->table, vaddr);
	out.function = found.function;
	out.start =
		offset - (uint32_t)(vaddr - found.start < before ? vaddr - found.start : before);
	after = found.end - vaddr < after ? found.end - vaddr : after;
	out.end = after < UINT32_MAX - offset ? offset + (uint32_t)after : UINT32_MAX;
	return out;
}
