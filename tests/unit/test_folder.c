/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.c - paths that are opened again and again: who may have them lead elsewhere. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/listener.h"
#include "http/token_file.h"
#include "make_place.h"
#include "output/folder.h"
#include "output/place.h"

#define OTHER 4711

/* ./way/in/end, and ./link → way */
static void make_way(void)
{
	assert_int_equal(mkdir("way", 0755), 0);
	assert_int_equal(mkdir("way/in", 0755), 0);
	assert_int_equal(mkdir("way/in/end", 0755), 0);
	assert_int_equal(symlink("way", "link"), 0);
}

static int open_own(const char *path, struct why *why)
{
	int fd = -1, err = folder_open(path, true, &fd, why);

	assert_int_equal(fd >= 0, err == FOLDER_OPEN);
	fd_close(&fd);
	return err;
}

static void who_may_change_a_path_is_known(void **state)
{
	static const struct {
		const char *what;
		mode_t mode;
		uid_t owner; /* 0: the caller */
		enum folder_opened opened;
		const char *cure;
	} rows[] = {
		{ "ours", 0755, 0, FOLDER_OPEN, NULL },
		{ "ours alone", 0700, 0, FOLDER_OPEN, NULL },
		{ "of our group", 0775, 0, FOLDER_SHARED, "chmod go-w" },
		{ "everybody's", 0757, 0, FOLDER_SHARED, "chmod go-w" },
		{ "sticky, as /tmp", 01777, 0, FOLDER_OPEN, NULL },
		{ "sticky, of our group", 01770, 0, FOLDER_OPEN, NULL },
		{ "another user's", 0755, OTHER, FOLDER_SHARED, "belongs to user 4711" },
		{ "another user's, sticky", 01777, OTHER, FOLDER_SHARED, "by chown" },
	};
	static const char *const paths[] = { "way", "way/in/end", "link/in/end", "way/in/../in/" };
	char name[PATH_MAX];

	make_way();
	snprintf(name, sizeof(name), "%s/way", (const char *)*state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].owner && geteuid() != 0)
			continue;
		assert_int_equal(chown("way", rows[i].owner ? rows[i].owner : geteuid(), -1), 0);
		assert_int_equal(chmod("way", rows[i].mode), 0);
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
			struct why why = { "" };
			int fd = -1, err = open_own(paths[j], &why);

			if (err != (int)rows[i].opened || (err && !strstr(why.text, name)) ||
				(err && !strstr(why.text, rows[i].cure)))
				fail_msg("%s, %s: %d %s", rows[i].what, paths[j], err, why.text);
			assert_int_equal(folder_open(paths[j], false, &fd, &why), 0);
			fd_close(&fd);
		}
	}
}

static void close_listener(const char *path)
{
	struct listener l = LISTENER_INIT;

	snprintf(l.path, sizeof(l.path), "%s", path);
	listener_close(&l);
}

static void store_socket_and_token_are_where_nobody_else_may_change_it(void **state)
{
	struct listener l = LISTENER_INIT;
	char path[64], text[80], token[HTTP_TEXT_MAX];
	struct stat st;
	struct why why;
	int fd = -1;

	make_way();
	write_text("way/in/token", "a-token-of-sixteen-or-more\n");
	snprintf(path, sizeof(path), "%s/way/in/socket", (const char *)*state);
	snprintf(text, sizeof(text), "unix:%s", path);
	assert_int_equal(chmod("way", 0777), 0);
	assert_int_equal(place_open_store("way/in/store", true, &fd, &why), -EPERM);
	assert_int_equal(stat("way/in/store", &st), -1);
	assert_int_equal(listener_open(text, &l, &why), -EPERM);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(token_file_trust("way/in/token", token, &why), -EPERM);
	assert_int_equal(token_file_trust("link/in/token", token, &why), -EPERM);
	make_socket("way/in/socket");
	close_listener(path);
	assert_int_equal(stat(path, &st), 0);

	assert_int_equal(chmod("way", 0755), 0);
	close_listener(path);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(token_file_trust("link/in/token", token, &why), 0);
	assert_int_equal(listener_open(text, &l, &why), 0);
	listener_close(&l);
	assert_int_equal(place_open_store("link/in/store", false, &fd, &why), -ENOENT);
	assert_int_equal(place_open_store("link/in/store", true, &fd, &why), 0);
	assert_int_equal(stat("way/in/store", &st), 0);
	fd_close(&fd);
	/* The store itself may be its group's. */
	assert_int_equal(chmod("way/in/store", 0770), 0);
	assert_int_equal(place_open_store("way/in/store", false, &fd, &why), 0);
	fd_close(&fd);
}

static void what_another_user_put_into_a_sticky_folder_is_refused(void **state)
{
	struct why why;
	int fd = -1;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_way();
	assert_int_equal(chmod("way", 01777), 0);
	assert_int_equal(place_open_store("way/in", false, &fd, &why), 0);
	fd_close(&fd);
	assert_int_equal(chown("way/in", OTHER, -1), 0);
	assert_int_equal(place_open_store("way/in", false, &fd, &why), -EPERM);
	assert_int_equal(place_open_store("way/in/end", false, &fd, &why), -EPERM);
	assert_non_null(strstr(why.text, "belongs to user 4711"));
	assert_int_equal(chmod("way", 01770), 0);
	assert_int_equal(place_open_store("way/in", false, &fd, &why), -EPERM);
	assert_int_equal(symlink("in", "way/theirs"), 0);
	assert_int_equal(lchown("way/theirs", OTHER, -1), 0);
	assert_int_equal(place_check("way/theirs", &why), -EPERM);
	assert_non_null(strstr(why.text, "symbolic link of another user"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		TEST(who_may_change_a_path_is_known),
		TEST(store_socket_and_token_are_where_nobody_else_may_change_it),
		TEST(what_another_user_put_into_a_sticky_folder_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
