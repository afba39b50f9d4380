/* SPDX-License-Identifier: Apache-2.0 */
/* Where a debug file may lie, and which one is refused. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/own.h"
#include "make_elf.h"
#include "dwarf/debug_file.h"

static void candidates_come_in_order_and_only_where_they_apply(void **state)
{
	static const struct {
		const char *path;
		const char *link;
		size_t id_len;
		const char *expected[DEBUG_FILE_PLACES]; /* NULL: no such place */
	} rows[] = {
		{ "/usr/lib/libfoo.so.1", "abcd.debug", 4,
			{ "/usr/lib/debug/.build-id/a0/a1a2a3.debug", "/usr/lib/abcd.debug",
				"/usr/lib/.debug/abcd.debug", "/usr/lib/debug/usr/lib/abcd.debug",
				"/usr/lib/libfoo.so.1.dbg", "/usr/lib/libfoo.so.1.debug",
				"/usr/lib/debug/usr/lib/libfoo.so.1.debug",
				"/usr/lib/debug/usr/lib/libfoo.so.1.dbg" } },
		{ "/app", "app", 0,
			{ NULL, NULL, "/.debug/app", "/usr/lib/debug/app", "/app.dbg", "/app.debug",
				"/usr/lib/debug/app.debug", "/usr/lib/debug/app.dbg" } },
		{ "/opt/libcoreclr.so", "", 1,
			{ NULL, NULL, NULL, NULL, "/opt/libcoreclr.so.dbg",
				"/opt/libcoreclr.so.debug",
				"/usr/lib/debug/opt/libcoreclr.so.debug",
				"/usr/lib/debug/opt/libcoreclr.so.dbg" } },
		{ "[vdso]", "x.debug", 4, { NULL } },
		{ "relative/lib.so", "x.debug", 4, { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct debug_file_query q = { .path = rows[i].path };

		q.build_id.len = rows[i].id_len;
		for (size_t k = 0; k < rows[i].id_len; k++)
			q.build_id.bytes[k] = (uint8_t)(0xa0 + k);
		strcpy(q.link.name, rows[i].link);
		for (unsigned int place = 0; place < DEBUG_FILE_PLACES; place++) {
			char path[PATH_MAX] = "untouched";
			int err = debug_file_candidate(&q, place, path);

			print_message("row %zu place %u: %s\n", i, place, path);
			assert_int_equal(err, rows[i].expected[place] ? 0 : -ENOENT);
			assert_string_equal(path,
				rows[i].expected[place] ? rows[i].expected[place] : "untouched");
		}
	}
}

static void a_path_that_becomes_too_long_is_told(void **state)
{
	char path[PATH_MAX], out[PATH_MAX];
	struct debug_file_query q = { .path = path };

	(void)state;
	memset(path, '/', sizeof(path));
	path[PATH_MAX - 2] = '\0';
	assert_int_equal(debug_file_candidate(&q, DEBUG_FILE_DBG_BESIDE, out), -ENAMETOOLONG);
	path[PATH_MAX - 5] = '\0';
	assert_int_equal(debug_file_candidate(&q, DEBUG_FILE_DBG_BESIDE, out), 0);
	assert_int_equal(debug_file_candidate(&q, DEBUG_FILE_DBG_GLOBAL, out), -ENAMETOOLONG);
}

struct parts {
	const char *link; /* section's bytes, NULL: none */
	size_t link_len;
	const char *id; /* 4 bytes, NULL: none */
};

static void make(struct make_elf *m, const struct parts *parts)
{
	char note[20] = "\4\0\0\0\4\0\0\0\3\0\0\0GNU";

	make_elf_init(m);
	if (parts->link)
		make_elf_section(
			m, ".gnu_debuglink", SHT_PROGBITS, 0, parts->link, parts->link_len);
	if (parts->id) {
		memcpy(note + 16, parts->id, 4);
		make_elf_section(m, ".note.gnu.build-id", SHT_NOTE, 0, note, sizeof(note));
	}
	make_elf_finish(m);
}

static void only_a_plain_name_is_a_link(void **state)
{
	static const struct {
		const char *section;
		size_t len;
		const char *name;
	} rows[] = {
		{ "a.debug\0\x78\x56\x34\x12", 12, "a.debug" },
		{ "ab.debug\0\0\0\0\x78\x56\x34\x12", 16, "ab.debug" },
		{ "ab.debug\0\0\0\0\x78\x56\x34", 15, "" },
		{ "abcdefgh", 8, "" },
		{ "\0\0\0\0\x78\x56\x34\x12", 8, "" },
		{ ".\0\0\0\x78\x56\x34\x12", 8, "" },
		{ "..\0\0\x78\x56\x34\x12", 8, "" },
		{ "../../etc/pass\0\0\x78\x56\x34\x12", 20, "" },
		{ "/ab\0\x78\x56\x34\x12", 8, "" },
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct parts parts = { .link = rows[i].section, .link_len = rows[i].len };
		struct debug_file_query q;
		struct make_elf m;
		struct image image;
		struct why why;

		print_message("row %zu\n", i);
		make(&m, &parts);
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		debug_file_query(&image, "/x", &q);
		assert_string_equal(q.link.name, rows[i].name);
		assert_int_equal(q.link.crc, rows[i].name[0] ? 0x12345678 : 0);
		assert_int_equal(q.build_id.len, 0);
		image_done(&image);
		make_elf_done(&m);
	}
}

static void only_a_file_of_the_same_build_is_taken(void **state)
{
	static const struct {
		const char *id, *other_id;
		int crc; /* 0: no link, 1: the right one, 2: a wrong one */
		int expected;
	} rows[] = {
		{ "aaaa", "aaaa", 0, DEBUG_BELONGS },
		{ "aaaa", "aaaa", 2, DEBUG_BELONGS },
		{ "aaaa", "aaab", 0, DEBUG_BUILD_ID },
		{ "aaaa", "aaab", 1, DEBUG_BUILD_ID },
		{ NULL, "aaaa", 1, DEBUG_BELONGS },
		{ "aaaa", NULL, 1, DEBUG_BELONGS },
		{ NULL, NULL, 1, DEBUG_BELONGS },
		{ NULL, NULL, 2, DEBUG_CRC },
		{ NULL, NULL, 0, DEBUG_UNPROVEN },
		{ "aaaa", NULL, 0, DEBUG_UNPROVEN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct parts stripped = { .id = rows[i].id },
				   debug = { .id = rows[i].other_id };
		struct make_elf m, d;
		struct image image, candidate;
		struct debug_file_query q;
		struct why why = { "" };

		print_message("row %zu\n", i);
		make(&m, &stripped);
		make(&d, &debug);
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(image_init(&candidate, d.file.data, d.file.len, &why), 0);
		debug_file_query(&image, "/x", &q);
		strcpy(q.link.name, rows[i].crc ? "x.debug" : "");
		q.link.crc = (uint32_t)crc32(0, (Bytef *)d.file.data, (uInt)d.file.len) +
			(rows[i].crc == 2);
		assert_int_equal(debug_file_verify(&q, EM_X86_64, &candidate), rows[i].expected);
		assert_int_equal(debug_file_verify(&q, EM_AARCH64, &candidate), DEBUG_MACHINE);
		image_done(&image);
		image_done(&candidate);
		make_elf_done(&m);
		make_elf_done(&d);
	}
}

static void a_folder_of_its_own_stands_for_the_usual_one(void **state)
{
	(void)state;
	assert_string_equal(
		debug_file_below("/usr/lib/debug/.build-id/a/b.debug"), "/.build-id/a/b.debug");
	assert_string_equal(debug_file_below("/usr/lib/debug/opt/x.dbg"), "/opt/x.dbg");
	assert_string_equal(debug_file_below("/opt/.debug/x"), "/x");
	assert_string_equal(debug_file_below("/opt/x.dbg"), "/x.dbg");
	assert_string_equal(debug_file_below("/usr/lib/debugger"), "/debugger");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(candidates_come_in_order_and_only_where_they_apply),
		cmocka_unit_test(a_path_that_becomes_too_long_is_told),
		cmocka_unit_test(only_a_plain_name_is_a_link),
		cmocka_unit_test(only_a_file_of_the_same_build_is_taken),
		cmocka_unit_test(a_folder_of_its_own_stands_for_the_usual_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
