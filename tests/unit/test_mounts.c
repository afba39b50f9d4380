/* SPDX-License-Identifier: Apache-2.0 */
/* test_mounts.c - where cgroups are mounted, by mountinfo as hosts and containers have it. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "cgroup/mounts.h"

#define PROC "22 28 0:20 / /proc rw,relatime shared:12 - proc proc rw\n"
#define V2(root, mount) "30 23 0:26 " root " " mount " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
#define V1(root, mount, controllers) \
	"35 29 0:31 " root " " mount " rw,nosuid shared:9 - cgroup cgroup rw," controllers "\n"

struct row {
	const char *text;
	const char *controller; /* NULL: v2 */
	const char *path;       /* NULL: nowhere */
};

static void a_hierarchy_is_found_by_its_type_and_controllers(void **state)
{
	static const struct row rows[] = {
		{ PROC V2("/", "/sys/fs/cgroup"), NULL, "/sys/fs/cgroup" },
		{ PROC V2("/", "/sys/fs/cgroup"), "cpu", NULL },
		{ PROC V1("/", "/c/cpu", "cpu,cpuacct"), "cpuacct", "/c/cpu" },
		{ PROC V1("/", "/c/cpu", "cpu,cpuacct"), "acct", NULL },
		{ PROC V1("/", "/c/cpu", "cpuset") V1("/", "/c/two", "cpu"), "cpu", "/c/two" },
		{ PROC V1("/", "/c/cpu", "cpu") V2("/", "/u"), NULL, "/u" },
		/* A part of it is better than nothing, and all of it better than a part. */
		{ PROC V2("/docker/1", "/part"), NULL, "/part" },
		{ PROC V2("/docker/1", "/part") V2("/", "/all") V2("/", "/again"), NULL, "/all" },
		/* Any number of optional words, or none, comes before the dash. */
		{ "1 2 0:3 / /m rw - cgroup2 none rw\n", NULL, "/m" },
		{ "1 2 0:3 / /m rw master:1 propagate_from:2 - cgroup2 x rw", NULL, "/m" },
		/* Not its type, but its source; cut short; nothing. */
		{ "1 2 0:3 / /m rw - tmpfs cgroup2 rw\n", NULL, NULL },
		{ "1 2 0:3 / /m rw - cgroup2fs x rw\n", NULL, NULL },
		{ "1 2 0:3 / /m rw -\n1 - cgroup2", NULL, NULL },
		{ "\n\n", NULL, NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[16] = "";
		bool found = mounts_find(rows[i].text, rows[i].controller, path, sizeof(path));

		if (found != (rows[i].path != NULL) ||
			(found && strcmp(path, rows[i].path) != 0))
			fail_msg("row %zu: found %d at \"%s\"", i, found, path);
	}
}

static void a_path_that_there_is_no_room_for_is_passed_over(void **state)
{
	char path[5] = "";

	(void)state;
	assert_true(mounts_find(V2("/", "/long") V2("/", "/fit"), NULL, path, sizeof(path)));
	assert_string_equal(path, "/fit");
	assert_false(mounts_find(V2("/", "/long"), NULL, path, sizeof(path)));
}

static void mounts_are_whole_when_one_hierarchy_is_there_from_its_root(void **state)
{
	static const struct {
		const char *text;
		bool whole;
	} rows[] = {
		{ PROC V2("/", "/sys/fs/cgroup"), true },
		{ PROC V1("/", "/c/cpu", "cpu"), true },
		{ PROC V2("/docker/1", "/a") V1("/", "/c/cpu", "cpu"), true },
		{ PROC V2("/docker/1", "/a") V1("/docker/1", "/c/cpu", "cpu"), false },
		{ PROC V2("/../..", "/a"), false },
		{ PROC, false },
		{ "1 2 0:3 / /m rw - cgroup2fs x rw\n", false },
		{ "1 2 0:3 / /m rw - c x rw\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (mounts_are_whole(rows[i].text) != rows[i].whole)
			fail_msg("row %zu", i);
}

static void a_controller_has_its_hierarchy_and_its_number_of_cgroups(void **state)
{
	static const char text[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
				   "cpuset\t3\t11\t1\ncpu\t7\t42\t1\nio\t0\t5\t1\n";
	struct mounts_controller c;

	(void)state;
	assert_true(mounts_controller(text, "cpu", &c));
	assert_int_equal(c.hierarchy, 7);
	assert_int_equal(c.cgroups, 42);
	assert_true(mounts_controller(text, "io", &c));
	assert_int_equal(c.hierarchy, 0);
	assert_false(mounts_controller(text, "cp", &c));
	assert_false(mounts_controller(text, "memory", &c));
	assert_false(mounts_controller("", "cpu", &c));
}

static void ones_own_path_is_that_of_the_hierarchy(void **state)
{
	static const char text[] = "12:cpu,cpuacct:/a:b/c\n1:name=systemd:/init\n0::/v2\n";
	char path[8];

	(void)state;
	assert_true(mounts_own_path(text, 12, path, sizeof(path)));
	assert_string_equal(path, "/a:b/c");
	assert_true(mounts_own_path(text, 0, path, sizeof(path)));
	assert_string_equal(path, "/v2");
	assert_false(mounts_own_path(text, 2, path, sizeof(path)));
	assert_false(mounts_own_path("5:cpu\n0::/v2\n", 5, path, sizeof(path)));
	assert_false(mounts_own_path("5:cpu:/longest\n", 5, path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hierarchy_is_found_by_its_type_and_controllers),
		cmocka_unit_test(a_path_that_there_is_no_room_for_is_passed_over),
		cmocka_unit_test(mounts_are_whole_when_one_hierarchy_is_there_from_its_root),
		cmocka_unit_test(a_controller_has_its_hierarchy_and_its_number_of_cgroups),
		cmocka_unit_test(ones_own_path_is_that_of_the_hierarchy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
