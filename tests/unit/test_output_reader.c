/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_reader.c - a FIFO's reader that takes some bytes whenever the writer waits for it,
 * and time that passes with each of these waits. LINK: -Wl,--wrap=poll,--wrap=clock_gettime */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "output/output.h"

#define PIPE_BYTES (1 << 16)
#define STALL_MS 1000
#define WAIT_MS (STALL_MS / 20)

static int reader = -1;
static size_t taken_bytes;
static long waits;

int __wrap_poll(struct pollfd *fds, nfds_t len, int ms);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_poll(struct pollfd *fds, nfds_t len, int ms)
{
	char bytes[PIPE_BUF];

	(void)fds, (void)len, (void)ms;
	for (size_t sum = 0; sum < taken_bytes; sum += sizeof(bytes))
		if (read(reader, bytes, sizeof(bytes)) < 0)
			return 0;
	waits++;
	return 1;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	long ms = waits * WAIT_MS;

	(void)id;
	*out = (struct timespec){ 1000 + ms / 1000, ms % 1000 * 1000000 };
	return 0;
}

static void a_reader_must_take_a_mebibyte_in_time(void **state)
{
	static const struct {
		size_t taken, size;
		int err;
	} rows[] = {
		{ PIPE_BUF, 1 << 20, -ETIMEDOUT },
		{ PIPE_BUF, PIPE_BYTES + PIPE_BUF, 0 },
		{ PIPE_BYTES, 8 << 20, 0 },
	};
	char dir[] = "/tmp/stoker-reader-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf bytes = BUF_INIT;
		struct output output = { .pattern = path, .stall_ms = STALL_MS };
		struct why why = { "" };
		char *room;
		int err;

		assert_int_equal(mkfifo(path, 0600), 0);
		reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		assert_int_equal(buf_reserve(&bytes, rows[i].size, &room), 0);
		memset(room, 'x', rows[i].size);
		buf_commit(&bytes, rows[i].size);
		taken_bytes = rows[i].taken;
		err = output_write(&output, &bytes, &why);
		fd_close(&reader);
		unlink(path);
		if (err != rows[i].err)
			fail_msg("row %zu: %d, %s", i, err, why.text);
	}
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_must_take_a_mebibyte_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
