/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/symbols.c - function names for the stepper's reports: .symtab of the file or of its
 * debug file by build ID, and .dynsym. A function without a size goes on to the next one, for
 * assembly often has none. Read at the first question. */
#include "space.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "elf/build_id.h"
#include "elf/symtab.h"

#define NAME_LEN_MAX 200
#define DEBUG_BYTES_MAX (1UL << 30)

static void add_symbol(struct object *o, const struct symtab *tab, const struct symtab_entry *e)
{
	struct bytes name = symtab_name(tab, e->name, NAME_LEN_MAX);
	struct symbol *symbol;
	char **copy;

	if ((e->type != STT_FUNC && e->type != STT_GNU_IFUNC && e->type != STT_NOTYPE) ||
		e->section == SHN_UNDEF || name.len == 0)
		return;
	copy = vec_add(&o->names);
	*copy = strndup((const char *)name.data, name.len);
	symbol = vec_add(&o->symbols);
	*symbol = (struct symbol){ e->value, e->size, *copy };
}

static void read_table(struct object *o, struct image *image, uint32_t type)
{
	const struct image_section *section = image_section_by_type(image, type);
	struct symtab_entry entry;
	struct symtab tab;

	if (!section || symtab_init(&tab, image, section) < 0)
		return;
	for (size_t i = 0; symtab_get(&tab, i, &entry); i++)
		add_symbol(o, &tab, &entry);
}

static void read_debug(struct object *o)
{
	char hex[BUILD_ID_HEX_SIZE], path[256];
	struct build_id id;
	struct why why;

	if (build_id_find(&o->image, &id) < 0)
		return;
	build_id_hex(&id, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (fd_read_path(path, DEBUG_BYTES_MAX, &o->debug) < 0 ||
		image_init(&o->debug_image, o->debug.data, o->debug.len, &why) < 0)
		return;
	o->has_debug = true;
	read_table(o, &o->debug_image, SHT_SYMTAB);
}

/* By address; of those at one place, the one that says how long it is comes last and is found. */
static int compare_symbols(const void *x, const void *y)
{
	const struct symbol *a = x, *b = y;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	if ((a->size == 0) != (b->size == 0))
		return a->size == 0 ? -1 : 1;
	return strcmp(b->name, a->name);
}

static void read_symbols(struct object *o)
{
	if (o->symbols_read || !o->is_elf)
		return;
	o->symbols_read = true;
	read_table(o, &o->image, SHT_SYMTAB);
	if (o->symbols.len == 0)
		read_debug(o);
	read_table(o, &o->image, SHT_DYNSYM);
	if (o->symbols.len > 0)
		qsort(o->symbols.data, o->symbols.len, sizeof(*o->symbols.data), compare_symbols);
}

/* Stubs have no symbols: the section's name is theirs. */
static const char *section_name(const struct object *o, uint64_t vaddr, uint64_t *offset_in)
{
	for (size_t i = 0; o->is_elf && i < image_sections(&o->image); i++) {
		const struct image_section *s = image_section_at(&o->image, i);

		if ((s->flags & SHF_EXECINSTR) && vaddr >= s->vaddr && vaddr - s->vaddr < s->size &&
			strcmp(s->name, ".text") != 0) {
			*offset_in = vaddr - s->vaddr;
			return s->name;
		}
	}
	*offset_in = vaddr;
	return "?";
}

/* A symbol without a size goes on to the next one, but not out of its section. */
static bool covers(const struct object *o, const struct symbol *s, uint64_t vaddr)
{
	if (s->size > 0)
		return vaddr - s->vaddr < s->size;
	for (size_t i = 0; i < image_sections(&o->image); i++) {
		const struct image_section *in = image_section_at(&o->image, i);

		if ((in->flags & SHF_EXECINSTR) && s->vaddr - in->vaddr < in->size)
			return vaddr - in->vaddr < in->size;
	}
	return true;
}

const char *object_symbol(struct object *o, uint64_t file_offset, uint64_t *offset_in)
{
	size_t from = 0, to;
	uint64_t vaddr;

	*offset_in = file_offset;
	if (!o->is_elf || !image_offset_to_vaddr(&o->image, file_offset, &vaddr))
		return "?";
	read_symbols(o);
	to = o->symbols.len;
	while (from < to) {
		size_t middle = (from + to) / 2;

		if (o->symbols.data[middle].vaddr <= vaddr)
			from = middle + 1;
		else
			to = middle;
	}
	if (from > 0) {
		const struct symbol *s = &o->symbols.data[from - 1];

		if (covers(o, s, vaddr)) {
			*offset_in = vaddr - s->vaddr;
			return s->name;
		}
	}
	return section_name(o, vaddr, offset_in);
}

bool object_find(struct object *o, const char *name, uint64_t *vaddr)
{
	read_symbols(o);
	vec_each (&o->symbols, s) {
		if (strcmp(s->name, name) == 0) {
			*vaddr = s->vaddr;
			return true;
		}
	}
	return false;
}
