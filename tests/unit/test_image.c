/* SPDX-License-Identifier: Apache-2.0 */
/* ELF headers, sections and translations, of files made here, spoilt here, and of this program. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/own.h"
#include "elf/build_id.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "make_elf_symbols.h"

static int open_image(const struct make_elf *m, struct image *image)
{
	struct why why;

	return image_init(image, m->file.data, m->file.len, &why);
}

static void files_of_other_kinds_are_refused_with_a_reason(void **state)
{
	static const struct {
		size_t at;
		unsigned char byte;
		const char *reason;
	} rows[] = {
		{ 0, 'x', "not an ELF" },
		{ EI_CLASS, ELFCLASSNONE, "class 0" },
		{ EI_DATA, ELFDATA2MSB, "big-endian" },
		{ offsetof(Elf64_Ehdr, e_type), ET_REL, "type 1" },
		{ offsetof(Elf64_Ehdr, e_type), ET_CORE, "type 4" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct make_elf m;
		struct image image;
		struct why why = { "" };

		make_elf_init(&m);
		make_elf_finish(&m);
		m.file.data[rows[i].at] = (char)rows[i].byte;
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), -ENOEXEC);
		assert_non_null(strstr(why.text, rows[i].reason));
		make_elf_done(&m);
	}
}

static void headers_that_lead_out_of_the_file_are_malformed(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t size;
	} rows[] = {
		{ offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX, 8 },
		{ offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 63, 8 },
		{ offsetof(Elf64_Ehdr, e_phnum), 60000, 2 },
		{ offsetof(Elf64_Ehdr, e_shnum), 60000, 2 },
		{ offsetof(Elf64_Ehdr, e_phentsize), 1, 2 },
		{ offsetof(Elf64_Ehdr, e_shentsize), 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct make_elf m;
		struct image image;

		print_message("row %zu\n", i);
		make_elf_init(&m);
		make_elf_finish(&m);
		memcpy(m.file.data + rows[i].at, &rows[i].value, rows[i].size);
		assert_int_equal(open_image(&m, &image), -EBADMSG);
		make_elf_done(&m);
	}
}

static void sections_are_found_by_name_type_and_index(void **state)
{
	struct make_elf m;
	struct image image;

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	assert_int_equal(open_image(&m, &image), 0);
	assert_int_equal(image_sections(&image), 4);
	assert_ptr_equal(image_section_find(&image, ".text"), image_section_at(&image, 1));
	assert_string_equal(image_section_by_type(&image, SHT_STRTAB)->name, ".shstrtab");
	assert_null(image_section_find(&image, ".tex"));
	assert_null(image_section_find(&image, ""));
	assert_null(image_section_at(&image, 4));
	assert_int_equal(image.machine, EM_X86_64);
	image_done(&image);
	make_elf_done(&m);
}

static void offsets_and_addresses_translate_by_the_loads(void **state)
{
	struct make_elf m;
	struct image image;
	uint64_t out = 7;

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	assert_int_equal(open_image(&m, &image), 0);
	assert_true(image_vaddr_to_offset(&image, 0x401010, &out));
	assert_int_equal(out, 0x1010);
	assert_true(image_offset_to_vaddr(&image, 0x17ff, &out));
	assert_int_equal(out, 0x4017ff);
	assert_true(image_offset_to_vaddr(&image, 0x1800, &out));
	assert_int_equal(out, 0x501000);
	assert_true(image_offset_is_code(&image, 0x17ff));
	assert_false(image_offset_is_code(&image, 0x1800));
	out = 7;
	assert_false(image_vaddr_to_offset(&image, 0x401800, &out));
	assert_false(image_vaddr_to_offset(&image, 0x501100, &out));
	assert_false(image_offset_to_vaddr(&image, 0xfff, &out));
	assert_int_equal(out, 7);
	image_done(&image);
	make_elf_done(&m);
}

static void a_segment_ends_where_the_file_does(void **state)
{
	struct make_elf m;
	struct image image;
	struct why why;
	uint64_t out;

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	memset(m.file.data + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	assert_int_equal(image_init(&image, m.file.data, 0x1100, &why), 0);
	assert_int_equal(image_segment(&image, 0)->file_size, 0x100);
	assert_int_equal(image_segment(&image, 1)->file_size, 0);
	assert_false(image_vaddr_to_offset(&image, 0x401100, &out));
	image_done(&image);
	make_elf_done(&m);
}

/* A section of zeros, compressed by either library, behind the header that says so. */
static unsigned int add_compressed(
	struct make_elf *m, Elf64_Word type, size_t size, Elf64_Xword stated)
{
	Elf64_Chdr header = { .ch_type = type, .ch_size = stated, .ch_addralign = 1 };
	unsigned char out[8192];
	char *plain = malloc(size);
	uLongf len = sizeof(out) - sizeof(header);
	unsigned int index;

	for (size_t i = 0; i < size; i++)
		plain[i] = (char)(i * i >> 7);
	memcpy(out, &header, sizeof(header));
	if (type == ELFCOMPRESS_ZLIB)
		assert_int_equal(compress(out + sizeof(header), &len, (Bytef *)plain, size), Z_OK);
	else
		len = ZSTD_compress(out + sizeof(header), len, plain, size, 3);
	assert_false(ZSTD_isError(len));
	index = make_elf_section(m, ".z", SHT_PROGBITS, SHF_COMPRESSED, out, sizeof(header) + len);
	free(plain);
	return index;
}

static void compressed_sections_come_out_whole_or_not_at_all(void **state)
{
	static const struct {
		Elf64_Word type;
		size_t size;
		Elf64_Xword stated;
		int err;
	} rows[] = {
		{ ELFCOMPRESS_ZLIB, 4000, 4000, 0 },
		{ 2, 4000, 4000, 0 },
		{ ELFCOMPRESS_ZLIB, 4000, 3999, -EBADMSG },
		{ ELFCOMPRESS_ZLIB, 4000, 4001, -EBADMSG },
		{ 2, 4000, 3999, -EBADMSG },
		{ 2, 4000, 4001, -EBADMSG },
		{ ELFCOMPRESS_ZLIB, 4000, 1UL << 60, -EFBIG },
		{ 2, 4000, IMAGE_INFLATED_BYTES_MAX, -EFBIG },
		{ 3, 4000, 4000, -ENOTSUP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes bytes = { 0 }, again = { 0 };
		struct make_elf m;
		struct image image;
		unsigned int index;

		print_message("row %zu\n", i);
		make_elf_init(&m);
		index = add_compressed(&m, rows[i].type, rows[i].size, rows[i].stated);
		make_elf_finish(&m);
		assert_int_equal(open_image(&m, &image), 0);
		assert_int_equal(
			image_section_bytes(&image, image_section_at(&image, index), &bytes),
			rows[i].err);
		assert_int_equal(bytes.len, rows[i].err ? 0 : rows[i].size);
		for (size_t at = 0; at < bytes.len; at++)
			assert_int_equal(bytes.data[at], (unsigned char)(at * at >> 7));
		image_section_bytes(&image, image_section_at(&image, index), &again);
		assert_ptr_equal(bytes.data, again.data);
		image_done(&image);
		make_elf_done(&m);
	}
}

static void a_section_outside_the_file_has_no_bytes(void **state)
{
	struct make_elf m;
	struct image image;
	struct bytes bytes;
	unsigned int beyond, nobits;

	(void)state;
	make_elf_init(&m);
	beyond = make_elf_section(&m, ".a", SHT_PROGBITS, 0, "abc", 3);
	m.sections[beyond].sh_offset = UINT64_MAX - 1;
	nobits = make_elf_section(&m, ".bss", SHT_NOBITS, 0, "", 0);
	m.sections[nobits].sh_size = UINT64_MAX;
	make_elf_finish(&m);
	assert_int_equal(open_image(&m, &image), 0);
	assert_int_equal(
		image_section_bytes(&image, image_section_at(&image, beyond), &bytes), -EBADMSG);
	assert_int_equal(
		image_section_bytes(&image, image_section_at(&image, nobits), &bytes), -ENODATA);
	assert_int_equal(
		image_section_bytes(&image, image_section_at(&image, 0), &bytes), -ENODATA);
	image_done(&image);
	make_elf_done(&m);
}

static void a_table_that_claims_more_symbols_than_bytes_has_those_it_has(void **state)
{
	struct make_elf m;
	struct image image;
	struct symtab tab;
	struct symtab_entry e;
	unsigned int index;

	(void)state;
	make_elf_init(&m);
	make_elf_symbol(&m, "foo", 0, 1, 0, 8);
	index = make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	m.sections[index].sh_size += 23;
	m.sections[index].sh_info = 0xffffffff;
	make_elf_finish(&m);
	assert_int_equal(open_image(&m, &image), 0);
	assert_int_equal(symtab_init(&tab, &image, image_section_at(&image, index)), 0);
	assert_int_equal(tab.len, 2);
	assert_true(symtab_get(&tab, 1, &e));
	assert_false(symtab_get(&tab, 2, &e));
	assert_int_equal(symtab_name(&tab, e.name, 100).len, 3);
	assert_int_equal(symtab_name(&tab, e.name, 2).len, 2);
	assert_int_equal(symtab_name(&tab, 0xffffffff, 100).len, 0);
	image_done(&image);
	make_elf_done(&m);
}

static void the_build_id_is_behind_other_notes(void **state)
{
	static const unsigned char notes[] = "\5\0\0\0\1\0\0\0\3\0\0\0four\0\0\0\0x\0\0\0"
					     "\4\0\0\0\3\0\0\0\1\0\0\0GNU\0abc\0"
					     "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef";
	char hex[BUILD_ID_HEX_SIZE];
	struct build_id id;

	(void)state;
	for (size_t len = 0; len < sizeof(notes); len++) {
		struct make_elf m;
		struct image image;
		int err;

		make_elf_init(&m);
		make_elf_section(&m, ".note", SHT_NOTE, 0, notes, len);
		make_elf_finish(&m);
		assert_int_equal(open_image(&m, &image), 0);
		err = build_id_find(&image, &id);
		assert_int_equal(err, len == sizeof(notes) - 1 ? 0 : -ENOENT);
		image_done(&image);
		make_elf_done(&m);
	}
	build_id_hex(&id, hex);
	assert_string_equal(hex, "deadbeef");
}

static void read_own_file(struct buf *out)
{
	assert_int_equal(fd_read_path("/proc/self/exe", 64 << 20, out), 0);
}

static void this_program_is_understood(void **state)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	struct image image;
	struct bytes bytes;
	struct why why;

	(void)state;
	read_own_file(&file);
	assert_int_equal(image_init(&image, file.data, file.len, &why), 0);
	assert_non_null(image_section_find(&image, ".text"));
	assert_int_equal(
		image_section_bytes(&image, image_section_find(&image, ".symtab"), &bytes), 0);
	assert_true(bytes.len > 100 * sizeof(Elf64_Sym));
	image_done(&image);
}

static void use(const void *data, size_t len)
{
	struct image image;
	struct build_id id;
	struct bytes bytes;
	struct why why;
	uint64_t out;

	if (image_init(&image, data, len, &why) < 0)
		return;
	build_id_find(&image, &id);
	for (size_t i = 0; i < image_sections(&image); i++)
		image_section_bytes(&image, image_section_at(&image, i), &bytes);
	for (uint64_t at = 0; at < 0x2000; at += 0x123)
		if (image_offset_to_vaddr(&image, at, &out))
			assert_true(at < len);
	image_done(&image);
}

static void any_cut_or_flipped_file_is_survived(void **state)
{
	static const size_t headers = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
	struct make_elf m;

	(void)state;
	srand(5);
	make_elf_init(&m);
	add_compressed(&m, ELFCOMPRESS_ZLIB, 4000, 4000);
	add_compressed(&m, 2, 4000, 4000);
	make_elf_section(&m, ".note", SHT_NOTE, 0, "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0abcd", 20);
	make_elf_finish(&m);
	for (int round = 0; round < 5000; round++) {
		size_t len = rand() % 4 ? m.file.len : (size_t)rand() % m.file.len;
		size_t tail = m.file.len - 0x2000;
		char *copy = malloc(len + 1);

		memcpy(copy, m.file.data, len);
		for (int flips = rand() % 6; flips > 0; flips--) {
			size_t at = rand() % 2 ? (size_t)rand() % headers
					       : 0x2000 + (size_t)rand() % tail;

			if (at < len)
				copy[at] = (char)rand();
		}
		use(copy, len);
		free(copy);
	}
	make_elf_done(&m);
}

#define NAMES_32 "\0.symtab\0.strtab"
#define STRINGS_32 "\0leaf"

struct file_32 {
	Elf32_Ehdr header;
	Elf32_Phdr load;
	Elf32_Shdr sections[4];
	Elf32_Sym symbols[2];
	char strings[sizeof(STRINGS_32)], names[sizeof(NAMES_32)];
};

/* An i386 program with text and one symbol. */
static const struct file_32 file_32 = {
	.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_entry = 0x8049010,
		.e_phoff = offsetof(struct file_32, load),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1,
		.e_shoff = offsetof(struct file_32, sections),
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3 },
	.load = { .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = 0x10,
		.p_vaddr = 0x8049010,
		.p_filesz = 0x40,
		.p_memsz = 0x40 },
	.sections = { [1] = { .sh_name = 1,
			      .sh_type = SHT_SYMTAB,
			      .sh_offset = offsetof(struct file_32, symbols),
			      .sh_size = 2 * sizeof(Elf32_Sym),
			      .sh_link = 2,
			      .sh_entsize = sizeof(Elf32_Sym) },
		[2] = { .sh_name = 9,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct file_32, strings),
			.sh_size = sizeof(STRINGS_32) },
		[3] = { .sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct file_32, names),
			.sh_size = sizeof(NAMES_32) } },
	.symbols = { [1] = { .st_name = 1,
			     .st_value = 0x8049020,
			     .st_size = 0x20,
			     .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = 1 } },
	.strings = STRINGS_32,
	.names = NAMES_32,
};

static void a_32_bit_file_has_its_segments_sections_and_symbols(void **state)
{
	struct symtab_entry entry;
	struct symtab tab;
	struct image image;
	struct why why;
	uint64_t offset;

	(void)state;
	assert_int_equal(image_init(&image, &file_32, sizeof(file_32), &why), 0);
	assert_true(image.narrow);
	assert_int_equal(image.entry, 0x8049010);
	assert_true(image_vaddr_to_offset(&image, 0x8049020, &offset));
	assert_int_equal(offset, 0x20);
	assert_true(image_offset_is_code(&image, 0x20));
	assert_int_equal(symtab_init(&tab, &image, image_section_find(&image, ".symtab")), 0);
	assert_int_equal(tab.len, 2);
	assert_true(symtab_get(&tab, 1, &entry));
	assert_int_equal(entry.value, 0x8049020);
	assert_int_equal(entry.size, 0x20);
	assert_int_equal(entry.type, STT_FUNC);
	assert_int_equal(symtab_name(&tab, entry.name, 16).len, 4);
	assert_false(symtab_get(&tab, 2, &entry));
	image_done(&image);
}

static void a_32_bit_file_with_headers_of_64_bit_files_is_malformed(void **state)
{
	struct file_32 file = file_32;
	struct image image;
	struct why why;

	(void)state;
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	assert_int_equal(image_init(&image, &file, sizeof(file), &why), -EBADMSG);
	file.header.e_shentsize = sizeof(Elf32_Shdr);
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	assert_int_equal(image_init(&image, &file, sizeof(file), &why), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_other_kinds_are_refused_with_a_reason),
		cmocka_unit_test(headers_that_lead_out_of_the_file_are_malformed),
		cmocka_unit_test(sections_are_found_by_name_type_and_index),
		cmocka_unit_test(offsets_and_addresses_translate_by_the_loads),
		cmocka_unit_test(a_segment_ends_where_the_file_does),
		cmocka_unit_test(compressed_sections_come_out_whole_or_not_at_all),
		cmocka_unit_test(a_section_outside_the_file_has_no_bytes),
		cmocka_unit_test(a_table_that_claims_more_symbols_than_bytes_has_those_it_has),
		cmocka_unit_test(the_build_id_is_behind_other_notes),
		cmocka_unit_test(a_32_bit_file_has_its_segments_sections_and_symbols),
		cmocka_unit_test(a_32_bit_file_with_headers_of_64_bit_files_is_malformed),
		cmocka_unit_test(this_program_is_understood),
		cmocka_unit_test(any_cut_or_flipped_file_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
