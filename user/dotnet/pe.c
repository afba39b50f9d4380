/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/pe.c - DOS header, COFF header, optional header, section table, in this order. Invariant:
 * every section's bytes are within the file. Others read the directories' contents. */
#include "dotnet/pe.h"

#include <errno.h>

#define DOS_MAGIC 0x5a4d
#define DOS_HEADER_AT 0x3c
#define PE_MAGIC 0x00004550
#define OPTIONAL_32 0x10b
#define OPTIONAL_64 0x20b
#define SECTION_IS_CODE 0x20000000 /* IMAGE_SCN_MEM_EXECUTE */

struct layout {
	uint16_t sections;
	uint16_t optional_size;
};

static int read_coff(struct pe *pe, struct cursor *c, struct layout *layout, struct why *why)
{
	bool is_dos = cursor_u16(c) == DOS_MAGIC;

	cursor_seek(c, DOS_HEADER_AT);
	cursor_seek(c, cursor_u32(c));
	if (!is_dos || cursor_u32(c) != PE_MAGIC || c->bad)
		return why_set(why, -ENOEXEC, "not a PE file");
	pe->machine = cursor_u16(c);
	layout->sections = cursor_u16(c);
	cursor_skip(c, 12); /* time, symbols */
	layout->optional_size = cursor_u16(c);
	cursor_skip(c, 2); /* flags */
	return 0;
}

static int read_optional(struct pe *pe, struct cursor c, struct why *why)
{
	uint16_t magic = cursor_u16(&c);
	uint32_t n;

	if (magic != OPTIONAL_32 && magic != OPTIONAL_64)
		return why_set(why, -ENOEXEC, "a PE file of an unknown kind (0x%x)", magic);
	cursor_seek(&c, magic == OPTIONAL_64 ? 108 : 92);
	n = cursor_u32(&c);
	for (uint32_t i = 0; i < n && i < PE_DIRECTORIES; i++) {
		pe->directories[i].rva = cursor_u32(&c);
		pe->directories[i].size = cursor_u32(&c);
	}
	return c.bad ? why_set(why, -EBADMSG, "a PE file with a short header") : 0;
}

/* A section is cut at the file's end and at its own size in memory. */
static struct pe_section read_section(const struct pe *pe, struct cursor *c)
{
	struct pe_section s = { 0 };
	uint32_t virtual_size;

	cursor_skip(c, 8); /* name */
	virtual_size = cursor_u32(c);
	s.rva = cursor_u32(c);
	s.size = cursor_u32(c);
	s.file_offset = cursor_u32(c);
	cursor_skip(c, 12); /* relocations, lines */
	s.executable = cursor_u32(c) & SECTION_IS_CODE;
	if (virtual_size != 0 && virtual_size < s.size)
		s.size = virtual_size;
	if (s.file_offset > pe->file.len)
		s.size = 0;
	else if (s.size > pe->file.len - s.file_offset)
		s.size = (uint32_t)(pe->file.len - s.file_offset);
	return s;
}

int pe_init(struct pe *pe, const void *data, size_t len, struct why *why)
{
	struct pe p = { .file = { data, len } };
	struct cursor c = cursor_init(data, len), optional;
	struct layout layout = { 0 };
	int err = read_coff(&p, &c, &layout, why);

	if (err < 0)
		return err;
	optional = cursor_sub(&c, layout.optional_size);
	err = read_optional(&p, optional, why);
	if (err < 0)
		return err;
	if (layout.sections > PE_SECTIONS_MAX)
		return why_set(why, -EBADMSG, "a PE file of %u sections", layout.sections);
	for (uint32_t i = 0; i < layout.sections; i++)
		p.sections[i] = read_section(&p, &c);
	if (c.bad)
		return why_set(why, -EBADMSG, "a PE file with a short section table");
	p.sections_len = layout.sections;
	*pe = p;
	return 0;
}

const struct pe_section *pe_section_of(const struct pe *pe, uint32_t rva)
{
	for (uint32_t i = 0; i < pe->sections_len; i++) {
		const struct pe_section *s = &pe->sections[i];

		if (rva >= s->rva && rva - s->rva < s->size)
			return s;
	}
	return NULL;
}

bool pe_rva_to_offset(const struct pe *pe, uint32_t rva, uint32_t *offset)
{
	const struct pe_section *s = pe_section_of(pe, rva);

	if (!s)
		return false;
	*offset = s->file_offset + (rva - s->rva);
	return true;
}

bool pe_bytes(const struct pe *pe, uint32_t rva, uint32_t size, struct bytes *out)
{
	const struct pe_section *s = pe_section_of(pe, rva);
	struct cursor c = cursor_init(pe->file.data, pe->file.len);

	if (!s || size > s->size - (rva - s->rva))
		return false;
	cursor_seek(&c, (size_t)s->file_offset + (rva - s->rva));
	*out = cursor_bytes(&c, size);
	return !c.bad;
}
