/* SPDX-License-Identifier: Apache-2.0 */
/* test_hotspot.c - what a libjvm.so says of itself: two tables, of structs and types. */
#include "unit.h"

#include "base/buf.h"
#include "base/own.h"
#include "language/hotspot.h"
#include "make_elf_symbols.h"

#define STRUCT_BYTES 48
#define TYPE_BYTES 40
#define TEXTS 0x900 /* offsets in the code */
#define TYPES 0x800
#define VERSION (TYPES - 8)
#define STRUCTS 0x40
#define BASE (MAKE_ELF_TEXT_VADDR - MAKE_ELF_TEXT_OFFSET)

static struct make_elf made;
static uint32_t texts_len;
static struct hotspot_facts facts;

static void put_word(uint32_t at, uint64_t word)
{
	memcpy(made.file.data + MAKE_ELF_TEXT_OFFSET + at, &word, sizeof(word));
}

/* The first or the last of the alternatives; its address. */
static uint64_t put_text(const char *alternatives, bool last)
{
	const char *bar = strchr(alternatives, '|');
	const char *text = last && bar ? bar + 1 : alternatives;
	size_t len = last || !bar ? strlen(text) : (size_t)(bar - text);
	uint64_t at = TEXTS + texts_len;

	assert_in_range(at + len + 1, 0, MAKE_ELF_TEXT_SIZE);
	memcpy(made.file.data + MAKE_ELF_TEXT_OFFSET + at, text, len);
	texts_len += (uint32_t)len + 1;
	return MAKE_ELF_TEXT_VADDR + at;
}

#define ROW(id, types, fields, needed) { types, fields, needed },
static const struct {
	const char *types, *fields;
	bool needed;
} rows[] = { HOTSPOT_FIELDS(ROW) };
#undef ROW

static void put_tables(bool last, enum hotspot_field without)
{
	static const char *const types[] = { "ConstMethod", "HeapBlock", "ConstantPool" };
	uint32_t at = STRUCTS;

	texts_len = 0;
	put_word(0, MAKE_ELF_TEXT_VADDR + STRUCTS);
	put_word(8, MAKE_ELF_TEXT_VADDR + TYPES);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i == without)
			continue;
		put_word(at, put_text(rows[i].types, last));
		put_word(at + 8, put_text(rows[i].fields, last));
		put_word(at + 24, i == HOTSPOT_HEAPS);
		put_word(at + 40, i == HOTSPOT_HEAPS ? MAKE_ELF_DATA_VADDR + 8 : 0);
		at += STRUCT_BYTES;
	}
	put_word(at, put_text("Abstract_VM_Version", false));
	put_word(at + 8, put_text("_vm_major_version", false));
	put_word(at + 24, 1);
	put_word(at + 40, MAKE_ELF_TEXT_VADDR + VERSION);
	put_word(VERSION, 0xffffffff00000011);
	assert_in_range(at, 0, VERSION - STRUCT_BYTES);
	for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
		put_word(TYPES + i * TYPE_BYTES, put_text(types[i], false));
		put_word(TYPES + i * TYPE_BYTES + 32, 16 * (i + 1));
	}
}

static bool find(bool last, enum hotspot_field without, uint64_t spoil_at, uint64_t word)
{
	static const char *const names[] = { "gHotSpotVMStructs", "gHotSpotVMTypes",
		"JNI_CreateJavaVM" };
	uint64_t size = MAKE_ELF_TEXT_SIZE;
	struct image image;
	struct why why;
	bool found;

	make_elf_init(&made);
	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++)
		make_elf_symbol(&made, names[i], ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			MAKE_ELF_TEXT_INDEX, 8 * i, 8);
	make_elf_symtab(&made, ".dynsym", SHT_DYNSYM);
	make_elf_finish(&made);
	memcpy(made.file.data + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), &size, 8);
	put_tables(last, without);
	if (spoil_at)
		put_word((uint32_t)spoil_at, word);
	assert_int_equal(image_init(&image, made.file.data, made.file.len, &why), 0);
	found = hotspot_find(&image, &facts);
	image_done(&image);
	make_elf_done(&made);
	return found;
}

static void a_library_says_where_its_words_are(void **state)
{
	(void)state;
	assert_true(find(false, HOTSPOT_FIELDS_LEN, 0, 0));
	assert_true(facts.fields[HOTSPOT_HEAPS] == MAKE_ELF_DATA_VADDR + 8 - BASE);
	assert_true(facts.fields[HOTSPOT_ARRAY_LEN] ==
		MAKE_ELF_TEXT_OFFSET + STRUCTS + STRUCT_BYTES + 32);
	assert_int_equal(facts.sizes[HOTSPOT_SIZEOF_CONST_METHOD], 16);
	assert_int_equal(facts.sizes[HOTSPOT_SIZEOF_POOL], 48);
	assert_int_equal(facts.code_is_offset, 0);
	assert_int_equal(facts.is_21, 0);
	assert_int_equal(facts.is_8, 0);
	assert_int_equal(facts.version, 17);
	assert_int_equal(facts.scopes_are_offset, 0);
	assert_int_equal(facts.metadata_is_apart, 0);
}

static void other_versions_have_other_names(void **state)
{
	(void)state;
	assert_true(find(true, HOTSPOT_FIELDS_LEN, 0, 0));
	assert_int_equal(facts.code_is_offset, 1);
	assert_int_equal(facts.is_21, 1);
	assert_int_equal(facts.is_8, 1);
	assert_int_equal(facts.version, 8);
	assert_int_equal(facts.scopes_are_offset, 1);
	assert_int_equal(facts.metadata_is_apart, 1);
}

static void one_without_a_field_is_refused(void **state)
{
	(void)state;
	for (enum hotspot_field i = 0; i < HOTSPOT_FIELDS_LEN; i++)
		assert_int_equal(find(false, i, 0, 0), !rows[i].needed);
}

static void tables_that_lead_nowhere_are_no_tables(void **state)
{
	static const uint64_t words[] = { 1, MAKE_ELF_TEXT_VADDR + MAKE_ELF_TEXT_SIZE - 4, ~0ULL,
		MAKE_ELF_TEXT_VADDR + 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_false(find(false, HOTSPOT_FIELDS_LEN, 8, words[i]));
		assert_false(find(false, HOTSPOT_FIELDS_LEN, STRUCTS, words[i]));
		assert_false(find(false, HOTSPOT_FIELDS_LEN, STRUCTS + 8, words[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_says_where_its_words_are),
		cmocka_unit_test(other_versions_have_other_names),
		cmocka_unit_test(one_without_a_field_is_refused),
		cmocka_unit_test(tables_that_lead_nowhere_are_no_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
