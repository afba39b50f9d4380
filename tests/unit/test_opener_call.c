/* SPDX-License-Identifier: Apache-2.0 */
/* test_opener_call.c - openers whose answers are waited for.
 * LINK: -Wl,--wrap=file_key_compare,--wrap=file_key_magic,--wrap=file_key_of_child
 * LINK: -Wl,--wrap=file_system_is_local */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "client/opener_call.h"
#include "client/openers.h"
#include "made_openers.h"

struct world {
	struct starter starter;
	struct openers *openers;
	int epoll;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct event_object event;

	manner = HONEST;
	starts = 0;
	made_openers_program(&event);
	w->starter = (struct starter)STARTER_INIT;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	*state = w;
	return openers_new(
		&(struct openers_options){
			.start = made_openers_start, .starter = &w->starter, .epoll_fd = w->epoll },
		&w->openers);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	openers_free(w->openers);
	fd_close(&w->epoll);
	free(w);
	return 0;
}

/* ---- calls that are waited for -----------------------------------------------------------------
 */

static int call_files(struct world *w, uint32_t view, uint32_t *at, struct opener_found *found)
{
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct opener_paths paths = { .len = 0 };
	char path[PATH_MAX] = "";

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(opener_paths_add(&paths, "/no/such/file"), 0);
	assert_int_equal(opener_paths_add(&paths, path), 0);
	assert_int_equal(opener_paths_add(&paths, "/dev/null"), 0);
	assert_int_equal(opener_paths_add(&paths, "/no/file/either"), 0);
	return opener_call_files(openers_call(w->openers), root, view, getuid(), &paths, at, found);
}

static void the_first_path_that_there_is_comes(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	struct stat st;
	uint32_t at = 0;

	assert_int_equal(call_files(w, 7, &at, &found), 0);
	assert_int_equal(at, 1);
	assert_true(made_openers_is_program(found.fd) && fstat(found.fd, &st) == 0);
	assert_int_equal(found.ino, st.st_ino);
	assert_int_equal(found.dev, st.st_dev);
	fd_close(&found.fd);
	at = 2;
	assert_int_equal(call_files(w, 7, &at, &found), -EINVAL);
	assert_int_equal(at, 2);
	at = 3;
	assert_int_equal(call_files(w, 7, &at, &found), -ENOENT);
	assert_int_equal(at, 4);
	assert_int_equal(starts, 1);
}

static void of_a_slow_file_system_none_comes(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	uint32_t at = 0;

	kernel.slow = true;
	assert_int_equal(call_files(w, 7, &at, &found), 0); /* an overlay's, of a local layer */
	assert_true(made_openers_is_program(found.fd));
	fd_close(&found.fd);
	/* Its bytes could keep a worker waiting. */
	kernel.magic = MADE_FUSE_MAGIC;
	assert_int_equal(call_files(w, 7, &at, &found), -ETIMEDOUT);
	assert_int_equal(starts, 1);
	assert_int_equal(openers_given_up(w->openers), 0);
}

static void a_process_is_read_and_its_folders_are_opened(void **state)
{
	struct world *w = *state;
	const struct opener_process us = { .pid = getpid() }, other = { getpid(), 1 };
	struct opener_call *call = openers_call(w->openers);
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_fd_ int fd = -1;

	assert_int_equal(opener_call_read(call, &us, "comm", 100, &text), 0);
	assert_int_equal(text.len, strlen("test_opener_cal\n"));
	assert_memory_equal(text.data, "test_opener_cal\n", text.len);
	assert_int_equal(opener_call_read(call, &us, "maps", 100, &text), -EFBIG);
	assert_int_equal(opener_call_read(call, &us, "none", 100, &text), -ENOENT);
	assert_int_equal(opener_call_read(call, &other, "comm", 100, &text), -ESRCH);
	assert_int_equal(opener_call_dir(call, &us, "/proc", &fd), 0);
	assert_true((fcntl(fd, F_GETFL) & O_PATH) != 0);
	assert_int_equal(opener_call_dir(call, &us, "/no/such/folder", &fd), -ENOENT);
	assert_int_equal(starts, 1);
}

static void a_call_that_hangs_costs_its_time_once(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	uint64_t began = clock_ns(CLOCK_MONOTONIC), took;
	uint32_t at = 0;

	manner = HANGS;
	assert_int_equal(call_files(w, 7, &at, &found), -ETIMEDOUT);
	took = clock_ns(CLOCK_MONOTONIC) - began;
	assert_in_range(took, OPENER_CALL_NS, 20 * OPENER_CALL_NS);
	assert_int_equal(openers_given_up(w->openers), 1);
	manner = HONEST;
	starts = 0;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(call_files(w, 7, &at, &found), -ETIMEDOUT);
	assert_int_equal(starts, 0);
	/* Another root is none of theirs. */
	assert_int_equal(call_files(w, 8, &at, &found), 0);
	fd_close(&found.fd);
}

static void a_call_believes_no_lie(void **state)
{
	struct world *w = *state;

	for (enum manner tried = DIES; tried < MANNERS; tried++) {
		struct opener_found found = { .fd = -1 };
		uint32_t at = 0;
		int err;

		if (tried == SENDS_A_FILE_FOR_A_ROOT || tried == SAYS_AN_UNKNOWN_REASON)
			continue;
		tear_down(state);
		set_up(state);
		w = *state;
		manner = tried;
		err = call_files(w, 7, &at, &found);
		if (err != -EAGAIN || found.fd >= 0)
			fail_msg("manner %d: %d", tried, err);
		manner = HONEST;
		for (err = -EAGAIN; err == -EAGAIN;)
			err = call_files(w, 7, &at, &found);
		assert_int_equal(err, 0);
		assert_int_equal(openers_given_up(w->openers), 0);
		fd_close(&found.fd);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_path_that_there_is_comes),
		TEST(of_a_slow_file_system_none_comes),
		TEST(a_process_is_read_and_its_folders_are_opened),
		TEST(a_call_that_hangs_costs_its_time_once),
		TEST(a_call_believes_no_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
