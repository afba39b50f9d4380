/* SPDX-License-Identifier: Apache-2.0 */
/* What this program maps is found, or not, by its name and how it is mapped. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "jit/jit_files.h"

static char dir[] = "/tmp/stoker-jit-files-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void a_jitdump_is_a_file_of_that_name_mapped_executable(void **state)
{
	static const struct {
		const char *name;
		int protection;
		bool found;
	} rows[] = {
		{ "jit-17.dump", PROT_READ | PROT_EXEC, true },
		{ "jit-17.dump", PROT_READ, false },
		{ "jit-17-18-x5Df", PROT_READ | PROT_EXEC, true },
		{ "jit-.dump", PROT_READ | PROT_EXEC, false },
		{ "jit-17.so", PROT_READ | PROT_EXEC, false },
		{ "xjit-17.dump", PROT_READ | PROT_EXEC, false },
		{ "jit-seventeen.dump", PROT_READ | PROT_EXEC, false },
	};
	const struct opener_process self = { .pid = getpid() };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct opener_found dump = { .fd = -1 };
		_cleanup_fd_ int fd = -1, found = -1;
		struct stat made, opened;
		char path[64];
		void *page;
		pid_t number = 0;
		int err;

		print_message("row %zu: %s\n", i, rows[i].name);
		snprintf(path, sizeof(path), "%s/%s", dir, rows[i].name);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		page = mmap(NULL, 4096, rows[i].protection, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(page, MAP_FAILED);
		err = jit_files_open_dump(&self, &dump, &number);
		found = dump.fd;
		unlink(path);
		munmap(page, 4096);
		assert_int_equal(err, rows[i].found ? 0 : -ENOENT);
		assert_int_equal(fstat(fd, &made), 0);
		if (rows[i].found) {
			assert_int_equal(fstat(found, &opened), 0);
			assert_int_equal(opened.st_ino, made.st_ino);
			assert_int_equal(dump.ino, made.st_ino);
			assert_int_equal(dump.dev, made.st_dev);
			assert_int_equal(number, 17);
		}
	}
}

static void of_another_process_nothing_is_found(void **state)
{
	/* Not the start of this one. */
	const struct opener_process other = { .pid = getpid(), .start_ns = 1 };
	struct jit_files_dirs dirs;
	struct opener_found dump;
	pid_t number;

	(void)state;
	jit_files_open_dirs(&jit_files_direct, &other, &dirs);
	assert_int_equal(dirs.len, 0);
	assert_int_equal(jit_files_open_dump(&other, &dump, &number), -ESRCH);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_jitdump_is_a_file_of_that_name_mapped_executable, setup, teardown),
		cmocka_unit_test(of_another_process_nothing_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
