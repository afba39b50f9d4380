/* SPDX-License-Identifier: Apache-2.0 */
/* test_clerk.c - the clerk waits for a reader, and its caller does not. */
#include "unit.h"

#include <errno.h>
#include <poll.h>

#include "make_place.h"
#include "output/clerk.h"

#define PIECE_BYTES (1 << 20)
#define CALLS 3

struct sampling {
	int calls;
};

/* After some calls the FIFO's reader takes what there is. */
static int sample(void *ctx)
{
	static char bytes[PIECE_BYTES];
	struct sampling *s = ctx;

	if (++s->calls > CALLS)
		(void)!read(reader, bytes, sizeof(bytes));
	return 0;
}

static int write_piece(struct sampling *s, int signals, struct why *why)
{
	const struct clerk_options options = { .pattern = "f" };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct clerk clerk = CLERK_INIT;
	char path[OUTPUT_PATH_MAX], *room;
	int err;

	make_all("read-fifo f");
	assert_int_equal(buf_reserve(&bytes, PIECE_BYTES, &room), 0);
	memset(room, 'x', PIECE_BYTES);
	buf_commit(&bytes, PIECE_BYTES);
	assert_int_equal(clerk_open(&clerk, &options, why), 0);
	assert_int_equal(clerk_begin(&clerk, 0, path, why), 0);
	clerk.signals = signals;
	clerk.meanwhile = sample;
	clerk.ctx = s;
	err = clerk_put(&clerk, &bytes, why);
	clerk_close(&clerk);
	return err;
}

static void sampling_goes_on_while_a_reader_takes_nothing(void **state)
{
	struct sampling s = { 0 };
	struct why why = { "" };

	(void)state;
	assert_int_equal(write_piece(&s, -1, &why), 0);
	assert_in_range(s.calls, CALLS + 1, 10000);
}

static void a_signal_ends_the_wait_for_a_reader(void **state)
{
	struct sampling s = { .calls = INT_MIN };
	struct why why = { "" };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_write_all(ends[1], "x", 1), 0);
	assert_int_equal(write_piece(&s, ends[0], &why), -ECANCELED);
	assert_non_null(strstr(why.text, "cannot write the rest of f: a signal came"));
	close(ends[0]);
	close(ends[1]);
}

/* An agent that was taken over gives orders in any order. */
static void a_piece_of_no_file_is_refused_and_the_clerk_goes_on(void **state)
{
	const struct clerk_options options = { .pattern = "f" };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct clerk clerk = CLERK_INIT;
	char path[OUTPUT_PATH_MAX];
	struct why why = { "" };

	(void)state;
	assert_int_equal(buf_puts(&bytes, "text"), 0);
	assert_int_equal(clerk_open(&clerk, &options, &why), 0);
	assert_int_equal(clerk_put(&clerk, &bytes, &why), -EPROTO);
	assert_int_equal(clerk_end(&clerk, &why), -EPROTO);
	assert_int_equal(clerk_begin(&clerk, 0, path, &why), 0);
	assert_int_equal(clerk_begin(&clerk, 0, path, &why), -EPROTO);
	/* The first was aborted with it. */
	assert_int_equal(clerk_put(&clerk, &bytes, &why), -EPROTO);
	assert_int_equal(clerk_abort(&clerk, &why), 0);
	assert_int_equal(clerk_begin(&clerk, 0, path, &why), 0);
	assert_int_equal(clerk_put(&clerk, &bytes, &why), 0);
	assert_int_equal(clerk_end(&clerk, &why), 0);
	assert_int_equal(clerk_put(&clerk, &bytes, &why), -EPROTO);
	assert_false(clerk_is_lost(&clerk));
	clerk_close(&clerk);
	assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			sampling_goes_on_while_a_reader_takes_nothing, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_piece_of_no_file_is_refused_and_the_clerk_goes_on,
			make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_signal_ends_the_wait_for_a_reader, make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
