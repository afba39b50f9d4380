/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined frames and lines, as they come from a worker in its sandbox. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "worker_client.h"

static struct told told;

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
	return 0;
}

/* "name line < name line" of each address, one a line. */
struct lined {
	struct buf text;
	size_t index;
};

static int on_lined(void *ctx, size_t index, const struct worker_name *name)
{
	struct lined *lined = ctx;
	const char *slash = strrchr(name->path, '/');

	if (index != lined->index)
		buf_putc(&lined->text, '\n');
	lined->index = index;
	return buf_printf(&lined->text, "%s %s:%u%s", name->name, slash ? slash + 1 : "",
		name->line, name->inlined ? " < " : "");
}

static void ask_lines(
	uint64_t id, int fd, const uint64_t *at, size_t len, bool lines, struct lined *out)
{
	struct worker_object object = { .id = id, .fd = fd };
	struct worker_query query = { .addresses = at,
		.len = len,
		.demangle = true,
		.until_ns = in_ns(LONG_NS),
		.lines_until_ns = lines ? in_ns(LONG_NS) : 0 };
	struct worker_symbols symbols;

	buf_clear(&out->text);
	out->index = 0;
	assert_int_equal(
		worker_client_names(told.client, &object, &query, on_lined, out, &symbols), 0);
	assert_int_equal(symbols.status, WORKER_OK);
}

static void inlined_frames_come_before_the_function_they_are_in(void **state)
{
	static const uint64_t at[] = { 0x1027, 0x1041, 0x10d0 };
	static const char frames[] =
		"shop::sell(shop::desk&, long) inline.cc:53\n"
		"shop::(anonymous namespace)::till::put inline.cc:25 < "
		"shop::desk::pay(long) inline.cc:45 < shop::sell(shop::desk&, long) inline.cc:54\n"
		"half inline.cc:64 < plain inline.cc:70";
	_cleanup_fd_ int fd = open("tests/golden/inline-5.so", O_RDONLY | O_CLOEXEC);
	struct lined lined = { .text = BUF_INIT };

	(void)state;
	assert_true(fd >= 0);
	ask_lines(1, fd, at, ARRAY_SIZE(at), true, &lined);
	assert_string_equal(lined.text.data, frames);
	ask_lines(1, fd, at, ARRAY_SIZE(at), true, &lined);
	assert_string_equal(lined.text.data, frames);
	ask_lines(2, fd, at, 2, false, &lined);
	assert_string_equal(lined.text.data,
		"shop::sell(shop::desk&, long) :0\nshop::sell(shop::desk&, long) :0");
	assert_int_equal(told_stats(&told).lost[LANE_ENDED], 0);
	buf_done(&lined.text);
}

static void a_file_that_is_cut_has_names_but_no_lines(void **state)
{
	static const uint64_t at[] = { 0x10d0 };
	_cleanup_fd_ int from = open("tests/golden/inline-5.so", O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	char path[] = "/var/tmp/stoker-lines-XXXXXX"; /* one in memory is copied as it is read */
	_cleanup_fd_ int fd = mkstemp(path);
	struct lined lined = { .text = BUF_INIT };

	(void)state;
	unlink(path);
	assert_int_equal(fd_read_all(from, 1 << 20, &bytes), 0);
	assert_int_equal(fd_write_all(fd, bytes.data, bytes.len), 0);
	ask_lines(1, fd, at, 1, true, &lined);
	assert_string_equal(lined.text.data, "half inline.cc:64 < plain inline.cc:70");
	ask_lines(2, fd, at, 0, true, &lined);
	assert_int_equal(ftruncate(fd, 4096), 0);
	/* Of the first all is known by now, of the second nothing but where it lies. */
	ask_lines(2, fd, at, 1, true, &lined);
	assert_string_equal(lined.text.data, "plain :0");
	assert_int_equal(told_stats(&told).lost[LANE_ENDED], 0);
	buf_done(&lined.text);
}

static void more_frames_than_a_reply_holds_come_in_the_next(void **state)
{
	static uint64_t at[9000];
	_cleanup_fd_ int fd = open("tests/golden/inline-5.so", O_RDONLY | O_CLOEXEC);
	struct lined lined = { .text = BUF_INIT };
	size_t lines = 0, whole = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = 0x1041;
	ask_lines(1, fd, at, ARRAY_SIZE(at), true, &lined);
	for (char *line = strtok(lined.text.data, "\n"); line; line = strtok(NULL, "\n")) {
		lines++;
		whole += strstr(line, "put inline.cc:25 < ") != NULL &&
			strstr(line, "sell(shop::desk&, long) inline.cc:54") != NULL;
	}
	assert_int_equal(lines, ARRAY_SIZE(at));
	assert_int_equal(whole, ARRAY_SIZE(at));
	buf_done(&lined.text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(inlined_frames_come_before_the_function_they_are_in),
		TEST(a_file_that_is_cut_has_names_but_no_lines),
		TEST(more_frames_than_a_reply_holds_come_in_the_next),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
