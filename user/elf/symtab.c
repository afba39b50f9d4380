/* SPDX-License-Identifier: Apache-2.0 */
/* elf/symtab.c - a view, not a copy: entries are decoded on demand.
 * Invariant: len entries are within the bytes. sym/elf_sym selects the symbols for names, and
 * decides between two at one place. */
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

int symtab_init(struct symtab *tab, struct image *image, const struct image_section *section)
{
	const struct image_section *strings = image_section_at(image, section->link);
	struct symtab made = { .narrow = image->narrow };
	size_t entry_size = made.narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	int err;

	if (section->entry_size != entry_size || !strings || strings->type != SHT_STRTAB)
		return -EBADMSG;
	err = image_section_bytes(image, section, &made.entries);
	if (err == 0)
		err = image_section_bytes(image, strings, &made.strings);
	if (err < 0)
		return err;
	made.len = made.entries.len / entry_size;
	*tab = made;
	return 0;
}

static void get_narrow(struct cursor *c, size_t index, struct symtab_entry *out)
{
	struct bytes bytes;
	Elf32_Sym entry;

	cursor_seek(c, index * sizeof(entry));
	bytes = cursor_bytes(c, sizeof(entry));
	memcpy(&entry, bytes.data, sizeof(entry));
	*out = (struct symtab_entry){
		.name = entry.st_name,
		.type = ELF32_ST_TYPE(entry.st_info),
		.bind = ELF32_ST_BIND(entry.st_info),
		.section = entry.st_shndx,
		.value = entry.st_value,
		.size = entry.st_size,
	};
}

bool symtab_get(const struct symtab *tab, size_t index, struct symtab_entry *out)
{
	struct cursor c = cursor_init(tab->entries.data, tab->entries.len);
	struct bytes bytes;
	Elf64_Sym entry;

	if (index >= tab->len)
		return false;
	if (tab->narrow) {
		get_narrow(&c, index, out);
		return true;
	}
	/* Whole, not field by field: a large program has hundreds of thousands. */
	cursor_seek(&c, index * sizeof(entry));
	bytes = cursor_bytes(&c, sizeof(entry));
	memcpy(&entry, bytes.data, sizeof(entry));
	*out = (struct symtab_entry){
		.name = entry.st_name,
		.type = ELF64_ST_TYPE(entry.st_info),
		.bind = ELF64_ST_BIND(entry.st_info),
		.section = entry.st_shndx,
		.value = entry.st_value,
		.size = entry.st_size,
	};
	return true;
}

struct bytes symtab_name(const struct symtab *tab, uint32_t name, size_t len_max)
{
	struct cursor c = cursor_init(tab->strings.data, tab->strings.len);
	struct bytes text;
	size_t left;

	cursor_seek(&c, name);
	left = cursor_left(&c);
	text = cursor_bytes(&c, left < len_max ? left : len_max);
	if (text.len > 0)
		text.len = strnlen((const char *)text.data, text.len);
	return text;
}
