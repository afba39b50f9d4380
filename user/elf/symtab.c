/* SPDX-License-Identifier: Apache-2.0 */
/* elf/symtab.c - a view, not a copy: an entry is decoded when it is asked for.
 * Invariant: len entries lie within the bytes. Which symbols are worth a name, and which of two at
 * one place, is for sym/elf_sym. */
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

int symtab_init(struct symtab *tab, struct image *image, const struct image_section *section)
{
	const struct image_section *strings = image_section_at(image, section->link);
	struct symtab made = { 0 };
	int err;

	if (section->entry_size != sizeof(Elf64_Sym) || !strings || strings->type != SHT_STRTAB)
		return -EBADMSG;
	err = image_section_bytes(image, section, &made.entries);
	if (err == 0)
		err = image_section_bytes(image, strings, &made.strings);
	if (err < 0)
		return err;
	made.len = made.entries.len / sizeof(Elf64_Sym);
	*tab = made;
	return 0;
}

bool symtab_get(const struct symtab *tab, size_t index, struct symtab_entry *out)
{
	struct cursor c = cursor_init(tab->entries.data, tab->entries.len);
	uint8_t info;

	if (index >= tab->len)
		return false;
	cursor_seek(&c, index * sizeof(Elf64_Sym));
	out->name = cursor_u32(&c);
	info = cursor_u8(&c);
	out->type = ELF64_ST_TYPE(info);
	out->bind = ELF64_ST_BIND(info);
	cursor_u8(&c); /* st_other: what may bind to it says nothing about where it is */
	out->section = cursor_u16(&c);
	out->value = cursor_u64(&c);
	out->size = cursor_u64(&c);
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
