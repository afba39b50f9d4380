/* SPDX-License-Identifier: Apache-2.0 */
/* elf/gopclntab.c - the header locates the parts. The function table leads to a function's record,
 * which leads to its name and to a run-length coded table of stack deltas.
 * Every step is a seek in a cursor over the table, so a bad offset ends in `bad`. The magic has
 * only four bytes, so a header is believed only if its first functions make sense. The caller
 * decides what names are used for. */
#include "elf/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PROBES 16         /* functions looked at before the table is believed */
#define CANDIDATES_MAX 64 /* places with the magic that are looked at */
#define SCAN_PER_PASS (1U << 20)

struct record {
	uint64_t entry;
	uint32_t name;
	uint32_t pc_delta; /* offset in pctab; 0: none */
	uint8_t flags;
};

static struct cursor at_offset(const struct gopclntab *tab, uint64_t base, uint64_t offset)
{
	struct cursor c = cursor_init(tab->table.data, tab->table.len);

	c.swap = tab->swap;
	if (base > tab->table.len || offset > tab->table.len)
		c.bad = true;
	cursor_seek(&c, (size_t)(base + offset));
	return c;
}

static uint64_t word(const struct gopclntab *tab, struct cursor *c)
{
	return tab->pointer_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* A row of the function table has two fields of this size. */
static size_t field_size(const struct gopclntab *tab)
{
	return tab->version >= 118 ? 4 : tab->pointer_size;
}

static uint64_t field(const struct gopclntab *tab, struct cursor *c)
{
	return tab->version >= 118 ? cursor_u32(c) : word(tab, c);
}

/* ---- header --------------------------------------------------------------------------------- */

static unsigned int version_of(uint32_t magic)
{
	switch (magic) {
	case 0xfffffffb:
		return 102;
	case 0xfffffffa:
		return 116;
	case 0xfffffff0:
		return 118;
	case 0xfffffff1:
		return 120;
	default:
		return 0;
	}
}

static bool read_ident(struct gopclntab *tab, struct cursor *c)
{
	uint16_t zero;

	tab->version = version_of(cursor_u32(c));
	zero = cursor_u16(c);
	tab->quantum = cursor_u8(c);
	tab->pointer_size = cursor_u8(c);
	return !c->bad && tab->version != 0 && zero == 0 &&
		(tab->quantum == 1 || tab->quantum == 2 || tab->quantum == 4) &&
		(tab->pointer_size == 4 || tab->pointer_size == 8);
}

/* Where the parts are. Before 1.16 all offsets count from the table's start. */
static void read_parts(struct gopclntab *tab, struct cursor *c)
{
	if (tab->version == 102) {
		tab->functab = cursor_offset(c);
		return;
	}
	word(tab, c); /* number of files */
	if (tab->version >= 118)
		tab->text = word(tab, c);
	tab->names = word(tab, c);
	word(tab, c); /* files of each unit */
	word(tab, c); /* names of files */
	tab->pctab = word(tab, c);
	tab->functab = tab->funcs = word(tab, c);
}

static bool read_header(struct gopclntab *tab)
{
	struct cursor c = at_offset(tab, 0, 0);
	uint64_t functions;

	if (!read_ident(tab, &c))
		return false;
	functions = word(tab, &c);
	if (functions == 0 || functions > GOPCLNTAB_FUNCTIONS_MAX)
		return false;
	tab->functions_len = functions;
	read_parts(tab, &c);
	if (c.bad || tab->functab > tab->table.len)
		return false;
	return functions < (tab->table.len - tab->functab) / (2 * field_size(tab));
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The i-th start and where its record is; i may be functions_len for the start alone. */
static bool read_row(const struct gopclntab *tab, size_t i, uint64_t *start, uint64_t *record)
{
	struct cursor c = at_offset(tab, tab->functab, i * 2 * field_size(tab));

	*start = field(tab, &c) + tab->text;
	if (i < tab->functions_len)
		*record = field(tab, &c);
	return !c.bad;
}

static bool read_record(const struct gopclntab *tab, uint64_t offset, struct record *out)
{
	struct cursor c = at_offset(tab, tab->funcs, offset);

	out->entry = tab->version >= 118 ? cursor_u32(&c) + tab->text : word(tab, &c);
	out->name = cursor_u32(&c);
	cursor_skip(&c, 8); /* arguments; deferreturn or frame size */
	out->pc_delta = cursor_u32(&c);
	cursor_skip(&c, 12);                          /* files, lines; number of other tables */
	cursor_skip(&c, tab->version >= 116 ? 4 : 0); /* unit */
	/* the first line; which of the runtime's own functions */
	cursor_skip(&c, tab->version >= 120 ? 5 : 1);
	out->flags = tab->version >= 116 ? cursor_u8(&c) : 0;
	return !c.bad;
}

/* No longer than the limit: a table without a NUL would be searched to its end for each name. */
static const char *text_at(struct cursor *c)
{
	size_t left = cursor_left(c);
	struct cursor text =
		cursor_sub(c, left <= GOPCLNTAB_NAME_MAX ? left : GOPCLNTAB_NAME_MAX + 1);
	const char *found = cursor_str(&text);

	c->bad |= text.bad;
	return found;
}

static bool read_name(const struct gopclntab *tab, uint32_t offset, const char **name)
{
	struct cursor c = at_offset(tab, tab->names, offset);

	*name = text_at(&c);
	return !c.bad && **name;
}

bool gopclntab_get(const struct gopclntab *tab, size_t i, struct gopclntab_function *out)
{
	struct gopclntab_function f;
	uint64_t offset = 0, unused;
	struct record record;

	if (!read_row(tab, i, &f.start, &offset) || !read_row(tab, i + 1, &f.end, &unused) ||
		f.end <= f.start || !read_record(tab, offset, &record) || record.entry != f.start ||
		!read_name(tab, record.name, &f.name))
		return false;
	f.deltas = record.pc_delta;
	f.flags = record.flags;
	*out = f;
	return true;
}

/* ---- stack deltas --------------------------------------------------------------------------- */

struct gopclntab_deltas gopclntab_deltas(
	const struct gopclntab *tab, const struct gopclntab_function *f)
{
	struct gopclntab_deltas runs = { .cursor = at_offset(tab, tab->pctab, f->deltas),
		.at = f->start,
		.end = f->end,
		.value = UINT32_MAX, /* -1 */
		.quantum = tab->quantum };

	runs.cursor.bad |= f->deltas == 0;
	return runs;
}

/* A run of no bytes has no place in a table: with it refused, a function has no more runs than
 * bytes, so that all functions of a file together have no more than that. */
bool gopclntab_deltas_next(struct gopclntab_deltas *runs, uint64_t *end, int32_t *delta)
{
	struct cursor *c = &runs->cursor;
	uint32_t step;
	uint64_t size;

	if (c->bad || runs->at >= runs->end)
		return false;
	step = (uint32_t)cursor_uleb(c);
	size = cursor_uleb(c);
	if (c->bad || size == 0 || (step == 0 && runs->begun))
		return false;
	runs->begun = true;
	runs->value += step & 1 ? ~(step >> 1) : step >> 1;
	if (size > (runs->end - runs->at) / runs->quantum)
		size = (runs->end - runs->at + runs->quantum - 1) / runs->quantum;
	runs->at += size * runs->quantum;
	*end = runs->at < runs->end ? runs->at : runs->end;
	*delta = (int32_t)runs->value;
	return true;
}

/* ---- where the text begins ------------------------------------------------------------------ */

static bool is_relative(const struct image *image, uint64_t info)
{
	return (uint32_t)info ==
		(image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE);
}

enum relocation_key { BY_PLACE, BY_VALUE };

/* In a position-independent program that a C linker made, pointers are not in the data but in the
 * relocations: the first that is for this place, or has this value. */
static bool find_relocation(
	struct image *image, enum relocation_key key, uint64_t wanted, uint64_t *out)
{
	for (size_t i = 0; i < image_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);
		struct bytes bytes;
		struct cursor c;

		if (s->type != SHT_RELA || image_section_bytes(image, s, &bytes) < 0)
			continue;
		c = cursor_init(bytes.data, bytes.len);
		while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
			uint64_t place = cursor_u64(&c), info = cursor_u64(&c);
			uint64_t value = cursor_u64(&c);

			if (!is_relative(image, info) || (key ? value : place) != wanted)
				continue;
			*out = key ? place : value;
			return true;
		}
	}
	return false;
}

static uint64_t pointer_at(struct image *image, const struct gopclntab *tab, uint64_t vaddr)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);
	uint64_t value, offset;

	if (find_relocation(image, BY_PLACE, vaddr, &value))
		return value;
	if (!image_vaddr_to_offset(image, vaddr, &offset))
		return 0;
	c.swap = tab->swap;
	cursor_seek(&c, offset);
	return word(tab, &c);
}

static bool find_pointer(struct image *image, const struct gopclntab *tab, uint64_t *vaddr)
{
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);
		struct cursor c = cursor_init(image->file.data, image->file.len);
		struct cursor data;

		if (s->type != PT_LOAD || (s->flags & PF_X))
			continue;
		c.swap = tab->swap;
		cursor_seek(&c, s->file_offset);
		data = cursor_sub(&c, s->file_size);
		while (cursor_left(&data) >= tab->pointer_size) {
			uint64_t at = s->vaddr + cursor_offset(&data);

			/* the module data begin with the table and its names */
			if (word(tab, &data) != tab->vaddr)
				continue;
			c = data;
			if (word(tab, &c) != tab->vaddr + tab->names)
				continue;
			*vaddr = at;
			return true;
		}
	}
	return find_relocation(image, BY_VALUE, tab->vaddr, vaddr);
}

/* Go's struct moduledata of 1.16 and later: the table, six slices, a pointer, then minpc. */
#define MINPC_WORD (1 + 6 * 3 + 1)

static bool is_code(const struct image *image, uint64_t vaddr)
{
	uint64_t offset;

	return image_vaddr_to_offset(image, vaddr, &offset) && image_offset_is_code(image, offset);
}

static bool find_text(struct image *image, struct gopclntab *tab)
{
	uint64_t header = tab->vaddr + 8 + 2 * tab->pointer_size, module, first, unused;

	if (tab->version < 118)
		return true;
	if (tab->text == 0)
		tab->text = pointer_at(image, tab, header);
	if (tab->text == 0 && read_row(tab, 0, &first, &unused) &&
		find_pointer(image, tab, &module)) {
		tab->text = pointer_at(image, tab, module + MINPC_WORD * tab->pointer_size);
		tab->text -= tab->text >= first ? first : 0;
	}
	return is_code(image, tab->text);
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool is_credible(const struct gopclntab *tab)
{
	size_t step = tab->functions_len / PROBES + 1, good = 0, probes = 0;
	struct gopclntab_function f;

	for (size_t i = 0; i < tab->functions_len; i += step) {
		probes++;
		good += gopclntab_get(tab, i, &f);
	}
	return good > probes / 2;
}

static bool is_believable(
	struct image *image, struct bytes table, uint64_t vaddr, struct gopclntab *out)
{
	struct gopclntab tab = { .table = table, .vaddr = vaddr };

	if (!read_header(&tab) || !is_credible(&tab) || !find_text(image, &tab))
		return false;
	*out = tab;
	return true;
}

/* Every magic ends so. It is searched for in much data of files that are not of Go. */
static bool may_be_magic(const uint8_t *at)
{
	return at[1] == 0xff && at[2] == 0xff && at[3] == 0xff;
}

/* Looks for the magic. Tables begin on a multiple of 16, segments too. */
static bool scan(struct image *image, struct bytes bytes, uint64_t vaddr, struct gopclntab *out)
{
	struct cursor c = cursor_init(bytes.data, bytes.len);
	uint32_t candidates = 0;

	for (size_t at = -vaddr % 16; at + 8 <= bytes.len; at += 16) {
		struct gopclntab ident = { 0 };
		struct cursor probe;

		if (at % SCAN_PER_PASS >= SCAN_PER_PASS - 16)
			image_pass(image);
		if (!may_be_magic(bytes.data + at))
			continue;
		cursor_seek(&c, at);
		probe = c;
		if (!read_ident(&ident, &probe))
			continue;
		probe = c;
		if (is_believable(image, cursor_bytes(&probe, bytes.len - at), vaddr + at, out))
			return true;
		if (++candidates == CANDIDATES_MAX)
			break;
	}
	return false;
}

static int scan_segments(struct image *image, struct gopclntab *out)
{
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);
		struct cursor c = cursor_init(image->file.data, image->file.len);

		cursor_seek(&c, s->file_offset);
		if (s->type == PT_LOAD &&
			scan(image, cursor_bytes(&c, s->file_size), s->vaddr, out))
			return 0;
	}
	return -ENOENT;
}

/* What Go's linker leaves for `go version`, and its note. */
static bool has_go(const struct image *image)
{
	return image_section_find(image, ".note.go.buildid") ||
		image_section_find(image, ".go.buildinfo");
}

int gopclntab_init(struct gopclntab *tab, struct image *image)
{
	const struct image_section *section = image_section_find(image, ".gopclntab");
	bool is_alone = true;
	struct bytes bytes;
	int err;

	if (!section)
		section = image_section_find(image, ".data.rel.ro.gopclntab");
	if (!section && has_go(image)) {
		/* where a C linker puts it in position-independent programs */
		section = image_section_find(image, ".data.rel.ro");
		is_alone = false;
	}
	if (!section)
		return image_sections(image) > 1 ? -ENOENT : scan_segments(image, tab);
	err = image_section_bytes(image, section, &bytes);
	if (err == -ENOMEM)
		return err;
	if (!is_alone)
		return err == 0 && scan(image, bytes, section->vaddr, tab) ? 0 : -ENOENT;
	return err == 0 && is_believable(image, bytes, section->vaddr, tab) ? 0 : -EBADMSG;
}
