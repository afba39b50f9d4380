/* SPDX-License-Identifier: Apache-2.0 */
/* elf/eh_frame.c - the records of .eh_frame and .debug_frame, CIEs and FDEs.
 * A malformed FDE costs only its own function's rows; only a broken chain of record lengths ends
 * the walk. A CIE is parsed when an FDE first refers to it and kept, good or bad, in a small cache
 * by its offset. If each FDE evicts the next one's CIE they are parsed again and again: so the
 * bytes that are read of them are limited. unwind/rows_build.c handles overlaps and offsets. */
#include "elf/eh_frame.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "elf/image.h"

#define LENGTH_64 0xffffffffU
#define LENGTH_RESERVED 0xfffffff0U
#define DEBUG_CIE_32 0xffffffffU
#define DEBUG_CIE_64 UINT64_MAX
#define ADDRESS_BYTES 8
#define AUGMENTATION_MAX 8
#define CIE_BYTES_MAX 1024
#define CIE_CACHE_LEN 128 /* a power of two */
#define CIE_READS_MAX 2   /* of the bytes of all records; a linker leaves a few CIEs */

/* Where one record's parts are; offsets count from the section's first byte. */
struct record {
	size_t id_offset; /* what .eh_frame's CIE pointer counts back from */
	uint64_t id;
	struct cursor body; /* what follows the id */
	size_t body_offset;
	bool is_cie;
};

struct cached_cie {
	size_t offset;
	bool used;
	bool bad;
	struct cfi_cie cie;
};

struct walk {
	const struct eh_frame *eh;
	struct cfi_machine machine;
	struct cached_cie cies[CIE_CACHE_LEN];
	uint64_t cies_bytes; /* parsed */
	eh_frame_fn fn;
	void *arg;
	struct eh_frame_stats *stats;
	bool ranges_only;
};

static void walk_free(struct walk *w)
{
	if (w)
		cfi_machine_done(&w->machine);
	free(w);
}

DEFINE_CLEANUP(struct walk, walk_free)

/* One record off the section. 0: done; 1: a record of length 0; -EBADMSG. */
static int read_record(const struct eh_frame *eh, struct cursor *c, struct record *out)
{
	struct record r = { 0 };
	uint64_t length = cursor_u32(c);
	bool wide = length == LENGTH_64;

	if (wide)
		length = cursor_u64(c);
	else if (length >= LENGTH_RESERVED)
		return -EBADMSG;
	if (c->bad)
		return -EBADMSG;
	if (length == 0)
		return 1;
	r.id_offset = cursor_offset(c);
	r.body = cursor_sub(c, length);
	/* The 64-bit format widens the length alone in .eh_frame. */
	wide = wide && eh->debug_frame;
	r.id = wide ? cursor_u64(&r.body) : cursor_u32(&r.body);
	if (r.body.bad)
		return -EBADMSG;
	r.body_offset = r.id_offset + cursor_offset(&r.body);
	r.body = cursor_sub(&r.body, cursor_left(&r.body));
	if (eh->debug_frame)
		r.is_cie = r.id == (wide ? DEBUG_CIE_64 : DEBUG_CIE_32);
	else
		r.is_cie = r.id == 0;
	*out = r;
	return 0;
}

static struct cfi_bases bases_of(const struct eh_frame *eh, const struct record *r)
{
	return (struct cfi_bases){ .section = eh->vaddr + r->body_offset };
}

/* The letters after 'z', each with its data. An unknown letter may have data of unknown length,
 * and so what follows could not be trusted. */
static int read_augmentation(
	struct cfi_cie *cie, const char *letters, struct cursor *c, const struct cfi_bases *bases)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = cursor_u8(c);
			break;
		case 'P':
			cfi_pointer_skip(c, cursor_u8(c), bases);
			break;
		case 'L':
			cursor_u8(c);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		case 'B': /* return addresses are signed with key B */
		case 'G': /* tagged stack memory */
			break;
		default:
			return -EBADMSG;
		}
	}
	return c->bad ? -EBADMSG : 0;
}

/* The fixed part of a CIE, up to its augmentation data. */
static int read_cie_head(
	const struct eh_frame *eh, struct cursor *c, struct cfi_cie *cie, const char **letters)
{
	uint8_t version = cursor_u8(c);

	*letters = cursor_str(c);
	if (version != 1 && version != 3 && !(version == 4 && eh->debug_frame))
		return -EBADMSG;
	if (strncmp(*letters, "eh", 2) == 0) {
		/* Of compilers before "z": the address of an exception table. */
		cursor_skip(c, ADDRESS_BYTES);
		*letters += 2;
	}
	if (version == 4) {
		uint8_t address_size = cursor_u8(c);
		uint8_t segment_size = cursor_u8(c);

		if (address_size != ADDRESS_BYTES || segment_size != 0)
			return -EBADMSG;
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	cie->ra = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	return c->bad || strnlen(*letters, AUGMENTATION_MAX + 1) > AUGMENTATION_MAX ? -EBADMSG : 0;
}

static int parse_cie(struct walk *w, size_t offset, struct cfi_cie *out)
{
	struct cursor c = cursor_init(w->eh->data.data, w->eh->data.len);
	struct cfi_cie cie = { .pointer_encoding = DW_EH_PE_absptr };
	struct cfi_bases bases;
	const char *letters;
	struct record r;
	int err;

	cursor_seek(&c, offset);
	if (read_record(w->eh, &c, &r) != 0 || !r.is_cie || cursor_left(&r.body) > CIE_BYTES_MAX)
		return -EBADMSG;
	w->cies_bytes += cursor_offset(&c) - offset;
	bases = bases_of(w->eh, &r);
	err = read_cie_head(w->eh, &r.body, &cie, &letters);
	if (err < 0)
		return err;
	if (*letters == 'z') {
		size_t size = cursor_uleb(&r.body);
		struct cursor data;

		bases.section += cursor_offset(&r.body);
		data = cursor_sub(&r.body, size);
		cie.augmented = true;
		err = read_augmentation(&cie, letters + 1, &data, &bases);
		if (err < 0)
			return err;
	} else if (*letters) {
		return -EBADMSG;
	}
	if (!cfi_pointer_readable(cie.pointer_encoding, &bases))
		return -EBADMSG;
	err = cfi_machine_run_cie(&w->machine, &cie, cursor_sub(&r.body, cursor_left(&r.body)));
	if (err < 0)
		return err;
	*out = cie;
	return 0;
}

/* NULL: malformed. */
static const struct cfi_cie *find_cie(struct walk *w, size_t offset)
{
	struct cached_cie *slot = &w->cies[(offset >> 2) & (CIE_CACHE_LEN - 1)];

	if (!slot->used || slot->offset != offset) {
		slot->used = true;
		slot->offset = offset;
		slot->bad = parse_cie(w, offset, &slot->cie) < 0;
	}
	return slot->bad ? NULL : &slot->cie;
}

static const struct cfi_cie *fde_cie(struct walk *w, const struct record *r)
{
	if (w->eh->debug_frame)
		return r->id < w->eh->data.len ? find_cie(w, (size_t)r->id) : NULL;
	return r->id <= r->id_offset ? find_cie(w, r->id_offset - (size_t)r->id) : NULL;
}

static int parse_fde(struct walk *w, struct record *r, struct eh_frame_fde *out)
{
	const struct cfi_cie *cie = fde_cie(w, r);
	struct cfi_bases bases = bases_of(w->eh, r);
	uint64_t start, size;
	struct cursor program;
	int err;

	if (!cie)
		return -EBADMSG;
	start = cfi_pointer_read(&r->body, cie->pointer_encoding, &bases);
	/* The size has the format of the pointer and no base. */
	size = cfi_pointer_read(&r->body, cie->pointer_encoding & 0x0f, &bases);
	if (cie->augmented)
		cursor_skip(&r->body, cursor_uleb(&r->body));
	if (r->body.bad || size > UINT32_MAX || start > UINT64_MAX - size)
		return -EBADMSG;
	out->start = start;
	out->size = (uint32_t)size;
	if (size == 0 || w->ranges_only)
		return 0;
	bases.section += cursor_offset(&r->body);
	program = cursor_sub(&r->body, cursor_left(&r->body));
	err = cfi_machine_run_fde(&w->machine, cie, program, &bases, start, out->size);
	if (err < 0)
		return err;
	out->rows = w->machine.rows.data;
	out->rows_len = w->machine.rows.len;
	return 0;
}

static int visit_fde(struct walk *w, struct record *r)
{
	struct eh_frame_fde fde = { 0 };
	int err = parse_fde(w, r, &fde);

	w->stats->fdes++;
	if (err == -EBADMSG) {
		w->stats->fdes_bad++;
		return 0;
	}
	if (err < 0)
		return err;
	if (fde.size == 0) {
		w->stats->fdes_empty++;
		return 0;
	}
	return w->fn(w->arg, &fde);
}

static int visit_records(struct walk *w)
{
	struct cursor c = cursor_init(w->eh->data.data, w->eh->data.len);

	/* Fewer bytes than a length takes are padding. */
	while (cursor_left(&c) >= sizeof(uint32_t)) {
		struct record r;
		int err = read_record(w->eh, &c, &r);

		if (w->cies_bytes > CIE_READS_MAX * (uint64_t)w->eh->data.len)
			return -EBADMSG;
		if (err == 1 && w->eh->ends_at_zero)
			return 0;
		if (err == 0 && !r.is_cie)
			err = visit_fde(w, &r);
		if (err < 0)
			return err;
	}
	return 0;
}

static int walk(const struct eh_frame *eh, bool ranges_only, eh_frame_fn fn, void *arg,
	struct eh_frame_stats *stats)
{
	_cleanup_(walk_freep) struct walk *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->eh = eh;
	w->fn = fn;
	w->arg = arg;
	w->stats = stats;
	w->ranges_only = ranges_only;
	w->machine.arch = cfi_arch_find(eh->machine);
	if (!w->machine.arch)
		return -ENOTSUP;
	err = visit_records(w);
	for (size_t i = 0; i < CFI_LOST_MAX; i++)
		stats->lost[i] += w->machine.lost[i];
	return err;
}

int eh_frame_walk(
	const struct eh_frame *eh, eh_frame_fn fn, void *arg, struct eh_frame_stats *stats)
{
	return walk(eh, false, fn, arg, stats);
}

int eh_frame_walk_ranges(
	const struct eh_frame *eh, eh_frame_fn fn, void *arg, struct eh_frame_stats *stats)
{
	return walk(eh, true, fn, arg, stats);
}

struct eh_frame_reader {
	struct eh_frame eh;
	struct walk walk;
};

int eh_frame_reader_new(const struct eh_frame *eh, struct eh_frame_reader **out)
{
	struct eh_frame_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->eh = *eh;
	reader->walk = (struct walk){ .eh = &reader->eh, .ranges_only = true };
	reader->walk.machine.arch = cfi_arch_find(eh->machine);
	if (!reader->walk.machine.arch) {
		free(reader);
		return -ENOTSUP;
	}
	*out = reader;
	return 0;
}

void eh_frame_reader_free(struct eh_frame_reader *reader)
{
	if (reader)
		cfi_machine_done(&reader->walk.machine);
	free(reader);
}

static int read_one(struct eh_frame_reader *reader, size_t offset, struct eh_frame_fde *out,
	size_t *record_bytes)
{
	struct cursor c = cursor_init(reader->eh.data.data, reader->eh.data.len);
	struct eh_frame_fde fde = { 0 };
	uint64_t cies_bytes = reader->walk.cies_bytes;
	struct record r;
	int err;

	cursor_seek(&c, offset);
	if (c.bad || read_record(&reader->eh, &c, &r) != 0 || r.is_cie)
		return -EBADMSG;
	err = parse_fde(&reader->walk, &r, &fde);
	*record_bytes = cursor_offset(&c) - offset + (reader->walk.cies_bytes - cies_bytes);
	if (err < 0)
		return err;
	*out = fde;
	return 0;
}

int eh_frame_read_range(struct eh_frame_reader *reader, size_t offset, struct eh_frame_fde *out)
{
	size_t record_bytes;

	reader->walk.ranges_only = true;
	return read_one(reader, offset, out, &record_bytes) < 0 ? -EBADMSG : 0;
}

int eh_frame_read_rows(struct eh_frame_reader *reader, size_t offset, struct eh_frame_fde *out,
	size_t *record_bytes)
{
	reader->walk.ranges_only = false;
	return read_one(reader, offset, out, record_bytes);
}

const uint32_t *eh_frame_reader_lost(const struct eh_frame_reader *reader)
{
	return reader->walk.machine.lost;
}

/* From a vaddr to the end of its segment's bytes. */
static int bytes_from(struct image *image, uint64_t vaddr, struct bytes *out)
{
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);
		struct cursor c = cursor_init(image->file.data, image->file.len);

		if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		cursor_seek(&c, s->file_offset);
		cursor_skip(&c, vaddr - s->vaddr);
		*out = cursor_bytes(&c, s->file_size - (vaddr - s->vaddr));
		return c.bad ? -EBADMSG : 0;
	}
	return -EBADMSG;
}

/* .eh_frame_hdr: version, three encodings, then the pointer to .eh_frame. */
static int find_by_header(struct image *image, uint64_t header, struct eh_frame *out)
{
	struct cfi_bases bases = { .section = header, .data = header, .data_known = true };
	struct eh_frame eh = { .machine = image->machine, .ends_at_zero = true };
	struct bytes bytes;
	struct cursor c;
	uint8_t encoding;
	int err = bytes_from(image, header, &bytes);

	if (err < 0)
		return err;
	c = cursor_init(bytes.data, bytes.len);
	if (cursor_u8(&c) != 1)
		return -EBADMSG;
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2);
	eh.vaddr = cfi_pointer_read(&c, encoding, &bases);
	if (c.bad)
		return -EBADMSG;
	err = bytes_from(image, eh.vaddr, &eh.data);
	if (err < 0)
		return err;
	*out = eh;
	return 0;
}

static int find_by_name(struct image *image, const char *name, struct eh_frame *out)
{
	const struct image_section *section = image_section_find(image, name);
	struct eh_frame eh = { .machine = image->machine };
	int err;

	if (!section)
		return -ENODATA;
	err = image_section_bytes(image, section, &eh.data);
	if (err < 0)
		return err;
	eh.vaddr = section->vaddr;
	*out = eh;
	return 0;
}

int eh_frame_find(struct image *image, struct eh_frame *out)
{
	/* In a separate debug file the section is there without bytes, and what its program headers
	 * lead to is something else. */
	if (image_section_find(image, ".eh_frame"))
		return find_by_name(image, ".eh_frame", out);
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);

		if (s->type == PT_GNU_EH_FRAME)
			return find_by_header(image, s->vaddr, out);
	}
	return -ENODATA;
}

int eh_frame_find_debug(struct image *image, struct eh_frame *out)
{
	int err = find_by_name(image, ".debug_frame", out);

	if (err < 0)
		return err;
	out->debug_frame = true;
	out->vaddr = 0;
	return 0;
}
