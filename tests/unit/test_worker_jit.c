/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker says of code that no ELF file holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>

#include "base/own.h"
#include "worker_client.h"
#include "worker_names.h"

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
	struct worker_query query = { at, ARRAY_SIZE(at), true, in_ns(LONG_NS), 0, NULL };
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
	struct worker_query query = { &(uint64_t){ 0x620 }, 1, false, in_ns(LONG_NS), 0, NULL };
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

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_assembly_has_names_and_no_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_assembly_without_compiled_code_has_no_names, setup, teardown),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
