/* SPDX-License-Identifier: Apache-2.0 */
/* Go's function table: a small one in each of its layouts, then spoilt. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "make_elf.h"
#include "elf/gopclntab.h"

#define TEXT MAKE_ELF_TEXT_VADDR
#define TABLE_VADDR 0x600000
#define FUNCTIONS 3

enum layout { GO_1_2, GO_1_16, GO_1_18, GO_1_20, GO_1_26, LAYOUTS };

static const uint32_t magics[LAYOUTS] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1,
	0xfffffff1 };
static const char *const function_names[] = { "runtime.main", "main.(*T).f", "main.g[...]" };
static const uint32_t starts[] = { 0, 0x40, 0x100, 0x180 };

static void put(struct buf *out, const void *data, size_t size)
{
	assert_int_equal(buf_put(out, data, size), 0);
}

static void put32(struct buf *out, uint64_t value)
{
	uint32_t v = (uint32_t)value;

	put(out, &v, sizeof(v));
}

static void put64(struct buf *out, uint64_t value)
{
	put(out, &value, sizeof(value));
}

static void set64(struct buf *out, size_t at, uint64_t value)
{
	memcpy(out->data + at, &value, sizeof(value));
}

/* One blob with strings, line tables, file tables; the offsets of each in it. */
struct parts {
	struct buf bytes;
	uint32_t names[FUNCTIONS];
	uint32_t pc_delta, pc_file, pc_line;
	uint32_t files; /* two numbers: the offsets of the file's name */
	uint32_t file;
};

static void make_parts(struct parts *p)
{
	/* the file is 0 for all 0x100 bytes; the line 10 for 16 bytes, 9 for 0x30 more, then 30 */
	static const unsigned char pc_file[] = { 2, 0x80, 0x02, 0 };
	static const unsigned char pc_line[] = { 22, 16, 1, 0x30, 42, 0x40, 0 };
	/* 0 for 4 bytes, 40 for 0x30, 0 for 8, -8 for 0x100, which no function has */
	static const unsigned char pc_delta[] = { 2, 4, 80, 0x30, 79, 8, 15, 0x80, 0x02, 0 };

	*p = (struct parts){ 0 };
	put(&p->bytes, "\0\0\0\0", 4);
	for (int i = 0; i < FUNCTIONS; i++) {
		p->names[i] = (uint32_t)p->bytes.len;
		put(&p->bytes, function_names[i], strlen(function_names[i]) + 1);
	}
	p->file = (uint32_t)p->bytes.len;
	put(&p->bytes, "/src/main.go", 13);
	p->pc_file = (uint32_t)p->bytes.len;
	put(&p->bytes, pc_file, sizeof(pc_file));
	p->pc_line = (uint32_t)p->bytes.len;
	put(&p->bytes, pc_line, sizeof(pc_line));
	p->pc_delta = (uint32_t)p->bytes.len;
	put(&p->bytes, pc_delta, sizeof(pc_delta));
}

static void put_record(
	struct buf *out, enum layout layout, const struct parts *p, uint32_t base, int function)
{
	/* of the function, flags */
	const char ids[] = { 9, layout == GO_1_2 ? 0 : (char)function, 0, 0 };

	if (layout >= GO_1_18)
		put32(out, starts[function]);
	else
		put64(out, TEXT + starts[function]);
	put32(out, p->names[function] + base);
	put32(out, 0);
	put32(out, 0);
	put32(out, function == 0 ? 0 : p->pc_delta + base);
	put32(out, p->pc_file + base);
	put32(out, p->pc_line + base);
	put32(out, 0);
	if (layout >= GO_1_16)
		put32(out, 0); /* unit */
	if (layout >= GO_1_20)
		put32(out, 1); /* line */
	put(out, ids, sizeof(ids));
	put32(out, 0);
}

/* The function table and behind it the records, whose offsets count from `from`. */
static void put_functions(
	struct buf *out, enum layout layout, const struct parts *p, uint32_t base, size_t from)
{
	bool is_small = layout >= GO_1_18;
	size_t rows = out->len, records = rows + (FUNCTIONS * 2 + 2) * (is_small ? 4 : 8) - from;

	for (int i = 0; i < FUNCTIONS + 1; i++) {
		if (is_small) {
			put32(out, starts[i]);
			put32(out, records + (size_t)i * 48);
		} else {
			put64(out, TEXT + starts[i]);
			put64(out, records + (size_t)i * 48);
		}
	}
	if (layout == GO_1_2) /* the offset of the file table stands behind the last address */
		set64(out, rows + FUNCTIONS * 16 + 8, p->files);
	for (int i = 0; i < FUNCTIONS; i++) {
		while (out->len - from < records + (size_t)i * 48)
			buf_putc(out, '\0');
		put_record(out, layout, p, base, i);
	}
}

static void make_table(struct buf *out, enum layout layout)
{
	static const char ident[] = { 0, 0, 1, 8 };
	struct parts p;
	size_t at;

	make_parts(&p);
	*out = (struct buf)BUF_INIT;
	put32(out, magics[layout]);
	put(out, ident, sizeof(ident));
	put64(out, FUNCTIONS);
	if (layout == GO_1_2) {
		/* 16 of header, rows, records, then the parts */
		uint32_t base = 16 + (FUNCTIONS * 2 + 2) * 8 + FUNCTIONS * 48;

		p.files = base + (uint32_t)p.bytes.len;
		put_functions(out, layout, &p, base, 0);
		while (out->len < base)
			buf_putc(out, '\0');
		put(out, p.bytes.data, p.bytes.len);
		put32(out, p.file + base);
	} else {
		at = out->len;
		for (int i = 0; i < 7; i++)
			put64(out, 0);
		set64(out, at, 1);
		at += 8;
		if (layout >= GO_1_18) {
			set64(out, at, layout == GO_1_26 ? 0 : TEXT);
			at += 8;
		}
		set64(out, at, out->len);
		set64(out, at + 16, out->len);
		set64(out, at + 24, out->len);
		put(out, p.bytes.data, p.bytes.len);
		set64(out, at + 8, out->len);
		put32(out, p.file);
		set64(out, at + 32, out->len);
		put_functions(out, layout, &p, 0, out->len);
	}
	buf_done(&p.bytes);
}

/* make_elf's data segment has room for 0x100 bytes: where Go 1.26 keeps what the header lost. */
static void make_module(struct make_elf *m, const struct buf *table)
{
	uint64_t words[24] = { TABLE_VADDR };

	memcpy(&words[1], table->data + 8 + 3 * 8, sizeof(uint64_t));
	words[1] += TABLE_VADDR;
	words[20] = TEXT;
	memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE / 2 + 8, words,
		sizeof(words));
}

static void make_file(struct make_elf *m, enum layout layout, const char *section)
{
	_cleanup_(buf_done) struct buf table = BUF_INIT;
	unsigned int index;

	make_table(&table, layout);
	make_elf_init(m);
	if (layout == GO_1_26)
		make_module(m, &table);
	index = make_elf_section(m, section, SHT_PROGBITS, SHF_ALLOC, table.data, table.len);
	m->sections[index].sh_addr = TABLE_VADDR;
	make_elf_finish(m);
}

static void every_layout_is_read(void **state)
{
	(void)state;
	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		struct gopclntab_function f;
		struct gopclntab tab;
		struct image image;
		struct make_elf m;
		struct why why;

		print_message("layout %d\n", layout);
		make_file(&m, layout, layout == GO_1_18 ? ".data.rel.ro.gopclntab" : ".gopclntab");
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(gopclntab_init(&tab, &image), 0);
		assert_int_equal(tab.functions_len, FUNCTIONS);
		for (int i = 0; i < FUNCTIONS; i++) {
			assert_true(gopclntab_get(&tab, (size_t)i, &f));
			assert_string_equal(f.name, function_names[i]);
			assert_int_equal(f.start, TEXT + starts[i]);
			assert_int_equal(f.end, TEXT + starts[i + 1]);
		}
		image_done(&image);
		make_elf_done(&m);
	}
}

static void stack_deltas_end_with_their_function(void **state)
{
	static const struct {
		int function;
		struct {
			uint32_t size;
			int32_t delta;
		} runs[5]; /* a size of 0 ends them */
	} rows[] = {
		{ 0, { { 0, 0 } } },
		{ 1, { { 4, 0 }, { 0x30, 40 }, { 8, 0 }, { 0xc0 - 0x3c, -8 }, { 0, 0 } } },
		{ 2, { { 4, 0 }, { 0x30, 40 }, { 8, 0 }, { 0x80 - 0x3c, -8 }, { 0, 0 } } },
	};

	(void)state;
	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		struct gopclntab tab;
		struct image image;
		struct make_elf m;
		struct why why;

		make_file(&m, layout, ".gopclntab");
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(gopclntab_init(&tab, &image), 0);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct gopclntab_function f;
			struct gopclntab_deltas runs;
			int32_t delta;
			uint64_t at, end;

			print_message("layout %d row %zu\n", layout, i);
			assert_true(gopclntab_get(&tab, (size_t)rows[i].function, &f));
			assert_int_equal(f.flags, layout == GO_1_2 ? 0 : rows[i].function);
			runs = gopclntab_deltas(&tab, &f);
			at = f.start;
			for (size_t k = 0; rows[i].runs[k].size > 0; k++) {
				assert_true(gopclntab_deltas_next(&runs, &end, &delta));
				assert_int_equal(end - at, rows[i].runs[k].size);
				assert_int_equal(delta, rows[i].runs[k].delta);
				at = end;
			}
			assert_false(gopclntab_deltas_next(&runs, &end, &delta));
		}
		image_done(&image);
		make_elf_done(&m);
	}
}

static void a_file_without_the_table_is_not_found_to_have_one(void **state)
{
	struct gopclntab tab;
	struct image image;
	struct make_elf m;
	struct why why;

	(void)state;
	make_file(&m, GO_1_20, ".other");
	assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
	assert_int_equal(gopclntab_init(&tab, &image), -ENOENT);
	image_done(&image);
	make_elf_done(&m);
}

static void without_section_headers_the_magic_is_looked_for(void **state)
{
	(void)state;
	for (enum layout layout = 0; layout < GO_1_26; layout++) {
		_cleanup_(buf_done) struct buf table = BUF_INIT;
		struct gopclntab_function f;
		struct gopclntab tab;
		struct image image;
		struct make_elf m;
		struct why why;

		make_table(&table, layout);
		make_elf_init(&m);
		/* behind a decoy that has the magic and no more */
		memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x400, table.data, 16);
		memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x440, table.data, table.len);
		make_elf_finish(&m);
		((Elf64_Ehdr *)m.file.data)->e_shnum = 0;
		((Elf64_Ehdr *)m.file.data)->e_shoff = 0;
		((Elf64_Ehdr *)m.file.data)->e_shstrndx = 0;
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(gopclntab_init(&tab, &image), 0);
		assert_true(gopclntab_get(&tab, 1, &f));
		assert_string_equal(f.name, "main.(*T).f");
		image_done(&image);
		make_elf_done(&m);
	}
}

static void spoilt_tables_are_survived(void **state)
{
	(void)state;
	srand(4);
	for (int round = 0; round < 4000; round++) {
		enum layout layout = round % LAYOUTS;
		size_t table_at, table_size;
		struct gopclntab tab;
		struct image image;
		struct make_elf m;
		struct why why;

		make_file(&m, layout, ".gopclntab");
		table_at = m.sections[3].sh_offset;
		table_size = m.sections[3].sh_size;
		for (int i = 0; i < 1 + round % 5; i++)
			m.file.data[table_at + (size_t)rand() % table_size] =
				(char)(rand() % 3 ? rand() : 0xff);
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		for (size_t i = 0; gopclntab_init(&tab, &image) == 0 && i < 10; i++) {
			struct gopclntab_function f;
			struct gopclntab_deltas runs;
			uint64_t end;
			int32_t delta;

			if (!gopclntab_get(&tab, i % tab.functions_len, &f))
				continue;
			assert_true(f.start < f.end && strlen(f.name) < table_size);
			runs = gopclntab_deltas(&tab, &f);
			while (gopclntab_deltas_next(&runs, &end, &delta))
				assert_true(end <= f.end);
		}
		image_done(&image);
		make_elf_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_is_read),
		cmocka_unit_test(stack_deltas_end_with_their_function),
		cmocka_unit_test(a_file_without_the_table_is_not_found_to_have_one),
		cmocka_unit_test(without_section_headers_the_magic_is_looked_for),
		cmocka_unit_test(spoilt_tables_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
