/* SPDX-License-Identifier: Apache-2.0 */
/* language/hotspot.c - pointers in a library's data are relocations in its file: what is in the
 * place of the pointer is the addend, and only some linkers write it there, too. They are looked up
 * by halves in the relocations, of which the linker puts the relative ones first, in order. */
#include "language/hotspot.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "elf/exports.h"

#define ENTRIES_MAX 4096
#define STRUCT_ENTRY_BYTES 48 /* type's name, field's name, its type, static, offset, address */
#define ENTRY_FIELD 8
#define ENTRY_STATIC 24
#define ENTRY_OFFSET 32
#define ENTRY_ADDRESS 40
#define TYPE_ENTRY_BYTES 40 /* name, superclass, three flags, size */
#define TYPE_SIZE 32

struct tables {
	struct image *image;
	struct bytes relocations;
	size_t relative_len; /* number of those at the beginning */
	uint64_t base;       /* vaddr where offset 0 is mapped with the code */
};

#define ROW(id, types, fields, needed) { types, fields, needed },
static const struct {
	const char *types, *fields;
	bool needed;
} wanted[HOTSPOT_FIELDS_LEN] = { HOTSPOT_FIELDS(ROW) };
#undef ROW

static const char *const sizes[HOTSPOT_SIZES] = {
	[HOTSPOT_SIZEOF_HEAP_BLOCK] = "HeapBlock",
	[HOTSPOT_SIZEOF_CONST_METHOD] = "ConstMethod",
	[HOTSPOT_SIZEOF_POOL] = "ConstantPool",
};

/* ---- reading data as it is when it is loaded ------------------------------------------------- */

static Elf64_Rela relocation(const struct tables *t, size_t at)
{
	Elf64_Rela rela;

	memcpy(&rela, t->relocations.data + at * sizeof(rela), sizeof(rela));
	return rela;
}

static void find_relocations(struct tables *t)
{
	const uint32_t type =
		t->image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	const struct image_section *section = image_section_find(t->image, ".rela.dyn");
	size_t len;

	if (!section || section->type != SHT_RELA ||
		image_section_bytes(t->image, section, &t->relocations) < 0)
		return;
	len = t->relocations.len / sizeof(Elf64_Rela);
	while (len > 0) {
		size_t half = len / 2;

		if (ELF64_R_TYPE(relocation(t, t->relative_len + half).r_info) != type) {
			len = half;
			continue;
		}
		t->relative_len += half + 1;
		len -= half + 1;
	}
}

static uint64_t word_at(const struct tables *t, uint64_t vaddr)
{
	struct cursor c = cursor_init(t->image->file.data, t->image->file.len);
	uint64_t offset;

	if (!image_vaddr_to_offset(t->image, vaddr, &offset))
		return 0;
	cursor_seek(&c, offset);
	return cursor_u64(&c);
}

static uint64_t pointer_at(const struct tables *t, uint64_t vaddr)
{
	size_t low = 0, high = t->relative_len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Elf64_Rela rela = relocation(t, middle);

		if (rela.r_offset == vaddr)
			return (uint64_t)rela.r_addend;
		if (rela.r_offset < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return word_at(t, vaddr);
}

/* Is it one of the alternatives, which have a bar between them? Its number, or -1. */
static int find_text(const struct tables *t, uint64_t vaddr, const char *alternatives)
{
	const char *at = alternatives;
	uint64_t offset;

	if (vaddr == 0 || !image_vaddr_to_offset(t->image, vaddr, &offset) ||
		offset >= t->image->file.len)
		return -1;
	for (int i = 0;; i++) {
		const uint8_t *text = t->image->file.data + offset;
		size_t len = strcspn(at, "|"), left = t->image->file.len - offset;

		if (len < left && memcmp(text, at, len) == 0 && text[len] == '\0')
			return i;
		if (at[len] == '\0')
			return -1;
		at += len + 1;
	}
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* JDK 8 has its own number there, which is not that of the JDK. */
static void take_version(const struct tables *t, uint64_t variable, struct hotspot_facts *out)
{
	uint32_t version = (uint32_t)word_at(t, variable);

	if (version <= UINT8_MAX)
		out->version = (uint8_t)version;
}

static void take_field(const struct tables *t, uint64_t entry, struct hotspot_facts *out)
{
	uint64_t type = pointer_at(t, entry), field = pointer_at(t, entry + ENTRY_FIELD);

	if (find_text(t, field, "_vm_major_version") == 0)
		take_version(t, pointer_at(t, entry + ENTRY_ADDRESS), out);
	for (size_t i = 0; i < HOTSPOT_FIELDS_LEN; i++) {
		uint64_t at = entry + ENTRY_OFFSET;
		int name;

		if (out->fields[i] != 0 || find_text(t, type, wanted[i].types) < 0)
			continue;
		name = find_text(t, field, wanted[i].fields);
		if (name < 0)
			continue;
		if ((uint32_t)word_at(t, entry + ENTRY_STATIC) != 0)
			at = pointer_at(t, entry + ENTRY_ADDRESS);
		out->fields[i] = (int64_t)(at - t->base);
		out->code_is_offset |= i == HOTSPOT_BLOB_CODE && name > 0;
		out->is_21 |= i == HOTSPOT_CONST_FLAGS && name > 0;
		out->is_8 |= i == HOTSPOT_HEAPS && name > 0;
		out->scopes_are_offset |= i == HOTSPOT_SCOPES_DATA && name > 0;
		out->metadata_is_apart |= i == HOTSPOT_METADATA && name > 0;
	}
}

static void take_size(const struct tables *t, uint64_t entry, struct hotspot_facts *out)
{
	uint64_t type = pointer_at(t, entry), size = word_at(t, entry + TYPE_SIZE);

	for (size_t i = 0; i < HOTSPOT_SIZES; i++)
		if (find_text(t, type, sizes[i]) == 0 && size <= UINT16_MAX)
			out->sizes[i] = (uint16_t)size;
}

/* A table ends with an entry without a name. */
static void read_table(const struct tables *t, uint64_t variable, size_t entry_bytes,
	void (*take)(const struct tables *t, uint64_t entry, struct hotspot_facts *out),
	struct hotspot_facts *out)
{
	uint64_t entry = pointer_at(t, variable);

	for (size_t i = 0; entry != 0 && i < ENTRIES_MAX && pointer_at(t, entry) != 0; i++) {
		take(t, entry, out);
		entry += entry_bytes;
	}
}

static uint64_t address_of(const struct exports *exports, const char *name)
{
	struct symtab_entry entry;

	return exports_find(exports, name, &entry) ? entry.value : 0;
}

static bool find_variables(struct image *image, uint64_t *structs, uint64_t *types, uint64_t *code)
{
	struct exports exports;

	if (image->narrow || !exports_init(&exports, image))
		return false;
	*structs = address_of(&exports, "gHotSpotVMStructs");
	*types = address_of(&exports, "gHotSpotVMTypes");
	*code = address_of(&exports, "JNI_CreateJavaVM");
	return *structs && *types && *code;
}

bool hotspot_find(struct image *image, struct hotspot_facts *out)
{
	struct tables t = { .image = image };
	uint64_t structs = 0, types = 0, code = 0;
	const struct image_segment *text;

	*out = (struct hotspot_facts){ 0 };
	if (!find_variables(image, &structs, &types, &code))
		return false;
	text = image_vaddr_segment(image, code);
	if (!text)
		return false;
	t.base = text->vaddr - text->file_offset;
	find_relocations(&t);
	read_table(&t, structs, STRUCT_ENTRY_BYTES, take_field, out);
	read_table(&t, types, TYPE_ENTRY_BYTES, take_size, out);
	for (size_t i = 0; i < HOTSPOT_FIELDS_LEN; i++)
		if (wanted[i].needed && out->fields[i] == 0)
			return false;
	if (out->is_8)
		out->version = 8;
	return out->sizes[HOTSPOT_SIZEOF_HEAP_BLOCK] && out->sizes[HOTSPOT_SIZEOF_CONST_METHOD] &&
		out->sizes[HOTSPOT_SIZEOF_POOL];
}
