/* SPDX-License-Identifier: Apache-2.0 */
/* test_opener_call.c - openers whose answers are waited for.
 * LINK: -Wl,--wrap=file_key_compare,--wrap=file_key_magic,--wrap=file_key_of_child
 * LINK: -Wl,--wrap=file_system_is_local,--wrap=fd_pass,--wrap=sampler_poll */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/opener_call.h"
#include "client/openers.h"
#include "made_openers.h"

static size_t polls; /* of the sampler */

int __wrap_sampler_poll(struct sampler *s);

int __wrap_sampler_poll(struct sampler *s)
{
	(void)s;
	polls++;
	return 0;
}

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
	return opener_call_files(openers_call(w->openers),
		&(struct opener_place){ .fd = root, .uid = getuid(), .blamed = view }, &paths, at,
		found);
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

static void an_opener_stays_when_a_descriptor_cannot_be_sent(void **state)
{
	struct world *w = *state;
	const struct opener_process us = { .pid = getpid() };
	struct opener_found found = { .fd = -1 };
	_cleanup_fd_ int dir = -1;
	uint32_t at = 0;

	*unsendable = 1; /* the root that goes with the request */
	assert_int_equal(call_files(w, 7, &at, &found), -EAGAIN);
	*unsendable = 1; /* the folder that comes */
	assert_int_equal(opener_call_dir(openers_call(w->openers), &us, "/", &dir), -EAGAIN);
	assert_int_equal(w->starter.unsent, 2);
	assert_int_equal(call_files(w, 7, &at, &found), 0);
	fd_close(&found.fd);
	assert_int_equal(starts, 1);
}

/* Never so long that they hang. */
static void slow_calls_of_an_account_end_before_they_take_all_our_time(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	uint32_t at = 0;
	int err;

	manner = REFUSES_SLOWLY;
	do
		err = call_files(w, 1, &at, &found);
	while (err == -ENOENT);
	assert_int_equal(err, -ETIME);
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - begin_ns, OPENER_SPENT_NS / 2,
		2 * OPENER_SPENT_NS);
	assert_int_equal(call_files(w, 1, &at, &found), -ETIME);
	/* Who took nothing yet is answered. */
	assert_int_equal(call_files(w, 2, &at, &found), -ENOENT);
	assert_int_equal(call_files(w, 3, &at, &found), -ENOENT);
	assert_int_equal(starts, 1);
	/* A part of the time that passes is given back: a second is not enough for a call. */
	openers_call(w->openers)->spent.since_ns -= NSEC_PER_SEC;
	assert_int_equal(call_files(w, 1, &at, &found), -ETIME);
	openers_call(w->openers)->spent.since_ns -= OPENER_PART * OPENER_SPENT_NS;
	assert_int_equal(call_files(w, 1, &at, &found), -ENOENT);
}

static void an_opener_that_is_stopped_goes_on(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	uint32_t at = 0;

	manner = STOPS;
	assert_int_equal(call_files(w, 7, &at, &found), 0);
	fd_close(&found.fd);
	assert_int_equal(w->starter.stopped, 1);
}

static void an_opener_that_stays_stopped_blames_nobody(void **state)
{
	struct world *w = *state;
	struct opener_found found = { .fd = -1 };
	uint32_t at = 0;

	manner = STOPS_FOR_EVER;
	assert_int_equal(call_files(w, 7, &at, &found), -EAGAIN);
	assert_int_equal(openers_given_up(w->openers), 0);
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

static void a_folder_is_listed_and_files_come_as_copies(void **state)
{
	struct world *w = *state;
	struct opener_call *call = openers_call(w->openers);
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct opener_place place = {
		.fd = root, .rule = OPENING_ANY, .how = OPENING_COPY, .bytes_max = 4096, .blamed = 7
	};
	_cleanup_(buf_done) struct buf names = BUF_INIT, text = BUF_INIT;
	struct opener_paths paths = { .len = 0 };
	struct opener_found found = { .fd = -1 };
	char dir[] = "/tmp/stoker-listed-XXXXXX", path[64];
	uint32_t at = 0;
	int fd;

	kernel.slow = true; /* copies come from any file system */
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/one", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(opener_call_list(call, &place, dir, &names), 0);
	assert_int_equal(names.len, sizeof(".") + sizeof("..") + sizeof("one"));
	assert_non_null(memmem(names.data, names.len, "one", 4));
	assert_int_equal(opener_paths_add(&paths, path), 0);
	assert_int_equal(opener_call_files(call, &place, &paths, &at, &found), 0);
	assert_int_equal(found.uid, getuid());
	assert_int_equal(fd_read_all(found.fd, 10, &text), 0);
	assert_string_equal(text.data, "text");
	fd_close(&found.fd);
	assert_int_equal(ftruncate(fd, 4097), 0);
	assert_int_equal(opener_call_files(call, &place, &paths, &at, &found), -EFBIG);
	/* What we chose ourselves comes as it is. */
	place.how = OPENING_PASS;
	assert_int_equal(opener_call_files(call, &place, &paths, &at, &found), 0);
	assert_int_equal(lseek(found.fd, 0, SEEK_END), 4097);
	fd_close(&found.fd);
	close(fd);
	unlink(path);
	rmdir(dir);
	assert_int_equal(starts, 1);
}

static void memory_comes_range_by_range(void **state)
{
	struct world *w = *state;
	const struct opener_process us = { .pid = getpid() };
	static const char known[8] = "a known";
	const uint64_t at = (uintptr_t)known;
	/* Nothing of the second can be read. */
	const struct opening_range ranges[] = { { at, at + 8 }, { 4096, 4100 },
		{ at + 2, at + 8 } };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_fd_ int fd = -1;

	assert_int_equal(
		opener_call_memory(openers_call(w->openers), &us, ranges, ARRAY_SIZE(ranges), &fd),
		0);
	assert_int_equal(fd_read_all(fd, 100, &text), 0);
	assert_int_equal(text.len, 18);
	assert_memory_equal(text.data, "a known\0\0\0\0\0known", 18);
}

static void the_folder_above_a_working_folder_comes(void **state)
{
	struct world *w = *state;
	const struct opener_process us = { .pid = getpid() };
	_cleanup_fd_ int fd = -1;
	struct stat above, came;
	char path[PATH_MAX], cwd[PATH_MAX];

	assert_int_equal(opener_call_above_cwd(openers_call(w->openers), &us, &fd, path), 0);
	assert_string_equal(path, getcwd(cwd, sizeof(cwd)));
	assert_int_equal(stat("..", &above), 0);
	assert_int_equal(fstat(fd, &came), 0);
	assert_int_equal(came.st_ino, above.st_ino);
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

/* Else ticks are lost. */
static void the_ring_is_emptied_while_a_process_holds_up_its_scan(void **state)
{
	struct world *w = *state;
	_cleanup_fd_ int iterator = open("/dev/null", O_RDONLY | O_CLOEXEC), text = -1;

	manner = HANGS;
	polls = 0;
	assert_int_equal(opener_call_scan(openers_call(w->openers), iterator, (uint32_t)getpid(),
				 &text),
		-ETIMEDOUT);
	assert_true(polls > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_path_that_there_is_comes),
		TEST(slow_calls_of_an_account_end_before_they_take_all_our_time),
		TEST(an_opener_that_is_stopped_goes_on),
		TEST(an_opener_that_stays_stopped_blames_nobody),
		TEST(of_a_slow_file_system_none_comes),
		TEST(an_opener_stays_when_a_descriptor_cannot_be_sent),
		TEST(a_process_is_read_and_its_folders_are_opened),
		TEST(a_folder_is_listed_and_files_come_as_copies),
		TEST(memory_comes_range_by_range),
		TEST(the_folder_above_a_working_folder_comes),
		TEST(a_call_that_hangs_costs_its_time_once),
		TEST(a_call_believes_no_lie),
		TEST(the_ring_is_emptied_while_a_process_holds_up_its_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
