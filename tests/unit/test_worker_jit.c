/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker says of code that no ELF file holds. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/own.h"
#include "make_jitdump.h"
#include "worker_client.h"
#include "worker_names.h"

#define MAPS 20

static struct told told;
static struct names names;

static int setup(void **state)
{
	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	names_clear(&names);
	return 0;
}

/* ---- assemblies ----------------------------------------------------------------------------- */

/* As tests/unit/test_r2r.c makes it. */
static int open_assembly(void)
{
	int fd = open("tests/golden/assembly.dll", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void an_assembly_has_names_and_no_rows(void **state)
{
	_cleanup_fd_ int fd = open_assembly();
	struct worker_object object = { .id = 1, .fd = fd };
	uint64_t at[] = { 0x200 + 0x400 + 0x23, 0x200 + 0x400 + 0x1c, 0x200 + 0x400 + 0x88 };
	struct worker_query query = {
		.addresses = at, .len = ARRAY_SIZE(at), .demangle = true, .until_ns = in_ns(LONG_NS)
	};
	struct worker_symbols symbols;

	(void)state;
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(told.rows[0].rows_status, WORKER_NO_DATA);
	assert_int_equal(
		worker_client_names(told.client, &object, &query, on_name, &names, &symbols), 0);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(symbols.symbols, 4);
	assert_int_equal(names.len, 2);
	assert_string_equal(name_at(&names, 0), "Abc.Outer+Inner::g");
	assert_int_equal(names.start[0], 0x200 + 0x400 + 0x20);
	assert_int_equal(names.source[0], ELF_SYM_R2R);
	assert_string_equal(name_at(&names, 2), "Abc.List`1[System.__Canon]::Add");
}

static void an_assembly_without_compiled_code_has_no_names(void **state)
{
	_cleanup_fd_ int whole = open_assembly();
	_cleanup_fd_ int fd = -1;
	struct worker_query query = {
		.addresses = &(uint64_t){ 0x620 }, .len = 1, .until_ns = in_ns(LONG_NS)
	};
	struct worker_symbols symbols;
	char bytes[8192];
	ssize_t len = read(whole, bytes, sizeof(bytes));

	(void)state;
	assert_true(len > 0x240 + 8);
	memset(bytes + 0x200 + 64, 0, 8); /* where its native header is */
	fd = memory_file(bytes, (size_t)len);
	assert_int_equal(
		worker_client_names(told.client, &(struct worker_object){ .id = 1, .fd = fd },
			&query, on_name, &names, &symbols),
		0);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(symbols.symbols, 0);
	assert_int_equal(names.len, 0);
}

/* ---- jitdumps ------------------------------------------------------------------------------- */

static struct worker_map_status ask(const struct worker_map *map, const uint64_t *at, size_t len)
{
	struct worker_query query = {
		.addresses = at,
		.len = len,
		.until_ns = in_ns(LONG_NS),
		.lines_until_ns = in_ns(LONG_NS),
	};
	struct worker_map_status status;

	names_clear(&names);
	assert_int_equal(
		worker_client_map_names(told.client, map, &query, on_name, &names, &status), 0);
	return status;
}

static struct worker_map_status ask_map(
	int fd, int dump_fd, uint64_t at_ns, const uint64_t *at, size_t len)
{
	struct worker_map map = { .id = 1, .fd = fd, .dump_fd = dump_fd, .at_ns = at_ns };

	return ask(&map, at, len);
}

static void rewrite(int fd, const struct buf *bytes)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bytes->data, bytes->len, 0), bytes->len);
}

static void a_jitdump_is_followed_and_asked_by_time(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = memory_file("", 0);
	uint64_t at[] = { 0x1008, 0x2008 };

	(void)state;
	put_header(&bytes, 0);
	put_load(&bytes, 100, 0x1000, 16, "old");
	rewrite(fd, &bytes);
	assert_int_equal(ask_map(-1, fd, UINT64_MAX, at, 2).status, WORKER_OK);
	assert_string_equal(name_at(&names, 0), "old");
	assert_int_equal(names.source[0], WORKER_JITDUMP);
	assert_int_equal(names.len, 1);
	put_load(&bytes, 200, 0x1000, 16, "new");
	put_move(&bytes, 300, 0x1000, 0x2000, 16);
	rewrite(fd, &bytes);
	assert_int_equal(ask_map(-1, fd, 150, at, 2).status, WORKER_OK);
	assert_string_equal(name_at(&names, 0), "old");
	assert_int_equal(ask_map(-1, fd, 250, at, 2).status, WORKER_OK);
	assert_string_equal(name_at(&names, 0), "new");
	assert_int_equal(ask_map(-1, fd, UINT64_MAX, at, 2).status, WORKER_OK);
	assert_string_equal(name_at(&names, 1), "new");
	assert_int_equal(names.len, 1);
}

static void a_jitdump_that_is_written_anew_is_read_anew(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = memory_file("", 0);
	uint64_t at[] = { 0x1008, 0x2008 };

	(void)state;
	put_header(&bytes, 0);
	put_load(&bytes, 100, 0x1000, 16, "old");
	rewrite(fd, &bytes);
	ask_map(-1, fd, UINT64_MAX, at, 2);
	assert_string_equal(name_at(&names, 0), "old");
	buf_clear(&bytes);
	put_header(&bytes, 0);
	put_load(&bytes, 100, 0x2000, 16, "new");
	rewrite(fd, &bytes);
	assert_int_equal(ask_map(-1, fd, UINT64_MAX, at, 2).status, WORKER_OK);
	assert_string_equal(name_at(&names, 1), "new");
	assert_int_equal(names.len, 1);
}

static void of_an_address_in_both_the_jitdump_has_the_word(void **state)
{
	static const char text[] = "1000 10 map_one\n3000 10 map_three\n";
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = memory_file("", 0), map = memory_file(text, strlen(text));
	uint64_t at[] = { 0x1008, 0x2008, 0x3008, 0x4008 };

	(void)state;
	put_header(&bytes, 0);
	put_load(&bytes, 100, 0x1000, 16, "dump_one");
	put_load(&bytes, 100, 0x2000, 16, "dump_two");
	rewrite(fd, &bytes);
	assert_int_equal(ask_map(map, fd, UINT64_MAX, at, 4).status, WORKER_OK);
	assert_int_equal(names.len, 3);
	assert_string_equal(name_at(&names, 0), "dump_one");
	assert_string_equal(name_at(&names, 1), "dump_two");
	assert_string_equal(name_at(&names, 2), "map_three");
	assert_int_equal(names.source[2], WORKER_PERF_MAP);
}

struct place {
	char path[32];
	uint32_t line;
};

static int on_place(void *ctx, size_t index, const struct worker_name *name)
{
	struct place *place = ctx;

	assert_int_equal(index, 0);
	strncpy(place->path, name->path, sizeof(place->path) - 1);
	place->line = name->line;
	return 0;
}

static void lines_come_where_they_are_asked_for(void **state)
{
	static const struct line lines[] = { { 0x1000, 7, "a.js" }, { 0x1008, 9, "a.js" } };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = memory_file("", 0);
	struct worker_map map = { .id = 1, .fd = -1, .dump_fd = fd, .at_ns = UINT64_MAX };
	struct worker_map_status status;

	(void)state;
	put_header(&bytes, 0);
	put_lines(&bytes, 0x1000, lines, ARRAY_SIZE(lines));
	put_load(&bytes, 100, 0x1000, 16, "one");
	rewrite(fd, &bytes);
	for (int asked = 0; asked < 2; asked++) {
		struct worker_query query = {
			.addresses = &(uint64_t){ 0x1009 },
			.len = 1,
			.until_ns = in_ns(LONG_NS),
			.lines_until_ns = asked ? in_ns(LONG_NS) : 0,
		};
		struct place place = { .line = 1 };

		assert_int_equal(worker_client_map_names(
					 told.client, &map, &query, on_place, &place, &status),
			0);
		assert_int_equal(status.status, WORKER_OK);
		assert_string_equal(place.path, asked ? "a.js" : "");
		assert_int_equal(place.line, asked ? 9 : 0);
	}
}

static void what_cannot_be_read_is_told_and_leaves_the_rest(void **state)
{
	static const char text[] = "1000 10 map_one\n";
	static const struct {
		const char *what;
		uint32_t at, value;
		enum worker_status dump;
	} rows[] = {
		{ "other byte order", 0, 0x4454694a, WORKER_BYTE_ORDER },
		{ "another version", 4, 7, WORKER_BYTE_ORDER },
		{ "no jitdump", 0, 0x464c457f, WORKER_DAMAGED },
		{ "a senseless record, last", 40 + 16 + 40 + 4 + 16 + 4, 3, WORKER_DAMAGED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf bytes = BUF_INIT;
		_cleanup_fd_ int fd = memory_file("", 0), map = memory_file(text, strlen(text));
		uint64_t at[] = { 0x1008, 0x2008 };
		struct worker_map_status status;
		bool has_record = i == ARRAY_SIZE(rows) - 1;

		print_message("row %zu: %s\n", i, rows[i].what);
		put_header(&bytes, 0);
		put_load(&bytes, 100, 0x2000, 16, "two");
		put_load(&bytes, 100, 0x3000, 16, "six");
		memcpy(bytes.data + rows[i].at, &rows[i].value, sizeof(rows[i].value));
		rewrite(fd, &bytes);
		for (int again = 0; again < 2; again++) {
			status = ask_map(map, fd, UINT64_MAX, at, 2);
			assert_int_equal(status.status, WORKER_OK);
			assert_int_equal(status.dump, rows[i].dump);
			assert_string_equal(name_at(&names, 0), "map_one");
			assert_string_equal(name_at(&names, 1), has_record ? "two" : "");
		}
		worker_client_drop_map(told.client, 1);
		assert_int_equal(ask_map(-1, fd, UINT64_MAX, at, 2).status, rows[i].dump);
		assert_int_equal(names.len, has_record);
		worker_client_drop_map(told.client, 1);
	}
}

static void maps_that_are_dropped_while_the_worker_is_busy_go(void **state)
{
	static const char text[] = "1000 10 one\n";
	_cleanup_fd_ int fd = memory_file(text, strlen(text));
	uint64_t at = 0x1008, deadline_ns = in_ns(LONG_NS);
	struct worker_map map = { .fd = fd, .dump_fd = -1, .at_ns = UINT64_MAX };
	pid_t worker;

	(void)state;
	for (; map.id < MAPS; map.id++)
		assert_int_equal(ask(&map, &at, 1).status, WORKER_OK);
	assert_int_equal(told_stats(&told).kept_len, MAPS);
	worker = told_stats(&told).pids[1];
	kill(worker, SIGSTOP);
	for (uint64_t id = 0; id < MAPS; id++)
		worker_client_drop_map(told.client, id);
	kill(worker, SIGCONT);
	while (told_stats(&told).kept_len > 0 && clock_ns(CLOCK_MONOTONIC) < deadline_ns)
		worker_client_poll(told.client);
	assert_int_equal(told_stats(&told).kept_len, 0);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_assembly_has_names_and_no_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_assembly_without_compiled_code_has_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_jitdump_is_followed_and_asked_by_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_jitdump_that_is_written_anew_is_read_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_an_address_in_both_the_jitdump_has_the_word, setup, teardown),
		cmocka_unit_test_setup_teardown(
			lines_come_where_they_are_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_read_is_told_and_leaves_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(
			maps_that_are_dropped_while_the_worker_is_busy_go, setup, teardown),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
