/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc.c - texts of /proc, as the kernel writes them and as a process would like them read. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "proc/maps.h"
#include "proc/status.h"

static void status_gives_pids_of_all_namespaces_and_the_effective_user(void **state)
{
	struct status s;

	(void)state;
	assert_int_equal(status_parse("Name:\tnode\nUmask:\t0022\nUid:\t1000\t1001\t1002\t1003\n"
				      "NSpid:\t6812\t77\t1\nThreads:\t11\n",
				 &s),
		0);
	assert_string_equal(s.name, "node");
	assert_int_equal(s.euid, 1001);
	assert_int_equal(s.threads, 11);
	assert_int_equal(s.ns_pids_len, 3);
	assert_int_equal(s.ns_pids[0], 6812);
	assert_int_equal(s.ns_pids[2], 1);
}

static void a_name_cannot_pose_as_another_field(void **state)
{
	struct status s;

	(void)state;
	/* The kernel writes a newline in a name as \n, two characters. */
	assert_int_equal(status_parse("Name:\tx\\nUid:\t0\nUid:\t5\t6\t5\t5\n", &s), 0);
	assert_int_equal(s.euid, 6);
	assert_int_equal(status_parse("Name:\tx\n", &s), -EBADMSG);
	assert_int_equal(status_parse("", &s), -EBADMSG);
}

static void the_start_is_found_behind_any_name(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t start;
	} rows[] = {
		{ "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 2222 23", 0, 2222 },
		{ "1 (a ) b (c)) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 99 23", 0, 99 },
		{ "1 (a) S 4 5 6", -EBADMSG, 0 },
		{ "nothing", -EBADMSG, 0 },
		{ "", -EBADMSG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t start = 0;

		assert_int_equal(status_parse_start(rows[i].text, &start), rows[i].err);
		assert_int_equal(start, rows[i].start);
	}
}

static void the_cgroup2_line_is_found_among_those_of_v1(void **state)
{
	char path[16];

	(void)state;
	assert_int_equal(status_parse_cgroup("5:cpu:/a\n0::/web.slice\n", path, sizeof(path)), 0);
	assert_string_equal(path, "/web.slice");
	assert_int_equal(status_parse_cgroup("5:cpu:/a\n", path, sizeof(path)), -ENOENT);
	assert_int_equal(
		status_parse_cgroup("0::/a-very-long-name", path, sizeof(path)), -ENAMETOOLONG);
}

static void keep_last(void *ctx, const struct maps_entry *entry)
{
	*(struct maps_entry *)ctx = *entry;
}

static void a_mapping_has_its_parts(void **state)
{
	struct maps_entry e;

	(void)state;
	assert_int_equal(maps_parse("7f00-8f00 r-xp 00001000 fd:01 1234      /usr/lib/a b.so\n",
				 keep_last, &e),
		0);
	assert_int_equal(e.start, 0x7f00);
	assert_int_equal(e.end, 0x8f00);
	assert_int_equal(e.file_offset, 0x1000);
	assert_int_equal(e.ino, 1234);
	assert_int_equal(e.dev, 0xfd << 20 | 1);
	assert_true(e.executable);
	assert_false(e.shared);
	assert_string_equal(e.path, "/usr/lib/a b.so");
}

static void lines_that_are_none_are_counted(void **state)
{
	struct maps_entry e;

	(void)state;
	assert_int_equal(maps_parse("rubbish\n1-2 rwx 0 0:0 0\n", keep_last, &e), 2);
	assert_int_equal(maps_parse("", keep_last, &e), 0);
	assert_int_equal(maps_parse("1-2 rwxp 0 0:0\n1-2 rwxp 0 0:0 x\n1-2 rwx\n3-4 rwxp 0 0:0 0",
				 keep_last, &e),
		3);
	assert_int_equal(e.start, 3);
}

/* As many as the kernel lets a process have: were each line's cost the length of the text, this
 * would take many seconds. */
static void a_process_of_very_many_mappings_is_read_in_no_time(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t began_ns, took_ns;
	struct maps_entry e;

	(void)state;
	for (int i = 0; i < 65530; i++)
		assert_int_equal(buf_printf(&text, "%x-%x r-xp 00000000 fd:01 %d   %-60s.so\n",
					 0x1000 * i, 0x1000 * (i + 1), i, "/usr/lib/x"),
			0);
	assert_int_equal(buf_putc(&text, '\0'), 0);
	began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_int_equal(maps_parse(text.data, keep_last, &e), 0);
	took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
	assert_int_equal(e.ino, 65529);
	print_message("%lu ms\n", (unsigned long)(took_ns / NSEC_PER_MSEC));
	assert_true(took_ns < NSEC_PER_SEC);
}

static void code_of_jits_is_told_from_files(void **state)
{
	static const struct {
		const char *line;
		bool anon;
	} rows[] = {
		{ "1000-2000 r-xp 0 0:0 0\n", true },
		{ "1000-2000 rwxp 0 0:0 0 [anon:v8]\n", true },
		{ "1000-2000 r-xs 0 0:1 9 /memfd:doublemapper (deleted)\n", true },
		{ "1000-2000 r-xs 0 0:1 9 /dev/zero (deleted)\n", true },
		{ "1000-2000 r-xp 0 0:1 9 /memfd:lib (deleted)\n", false },
		{ "1000-2000 r-xp 0 0:0 0 [vdso]\n", false },
		{ "1000-2000 r-xp 0 8:1 9 /usr/lib/libc.so.6 (deleted)\n", false },
		{ "1000-2000 rw-p 0 0:0 0\n", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct maps_entry e;

		assert_int_equal(maps_parse(rows[i].line, keep_last, &e), 0);
		if (maps_is_anon_code(&e) != rows[i].anon)
			fail_msg("%s", rows[i].line);
	}
}

#define FILE_MAPPING(start_, end_, offset_, ino_, dev_)                                    \
	{                                                                                  \
		.start = (start_), .end = (end_), .file_offset = (offset_), .ino = (ino_), \
		.dev = (dev_)                                                              \
	}

static void text_that_moved_fills_what_is_missing_of_its_file(void **state)
{
	static const struct maps_entry code = {
		.start = 0x3000, .end = 0x5000, .executable = true
	};
	static const struct {
		const char *what;
		bool moved;
		struct maps_entry before, after;
	} rows[] = {
		{ "moved", true, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0xb000, 9, 1) },
		{ "too little", false, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0xc000, 9, 1) },
		{ "nothing is missing", false, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0x9000, 9, 1) },
		{ "a gap before", false, FILE_MAPPING(0x1000, 0x2000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0xb000, 9, 1) },
		{ "a gap after", false, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x6000, 0x7000, 0xc000, 9, 1) },
		{ "another file", false, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0xb000, 8, 1) },
		{ "another device", false, FILE_MAPPING(0x1000, 0x3000, 0x7000, 9, 1),
			FILE_MAPPING(0x5000, 0x6000, 0xb000, 9, 2) },
		{ "no file", false, FILE_MAPPING(0x1000, 0x3000, 0, 0, 0),
			FILE_MAPPING(0x5000, 0x6000, 0x4000, 0, 0) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (maps_is_moved_text(&rows[i].before, &code, &rows[i].after) != rows[i].moved)
			fail_msg("%s", rows[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_gives_pids_of_all_namespaces_and_the_effective_user),
		cmocka_unit_test(a_name_cannot_pose_as_another_field),
		cmocka_unit_test(the_start_is_found_behind_any_name),
		cmocka_unit_test(the_cgroup2_line_is_found_among_those_of_v1),
		cmocka_unit_test(a_mapping_has_its_parts),
		cmocka_unit_test(lines_that_are_none_are_counted),
		cmocka_unit_test(a_process_of_very_many_mappings_is_read_in_no_time),
		cmocka_unit_test(code_of_jits_is_told_from_files),
		cmocka_unit_test(text_that_moved_fills_what_is_missing_of_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
