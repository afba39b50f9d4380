/* SPDX-License-Identifier: Apache-2.0 */
/* What the hash tables find is what a pass over the symbols finds: in the C library, and in a made
 * file of the older kind, then spoilt. */
#include "unit.h"

#include <elf.h>
#include <stdlib.h>

#include "base/fd.h"
#include "elf/exports.h"
#include "make_elf_symbols.h"

#define FILE_BYTES_MAX (64U << 20)

static void assert_all_found(const void *data, size_t len, size_t least)
{
	struct symtab_entry entry, found;
	struct exports exports;
	struct image image;
	struct why why;
	size_t defined = 0;

	assert_int_equal(image_init(&image, data, len, &why), 0);
	assert_true(exports_init(&exports, &image));
	for (size_t i = 0; symtab_get(&exports.symbols, i, &entry); i++) {
		struct bytes name = symtab_name(&exports.symbols, entry.name, 4096);
		char *copy = strndup((const char *)name.data, name.len);

		if (entry.section != SHN_UNDEF && name.len > 0) {
			assert_true(exports_find(&exports, copy, &found));
			assert_string_equal((const char *)exports.symbols.strings.data + found.name,
				copy);
			defined++;
		}
		free(copy);
	}
	assert_in_range(defined, least, SIZE_MAX);
	assert_false(exports_find(&exports, "no such name", &found));
	assert_false(exports_find(&exports, "", &found));
	image_done(&image);
}

/* The C library of the program that runs. */
static const char *c_library(void)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], R_OK) == 0)
			return paths[i];
	fail_msg("no C library");
	return NULL;
}

static void every_name_of_the_c_library_is_found(void **state)
{
	struct buf file = BUF_INIT;

	(void)state;
	assert_int_equal(fd_read_path(c_library(), FILE_BYTES_MAX, &file), 0);
	assert_all_found(file.data, file.len, 1000);
	buf_done(&file);
}

static const char *const names[] = { "one", "two", "three", "four", "five" };
#define NAMES (sizeof(names) / sizeof(names[0]))
#define BUCKETS 2
#define CHAINS (2 + BUCKETS)

/* As the gABI writes it. */
static uint32_t hash_of(const char *name)
{
	uint64_t h = 0, g;

	while (*name) {
		h = ((h << 4) + (unsigned char)*name++) & 0xffffffff;
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	return (uint32_t)h;
}

static unsigned int make(struct make_elf *m)
{
	uint32_t table[2 + BUCKETS + 1 + NAMES] = { BUCKETS, 1 + NAMES };
	unsigned int hash;

	make_elf_init(m);
	for (uint32_t i = 1; i <= NAMES; i++) {
		uint32_t *bucket = &table[2 + hash_of(names[i - 1]) % BUCKETS];

		make_elf_symbol(m, names[i - 1], STT_FUNC, MAKE_ELF_TEXT_INDEX, i * 16, 16);
		table[CHAINS + i] = *bucket;
		*bucket = i;
	}
	hash = make_elf_section(m, ".hash", SHT_HASH, 0, table, sizeof(table));
	make_elf_symtab(m, ".dynsym", SHT_DYNSYM);
	make_elf_finish(m);
	return hash;
}

static void every_name_of_an_older_file_is_found(void **state)
{
	struct make_elf m;

	(void)state;
	make(&m);
	assert_all_found(m.file.data, m.file.len, NAMES);
	make_elf_done(&m);
}

/* Each word of the table has each of some values: all look-ups end, and no name is another's. */
static void a_spoilt_table_finds_nothing_else(void **state)
{
	static const uint32_t spoils[] = { 0, 1, 3, NAMES, NAMES + 1, 0x7fffffff, 0xffffffff };
	struct make_elf m;
	unsigned int hash = make(&m);

	(void)state;
	for (size_t at = 0; at < m.sections[hash].sh_size; at += sizeof(uint32_t))
		for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
			char *word = m.file.data + m.sections[hash].sh_offset + at;
			struct symtab_entry found;
			struct exports exports;
			struct image image;
			struct why why;
			uint32_t was;

			memcpy(&was, word, sizeof(was));
			memcpy(word, &spoils[i], sizeof(was));
			assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
			assert_true(exports_init(&exports, &image));
			assert_false(exports_find(&exports, "six", &found));
			for (size_t n = 0; n < NAMES; n++)
				if (exports_find(&exports, names[n], &found))
					assert_int_equal(found.value,
						MAKE_ELF_TEXT_VADDR + (n + 1) * 16);
			image_done(&image);
			memcpy(word, &was, sizeof(was));
		}
	make_elf_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_of_the_c_library_is_found),
		cmocka_unit_test(every_name_of_an_older_file_is_found),
		cmocka_unit_test(a_spoilt_table_finds_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
