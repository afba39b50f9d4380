/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file inside an ELF file: its names, and what is refused. */
#include "unit.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/own.h"
#include "make_elf_symbols.h"
#include "dwarf/debug_data.h"
#include "sym/elf_sym.h"

static void compress_xz(const void *data, size_t len, struct buf *out)
{
	size_t bound = lzma_stream_buffer_bound(len), at = 0;
	char *room;

	assert_int_equal(buf_reserve(out, bound, &room), 0);
	assert_int_equal(lzma_easy_buffer_encode(
				 6, LZMA_CHECK_CRC32, NULL, data, len, (uint8_t *)room, &at, bound),
		LZMA_OK);
	buf_commit(out, at);
}

/* A stripped file with this section, opened. */
static void open_with(struct make_elf *m, struct image *image, const void *data, size_t len)
{
	struct why why;

	make_elf_init(m);
	make_elf_section(m, ".gnu_debugdata", SHT_PROGBITS, 0, data, len);
	make_elf_symbol(m, "exported", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1, 0, 16);
	make_elf_symtab(m, ".dynsym", SHT_DYNSYM);
	make_elf_finish(m);
	assert_int_equal(image_init(image, m->file.data, m->file.len, &why), 0);
}

static void names_of_both_files_are_found(void **state)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT, plain = BUF_INIT;
	struct make_elf m, inner;
	struct image image, inner_image;
	struct elf_sym *sym;
	struct elf_name name;
	struct why why;

	(void)state;
	make_elf_init(&inner);
	make_elf_symbol(&inner, "hidden", ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 1, 16, 16);
	make_elf_symtab(&inner, ".symtab", SHT_SYMTAB);
	make_elf_finish(&inner);
	compress_xz(inner.file.data, inner.file.len, &packed);
	open_with(&m, &image, packed.data, packed.len);
	assert_int_equal(debug_data_load(&image, &plain), 0);
	assert_int_equal(plain.len, inner.file.len);
	assert_memory_equal(plain.data, inner.file.data, plain.len);
	assert_int_equal(image_init(&inner_image, plain.data, plain.len, &why), 0);
	assert_int_equal(elf_sym_load(&image, &inner_image, ELF_SYM_DEBUG_DATA, &sym), 0);
	assert_true(elf_sym_find(sym, MAKE_ELF_TEXT_OFFSET + 15, &name));
	assert_string_equal(name.name, "exported");
	assert_true(elf_sym_find(sym, MAKE_ELF_TEXT_OFFSET + 16, &name));
	assert_string_equal(name.name, "hidden");
	assert_int_equal(name.source, ELF_SYM_DEBUG_DATA);
	elf_sym_free(sym);
	image_done(&inner_image);
	image_done(&image);
	make_elf_done(&inner);
	make_elf_done(&m);
}

static void a_broken_stream_leaves_nothing_behind(void **state)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	char text[5000];

	(void)state;
	srand(7);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(rand() % 16);
	compress_xz(text, sizeof(text), &packed);
	for (size_t len = 0; len <= packed.len; len += 11) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct make_elf m;
		struct image image;

		assert_int_equal(buf_puts(&out, "kept"), 0);
		open_with(&m, &image, packed.data, len);
		assert_int_equal(debug_data_load(&image, &out), -EBADMSG);
		assert_string_equal(out.data, "kept");
		image_done(&image);
		make_elf_done(&m);
		packed.data[packed.len / 2] ^= (char)(1 + len % 128);
		open_with(&m, &image, packed.data, packed.len);
		assert_int_equal(debug_data_load(&image, &out), -EBADMSG);
		packed.data[packed.len / 2] ^= (char)(1 + len % 128);
		image_done(&image);
		make_elf_done(&m);
	}
}

static void a_stream_that_swells_is_stopped(void **state)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT, out = BUF_INIT;
	size_t len = DEBUG_DATA_BYTES_MAX + 1;
	char *zeros = calloc(1, len);
	struct make_elf m;
	struct image image;

	(void)state;
	compress_xz(zeros, len, &packed);
	free(zeros);
	open_with(&m, &image, packed.data, packed.len);
	assert_int_equal(debug_data_load(&image, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	image_done(&image);
	make_elf_done(&m);
}

static void no_section_is_not_found(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct make_elf m;
	struct image image;
	struct why why;

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
	assert_int_equal(debug_data_load(&image, &out), -ENOENT);
	image_done(&image);
	make_elf_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_both_files_are_found),
		cmocka_unit_test(a_broken_stream_leaves_nothing_behind),
		cmocka_unit_test(a_stream_that_swells_is_stopped),
		cmocka_unit_test(no_section_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
