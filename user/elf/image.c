/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image.c - ELF headers, read field by field.
 * Invariant: the arrays hold copies of the file's segment and section headers. Their offsets and
 * sizes are still the file's claims; image_section_bytes() and the two translations check a claim
 * against the bytes. Own code rather than libelf: nothing here can write to the mapping, and a
 * second image costs two small arrays. Other files of this folder interpret the sections. */
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "elf/inflate.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* newer than some C libraries */
#endif

#define NAME_MAX_BYTES 256 /* so that no search for a NUL is long */

struct tables {
	uint64_t segments_at, sections_at;
	size_t segments_len, sections_len;
	uint16_t segment_size, section_size;
	uint32_t names_index;
};

/* Elf32_Addr or Elf64_Addr; so are offsets and most sizes. */
static uint64_t read_word(struct cursor *c, bool narrow)
{
	return narrow ? cursor_u32(c) : cursor_u64(c);
}

static int read_ident(struct cursor *c, bool *narrow, struct why *why)
{
	struct bytes ident = cursor_bytes(c, EI_NIDENT);

	if (ident.len < EI_NIDENT || memcmp(ident.data, ELFMAG, SELFMAG) != 0)
		return why_set(why, -ENOEXEC, "not an ELF file");
	if (ident.data[EI_CLASS] != ELFCLASS64 && ident.data[EI_CLASS] != ELFCLASS32)
		return why_set(why, -ENOEXEC, "an ELF file of class %u", ident.data[EI_CLASS]);
	if (ident.data[EI_DATA] != ELFDATA2LSB)
		return why_set(why, -ENOEXEC,
			"a big-endian ELF file; only little-endian files are supported");
	*narrow = ident.data[EI_CLASS] == ELFCLASS32;
	return 0;
}

static int read_header(struct image *image, struct cursor *c, struct tables *t, struct why *why)
{
	int err = read_ident(c, &image->narrow, why);

	if (err < 0)
		return err;
	image->type = cursor_u16(c);
	image->machine = cursor_u16(c);
	cursor_u32(c); /* e_version */
	image->entry = read_word(c, image->narrow);
	t->segments_at = read_word(c, image->narrow);
	t->sections_at = read_word(c, image->narrow);
	cursor_u32(c); /* e_flags */
	cursor_u16(c); /* e_ehsize */
	t->segment_size = cursor_u16(c);
	t->segments_len = cursor_u16(c);
	t->section_size = cursor_u16(c);
	t->sections_len = cursor_u16(c);
	t->names_index = cursor_u16(c);
	if (c->bad)
		return why_set(why, -EBADMSG, "the ELF header is truncated");
	return 0;
}

static struct image_section read_section(struct cursor *c, bool narrow, uint32_t *name)
{
	struct image_section s = { .name = "" };

	*name = cursor_u32(c);
	s.type = cursor_u32(c);
	s.flags = read_word(c, narrow);
	s.vaddr = read_word(c, narrow);
	s.file_offset = read_word(c, narrow);
	s.size = read_word(c, narrow);
	s.link = cursor_u32(c);
	s.info = cursor_u32(c);
	read_word(c, narrow); /* sh_addralign */
	s.entry_size = read_word(c, narrow);
	return s;
}

/* Counts that do not fit the ELF header are in section 0 (gABI, "Section header table"). */
static void read_extended_counts(struct cursor c, bool narrow, struct tables *t)
{
	struct image_section first;
	uint32_t name;

	if (t->sections_at == 0)
		return;
	cursor_seek(&c, t->sections_at);
	first = read_section(&c, narrow, &name);
	if (c.bad)
		return;
	if (t->sections_len == 0)
		t->sections_len = first.size;
	if (t->names_index == SHN_XINDEX)
		t->names_index = first.link;
	if (t->segments_len == PN_XNUM)
		t->segments_len = first.info;
}

/* A file that was cut, or lies: the segment ends where the bytes do. */
static uint64_t bytes_there(const struct image *image, const struct image_segment *s)
{
	size_t len = image->file.len;

	if (s->file_offset > len)
		return 0;
	return s->file_size < len - s->file_offset ? s->file_size : len - s->file_offset;
}

static int read_segments(
	struct image *image, struct cursor c, const struct tables *t, struct why *why)
{
	if (t->segments_at == 0 || t->segments_len == 0)
		return 0;
	if (t->segments_len > IMAGE_SEGMENTS_MAX ||
		t->segment_size != (image->narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)))
		return why_set(why, -EBADMSG, "%zu program headers of %u bytes", t->segments_len,
			t->segment_size);
	image->segments = calloc(t->segments_len, sizeof(*image->segments));
	if (!image->segments)
		return why_set(why, -ENOMEM, "out of memory");
	cursor_seek(&c, t->segments_at);
	for (size_t i = 0; i < t->segments_len; i++) {
		struct image_segment *s = &image->segments[i];

		s->type = cursor_u32(&c);
		if (!image->narrow)
			s->flags = cursor_u32(&c);
		s->file_offset = read_word(&c, image->narrow);
		s->vaddr = read_word(&c, image->narrow);
		read_word(&c, image->narrow); /* p_paddr */
		s->file_size = read_word(&c, image->narrow);
		s->mem_size = read_word(&c, image->narrow);
		if (image->narrow)
			s->flags = cursor_u32(&c);
		read_word(&c, image->narrow); /* p_align */
		s->file_size = bytes_there(image, s);
	}
	if (c.bad)
		return why_set(why, -EBADMSG, "the program headers are outside the file");
	image->segments_len = t->segments_len;
	return 0;
}

/* The string at an offset of a string section; "" where it leads nowhere or has no end soon. */
static const char *name_at(struct bytes text, uint32_t offset)
{
	struct cursor c = cursor_init(text.data, text.len);
	size_t left;

	cursor_seek(&c, offset);
	left = cursor_left(&c);
	c = cursor_sub(&c, left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
	return cursor_str(&c);
}

static void name_sections(struct image *image, const uint32_t *names, uint32_t names_index)
{
	const struct image_section *section = image_section_at(image, names_index);
	struct bytes text;

	if (!section || image_section_bytes(image, section, &text) < 0)
		return;
	for (size_t i = 0; i < image->sections_len; i++)
		image->sections[i].name = name_at(text, names[i]);
}

static int read_sections(
	struct image *image, struct cursor c, const struct tables *t, struct why *why)
{
	_cleanup_(freep) uint32_t *names = NULL;
	size_t entry_size = image->narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);

	if (t->sections_at == 0 || t->sections_len == 0)
		return 0;
	if (t->sections_len > IMAGE_SECTIONS_MAX || t->section_size != entry_size)
		return why_set(why, -EBADMSG, "%zu section headers of %u bytes", t->sections_len,
			t->section_size);
	cursor_seek(&c, t->sections_at);
	if (cursor_left(&c) / entry_size < t->sections_len)
		return why_set(why, -EBADMSG, "the section headers are outside the file");
	image->sections = calloc(t->sections_len, sizeof(*image->sections));
	names = calloc(t->sections_len, sizeof(*names));
	if (!image->sections || !names)
		return why_set(why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->sections_len; i++)
		image->sections[i] = read_section(&c, image->narrow, &names[i]);
	image->sections_len = t->sections_len;
	name_sections(image, names, t->names_index);
	return 0;
}

int image_init_part(struct image *image, const void *data, size_t len, struct why *why)
{
	struct image made = { .file = { data, len } };
	struct cursor c = cursor_init(data, len);
	struct tables tables = { 0 };
	int err;

	err = read_header(&made, &c, &tables, why);
	if (err < 0)
		return err;
	read_extended_counts(c, made.narrow, &tables);
	err = read_segments(&made, c, &tables, why);
	if (err == 0)
		err = read_sections(&made, c, &tables, why);
	if (err < 0) {
		image_done(&made);
		return err;
	}
	*image = made;
	return 0;
}

int image_init(struct image *image, const void *data, size_t len, struct why *why)
{
	struct image made = { 0 };
	int err = image_init_part(&made, data, len, why);

	if (err < 0)
		return err;
	if (made.type != ET_EXEC && made.type != ET_DYN) {
		err = why_set(why, -ENOEXEC, "an ELF file of type %u, neither program nor library",
			made.type);
		image_done(&made);
		return err;
	}
	*image = made;
	return 0;
}

void image_done(struct image *image)
{
	for (size_t i = 0; image->inflated && i < image->sections_len; i++)
		free((void *)image->inflated[i].data);
	free(image->inflated);
	free(image->sections);
	free(image->segments);
	*image = (struct image){ 0 };
}

size_t image_segments(const struct image *image)
{
	return image->segments_len;
}

const struct image_segment *image_segment(const struct image *image, size_t i)
{
	return &image->segments[i];
}

size_t image_sections(const struct image *image)
{
	return image->sections_len;
}

const struct image_section *image_section_at(const struct image *image, size_t index)
{
	return index < image->sections_len ? &image->sections[index] : NULL;
}

const struct image_section *image_section_find(const struct image *image, const char *name)
{
	for (size_t i = 1; i < image->sections_len; i++)
		if (strcmp(image->sections[i].name, name) == 0)
			return &image->sections[i];
	return NULL;
}

const struct image_section *image_section_by_type(const struct image *image, uint32_t type)
{
	for (size_t i = 1; i < image->sections_len; i++)
		if (image->sections[i].type == type)
			return &image->sections[i];
	return NULL;
}

/* gABI "Section Compression": Elf64_Chdr or Elf32_Chdr, then the stream. */
static int inflate_section(struct image *image, struct bytes in, struct bytes *slot)
{
	struct cursor c = cursor_init(in.data, in.len);
	uint32_t type = cursor_u32(&c);
	uint64_t size;
	_cleanup_(freep) uint8_t *out = NULL;
	int err;

	if (!image->narrow)
		cursor_u32(&c); /* ch_reserved */
	size = read_word(&c, image->narrow);
	read_word(&c, image->narrow); /* ch_addralign */
	if (c.bad)
		return -EBADMSG;
	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return -ENOTSUP;
	if (size > IMAGE_INFLATED_BYTES_MAX - image->inflated_bytes ||
		size / IMAGE_INFLATE_RATIO_MAX > cursor_left(&c))
		return -EFBIG;
	out = malloc(size + 1);
	if (!out)
		return -ENOMEM;
	in = cursor_bytes(&c, cursor_left(&c));
	err = type == ELFCOMPRESS_ZLIB ? inflate_zlib(in, out, size) : inflate_zstd(in, out, size);
	if (err < 0)
		return err;
	*slot = (struct bytes){ TAKE_PTR(out), size };
	image->inflated_bytes += size;
	return 0;
}

static int inflated_bytes(struct image *image, const struct image_section *section, struct bytes in,
	struct bytes *out)
{
	size_t index = (size_t)(section - image->sections);
	int err;

	if (!image->inflated)
		image->inflated = calloc(image->sections_len, sizeof(*image->inflated));
	if (!image->inflated)
		return -ENOMEM;
	if (!image->inflated[index].data) {
		err = inflate_section(image, in, &image->inflated[index]);
		if (err < 0)
			return err;
	}
	*out = image->inflated[index];
	return 0;
}

int image_section_bytes(struct image *image, const struct image_section *section, struct bytes *out)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);
	struct bytes raw;

	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return -ENODATA;
	cursor_seek(&c, section->file_offset);
	raw = cursor_bytes(&c, section->size);
	if (c.bad)
		return -EBADMSG;
	if (section->flags & SHF_COMPRESSED)
		return inflated_bytes(image, section, raw, out);
	*out = raw;
	return 0;
}

/* The PT_LOAD whose bytes in the file hold an address or an offset; `from` says where such a
 * segment's bytes begin in the numbers that at is one of. */
static const struct image_segment *find_load(
	const struct image *image, uint64_t at, uint64_t (*from)(const struct image_segment *))
{
	const struct image_segment *found = NULL;

	for (size_t i = 0; i < image->segments_len; i++) {
		const struct image_segment *s = &image->segments[i];

		if (s->type != PT_LOAD || at < from(s) || at - from(s) >= s->file_size)
			continue;
		if (s->flags & PF_X)
			return s;
		if (!found)
			found = s;
	}
	return found;
}

static uint64_t from_vaddr(const struct image_segment *s)
{
	return s->vaddr;
}

static uint64_t from_offset(const struct image_segment *s)
{
	return s->file_offset;
}

const struct image_segment *image_vaddr_segment(const struct image *image, uint64_t vaddr)
{
	return find_load(image, vaddr, from_vaddr);
}

bool image_vaddr_to_offset(const struct image *image, uint64_t vaddr, uint64_t *offset)
{
	const struct image_segment *s = image_vaddr_segment(image, vaddr);

	if (s)
		*offset = vaddr - s->vaddr + s->file_offset;
	return s != NULL;
}

bool image_offset_to_vaddr(const struct image *image, uint64_t offset, uint64_t *vaddr)
{
	const struct image_segment *s = find_load(image, offset, from_offset);

	if (s)
		*vaddr = offset - s->file_offset + s->vaddr;
	return s != NULL;
}

bool image_offset_is_code(const struct image *image, uint64_t offset)
{
	const struct image_segment *s = find_load(image, offset, from_offset);

	return s && (s->flags & PF_X);
}
