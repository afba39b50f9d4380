/* SPDX-License-Identifier: Apache-2.0 */
/* A small .NET assembly with compiled code, put together here, then spoilt; and the encodings that
 * its tables are made of. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "dotnet/pe.h"
#include "dotnet/cli_metadata.h"
#include "dotnet/native_format.h"
#include "dotnet/r2r.h"
#include "dotnet/r2r_signature.h"

#define RVA 0x1000   /* of the one section */
#define OFFSET 0x200 /* the same in the file */
#define CODE 0x400   /* from the section's start: a function every 0x20 bytes */
#define FUNCTIONS 6

static void put(struct buf *out, const void *data, size_t size)
{
	assert_int_equal(buf_put(out, data, size), 0);
}

static void put8(struct buf *out, uint32_t value)
{
	assert_int_equal(buf_putc(out, (char)value), 0);
}

static void put16(struct buf *out, uint32_t value)
{
	put8(out, value & 0xff);
	put8(out, value >> 8);
}

static void put32(struct buf *out, uint32_t value)
{
	put16(out, value & 0xffff);
	put16(out, value >> 16);
}

static void pad(struct buf *out, size_t to)
{
	assert_true(out->len <= to);
	while (out->len < to)
		put8(out, 0);
}

static void set32(struct buf *out, size_t at, uint32_t value)
{
	memcpy(out->data + at, &value, sizeof(value));
}

/* ---- the assembly --------------------------------------------------------------------------- */

/* Offsets in the string heap. */
enum { NAMESPACE = 1, OUTER = 5, INNER = 11, LIST = 17, F = 24, G = 26, ADD = 28, STRINGS = 32 };
static const char strings[STRINGS] = "\0Abc\0"
				     "Outer\0"
				     "Inner\0"
				     "List`1\0"
				     "f\0"
				     "g\0"
				     "Add";

static void put_tables(struct buf *out)
{
	put32(out, 0);
	put16(out, 2);
	put8(out, 0); /* narrow heaps */
	put8(out, 1);
	put32(out, 1U << CLI_TYPE_DEF | 1U << CLI_METHOD_DEF);
	put32(out, 1U << (CLI_NESTED_CLASS - 32));
	put32(out, 0);
	put32(out, 0);
	put32(out, 3);
	put32(out, 3);
	put32(out, 1);
	/* TypeDef: flags, name, namespace, extends, fields, methods */
	for (uint32_t i = 0; i < 3; i++) {
		static const uint16_t names[] = { OUTER, INNER, LIST };

		put32(out, 0);
		put16(out, names[i]);
		put16(out, i == 1 ? 0 : NAMESPACE);
		put16(out, 0);
		put16(out, 1);
		put16(out, i + 1);
	}
	/* MethodDef: RVA, flags, flags, name, signature, parameters */
	for (uint32_t i = 0; i < 3; i++) {
		static const uint16_t names[] = { F, G, ADD };

		put32(out, 0);
		put32(out, 0);
		put16(out, names[i]);
		put16(out, 0);
		put16(out, 1);
	}
	put16(out, 2); /* Inner lies in Outer */
	put16(out, 1);
}

static void put_metadata(struct buf *out)
{
	_cleanup_(buf_done) struct buf tables = BUF_INIT;

	put_tables(&tables);
	put32(out, 0x424a5342);
	put32(out, 0);
	put32(out, 0);
	put32(out, 4);
	put(out, "v4\0", 4);
	put16(out, 0);
	put16(out, 2);
	put32(out, 24 + 12 + 20);
	put32(out, (uint32_t)tables.len);
	put(out, "#~\0", 4);
	put32(out, 24 + 12 + 20 + (uint32_t)tables.len);
	put32(out, STRINGS);
	put(out, "#Strings\0\0\0", 12);
	put(out, tables.data, tables.len);
	put(out, strings, STRINGS);
}

static void put_number(struct buf *out, uint32_t value)
{
	assert_true(value < 128);
	put8(out, value << 1);
}

/* Methods 1, 2 and 3 begin at functions 0, 1 and 3; the second has fixups. */
static void put_entries(struct buf *out)
{
	put_number(out, 3 << 2);
	put8(out, 1);                /* the only block, behind this index */
	put_number(out, 1);          /* 8: the lower half alone */
	put_number(out, 1);          /* 4 */
	put_number(out, 3 | 5 << 2); /* 2: both, the upper one 5 bytes on */
	put_number(out, 3 | 2 << 2); /* 1: both */
	put_number(out, 0 << 1);
	put_number(out, 1 << 2 | 1 | 2);
	put_number(out, 1);      /* how far back the fixups are */
	put_number(out, 2 << 2); /* the upper half of 2 has element 2 alone */
	put_number(out, 3 << 1);
}

/* Abc.List`1[System.__Canon].Add begins at function 4, one of another module at 5. */
static void put_instances(struct buf *out)
{
	static const uint8_t sig[] = { 0x40, 0x15, 0x12, 3 << 2, 1, 0x3e, 3 };
	static const uint8_t foreign[] = { 0x40, 0x3f, 1, 0x12, 1 << 2, 3 };

	put8(out, 0);
	put8(out, 2);
	put8(out, 6);
	put8(out, 0x11);
	put_number(out, 3); /* from this byte on */
	put8(out, 0x22);
	put_number(out, 1 + sizeof(sig) + 1);
	put(out, sig, sizeof(sig));
	put_number(out, 4 << 1);
	put(out, foreign, sizeof(foreign));
	put_number(out, 5 << 1);
}

static void put_pe_header(struct buf *out, uint32_t cli_at, uint32_t size)
{
	put16(out, 0x5a4d);
	pad(out, 0x3c);
	put32(out, 0x40);
	put32(out, 0x4550);
	put16(out, 0x8664 ^ 0x7b79);
	put16(out, 1);
	pad(out, 0x40 + 20);
	put16(out, 112 + 16 * 8);
	put16(out, 0);
	put16(out, 0x20b);
	pad(out, 0x40 + 24 + 108);
	put32(out, 16);
	pad(out, 0x40 + 24 + 112 + 14 * 8);
	put32(out, RVA + cli_at);
	put32(out, 72);
	pad(out, 0x40 + 24 + 112 + 16 * 8);
	put(out, ".text\0\0", 8);
	put32(out, size);
	put32(out, RVA);
	put32(out, size);
	put32(out, OFFSET);
	pad(out, out->len + 12);
	put32(out, 0x60000020);
	pad(out, OFFSET);
}

struct part {
	uint32_t type; /* of the section, 0: metadata */
	void (*put)(struct buf *out);
	uint32_t rva, size;
};

static void put_functions(struct buf *out)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		put32(out, RVA + CODE + 0x20 * i);
		put32(out, RVA + CODE + 0x20 * i + 0x1c);
		put32(out, 0);
	}
}

static void make(struct buf *file)
{
	struct part parts[] = { { 0, put_metadata, 0, 0 }, { 102, put_functions, 0, 0 },
		{ 103, put_entries, 0, 0 }, { 109, put_instances, 0, 0 } };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	size_t cli = 0, r2r = 72;

	pad(&text, 72 + 16 + 3 * 12);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		pad(&text, (text.len + 7) & ~7UL);
		parts[i].rva = (uint32_t)(RVA + text.len);
		parts[i].put(&text);
		parts[i].size = (uint32_t)(RVA + text.len) - parts[i].rva;
	}
	pad(&text, CODE + 0x20 * FUNCTIONS);
	set32(&text, cli + 8, parts[0].rva);
	set32(&text, cli + 12, parts[0].size);
	set32(&text, cli + 64, (uint32_t)(RVA + r2r));
	set32(&text, cli + 68, 16 + 3 * 12);
	set32(&text, r2r, 0x00525452);
	set32(&text, r2r + 12, 3);
	for (size_t i = 1; i < ARRAY_SIZE(parts); i++) {
		set32(&text, r2r + 16 + (i - 1) * 12, parts[i].type);
		set32(&text, r2r + 16 + (i - 1) * 12 + 4, parts[i].rva);
		set32(&text, r2r + 16 + (i - 1) * 12 + 8, parts[i].size);
	}
	*file = (struct buf)BUF_INIT;
	put_pe_header(file, (uint32_t)cli, (uint32_t)text.len);
	put(file, text.data, text.len);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* For tests of what reads files. */
static void the_fixture_is_this_assembly(void **state)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT, fixture = BUF_INIT;

	(void)state;
	make(&file);
	assert_int_equal(fd_read_path("tests/golden/assembly.dll", 1 << 20, &fixture), 0);
	assert_int_equal(fixture.len, file.len);
	assert_memory_equal(fixture.data, file.data, file.len);
}

static void code_has_the_name_of_its_method(void **state)
{
	static const struct {
		uint32_t at; /* from the first function's start */
		const char *name;
		uint32_t start;
	} rows[] = {
		{ 0, "Abc.Outer::f", 0 },
		{ 0x1b, "Abc.Outer::f", 0 },
		{ 0x1c, NULL, 0 },
		{ 0x20, "Abc.Outer+Inner::g", 0x20 },
		{ 0x40, "Abc.Outer+Inner::g", 0x20 }, /* its handler */
		{ 0x5b, "Abc.Outer+Inner::g", 0x20 },
		{ 0x5c, NULL, 0 },
		{ 0x60, "Abc.List`1::Add", 0x60 },
		{ 0x80, "Abc.List`1[System.__Canon]::Add", 0x80 },
		{ 0xa0, NULL, 0 }, /* another module's, and not the one before's */
		{ 0xffff, NULL, 0 },
	};
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	struct r2r_stats stats;
	struct r2r *r2r;

	(void)state;
	make(&file);
	assert_int_equal(r2r_load(file.data, file.len, &r2r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name = NULL;
		uint64_t start = 0;

		print_message("row %zu\n", i);
		assert_int_equal(r2r_find(r2r, OFFSET + CODE + rows[i].at, &name, &start),
			rows[i].name != NULL);
		if (!rows[i].name)
			continue;
		assert_string_equal(name, rows[i].name);
		assert_int_equal(start, OFFSET + CODE + rows[i].start);
	}
	r2r_stats(r2r, &stats);
	assert_int_equal(stats.functions, 4);
	assert_int_equal(stats.unnamed, 1);
	r2r_free(r2r);
}

static void what_has_no_compiled_code_is_told_apart(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint32_t value;
		int err;
	} rows[] = {
		{ "no PE", 0x40, 0x4551, -ENOEXEC },
		{ "no .NET header", 0x40 + 24 + 112 + 14 * 8, 0, -ENOENT },
		{ "plain IL", OFFSET + 64, 0, -ENOENT },
		{ "another native header", OFFSET + 72, 0x4e474e, -ENOENT },
		{ "metadata outside", OFFSET + 8, 0x9000, -EBADMSG },
		{ "no functions", OFFSET + 72 + 16, 99, -ENOENT },
		{ "too many sections", OFFSET + 72 + 12, 65, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf file = BUF_INIT;
		struct r2r *r2r = NULL;

		print_message("row %zu: %s\n", i, rows[i].what);
		make(&file);
		set32(&file, rows[i].at, rows[i].value);
		assert_int_equal(r2r_load(file.data, file.len, &r2r), rows[i].err);
		assert_null(r2r);
	}
}

static void a_file_cut_anywhere_is_survived(void **state)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	make(&file);
	for (size_t len = 0; len < file.len; len++) {
		_cleanup_(freep) char *copy = malloc(len + 1);
		struct r2r *r2r;

		memcpy(copy, file.data, len);
		if (r2r_load(copy, len, &r2r) == 0)
			r2r_free(r2r);
	}
}

static void spoilt_files_are_survived(void **state)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	make(&file);
	srand(6);
	for (int round = 0; round < 20000; round++) {
		_cleanup_(freep) char *copy = malloc(file.len);
		struct r2r *r2r;

		memcpy(copy, file.data, file.len);
		for (int i = 0; i < 1 + round % 6; i++) {
			/* most often where the tables are */
			size_t at = rand() % 4 ? OFFSET + (size_t)rand() % CODE
					       : (size_t)rand() % file.len;

			copy[at] = (char)(rand() % 3 ? rand() : 0xff);
		}
		if (r2r_load(copy, file.len, &r2r) < 0)
			continue;
		for (uint64_t at = 0; at < file.len; at += 8) {
			const char *name;
			uint64_t start;

			if (r2r_find(r2r, at, &name, &start))
				assert_true(start <= at && strlen(name) > 0);
		}
		r2r_free(r2r);
	}
}

static void numbers_of_each_length_are_read(void **state)
{
	static const struct {
		uint8_t bytes[5];
		uint32_t value;
		int32_t as_signed;
		size_t len;
	} rows[] = {
		{ { 0x00 }, 0, 0, 1 },
		{ { 0xfe }, 127, -1, 1 },
		{ { 0x7e }, 63, 63, 1 },
		{ { 0x01, 0x02 }, 128, 128, 2 },
		{ { 0xfd, 0xff }, 0x3fff, -1, 2 },
		{ { 0x03, 0x00, 0x02 }, 0x4000, 0x4000, 3 },
		{ { 0x07, 0x00, 0x00, 0x02 }, 0x200000, 0x200000, 4 },
		{ { 0xf7, 0xff, 0xff, 0xff }, 0xfffffff, -1, 4 },
		{ { 0x0f, 0x78, 0x56, 0x34, 0x12 }, 0x12345678, 0x12345678, 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cursor c = cursor_init(rows[i].bytes, rows[i].len), again = c;

		print_message("row %zu\n", i);
		assert_int_equal(native_format_unsigned(&c), rows[i].value);
		assert_int_equal(cursor_left(&c), 0);
		assert_false(c.bad);
		assert_int_equal(native_format_signed(&again), rows[i].as_signed);
		c = cursor_init(rows[i].bytes, rows[i].len - 1);
		native_format_unsigned(&c);
		assert_true(c.bad);
	}
}

static void a_signature_ends_where_it_ends_even_if_it_has_no_name(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t len;
		int err;
		const char *text;
	} rows[] = {
		{ { 0x00, 1 }, 2, 0, "Abc.Outer::f" },
		{ { 0x04, 1, 2, 0x08, 0x0e }, 5, 0, "Abc.Outer::f" },
		{ { 0x40, 0x15, 0x12, 12, 1, 0x1d, 0x08, 3 }, 8, 0,
			"Abc.List`1[System.Int32[]]::Add" },
		{ { 0x40, 0x15, 0x12, 12, 1, 0x11, 8, 3 }, 8, 0,
			"Abc.List`1[Abc.Outer+Inner]::Add" },
		{ { 0x40, 0x15, 0x12, 12, 1, 0x14, 0x08, 2, 0, 0, 3 }, 11, 0,
			"Abc.List`1[System.Int32[,]]::Add" },
		{ { 0x40, 0x15, 0x3f, 2, 0x12, 4, 1, 0x08, 1 }, 9, -ENOENT, NULL },
		{ { 0x80, 0x80, 3, 1 }, 4, -ENOENT, NULL },
		{ { 0x10, 7 }, 2, -ENOENT, NULL },
		{ { 0x00, 99 }, 2, -ENOENT, NULL },
		{ { 0x40, 0x15, 0x12 }, 3, -EBADMSG, NULL },
		{ { 0x40, 0x77, 1 }, 3, -EBADMSG, NULL },
		{ { 0x40, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15 }, 16,
			-EBADMSG, NULL },
	};
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct cli_metadata metadata;

	(void)state;
	put_metadata(&bytes);
	assert_int_equal(cli_metadata_init(&metadata,
				 (struct bytes){ (const uint8_t *)bytes.data, bytes.len }),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct cursor c = cursor_init(rows[i].bytes, rows[i].len);
		uint32_t types_left = 100;

		print_message("row %zu\n", i);
		assert_int_equal(
			r2r_signature_read(&metadata, &c, &types_left, &text), rows[i].err);
		if (rows[i].err != -EBADMSG)
			assert_int_equal(cursor_left(&c), 0);
		if (rows[i].text)
			assert_string_equal(text.data, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fixture_is_this_assembly),
		cmocka_unit_test(code_has_the_name_of_its_method),
		cmocka_unit_test(what_has_no_compiled_code_is_told_apart),
		cmocka_unit_test(a_file_cut_anywhere_is_survived),
		cmocka_unit_test(spoilt_files_are_survived),
		cmocka_unit_test(numbers_of_each_length_are_read),
		cmocka_unit_test(a_signature_ends_where_it_ends_even_if_it_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
