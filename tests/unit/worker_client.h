/* SPDX-License-Identifier: Apache-2.0 */
/* worker_client.h - a client with what it told, for tests. The workers are the test program itself,
 * so its main() begins with worker_client_main(). */
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/stats.h"
#include "worker/worker.h"

#define ROWS_TOLD_MAX 64
#define LONG_NS (30 * NSEC_PER_SEC)

struct told {
	struct worker_client *client;
	size_t len;
	struct worker_rows rows[ROWS_TOLD_MAX]; /* of which .rows is gone */
	void *bytes;                            /* a copy of the last ones that came */
	size_t size;
	bool again; /* ask again, from within, for what was refused */
	int again_fd;
};

static inline void on_rows(void *ctx, const struct worker_rows *rows)
{
	struct told *told = ctx;

	assert_true(told->len < ROWS_TOLD_MAX);
	told->rows[told->len] = *rows;
	told->rows[told->len++].rows = NULL;
	if (told->again)
		assert_int_equal(worker_client_rows(told->client, rows->id, told->again_fd), 0);
	if (!rows->rows)
		return;
	free(told->bytes);
	told->bytes = malloc(rows->rows_bytes);
	told->size = rows->rows_bytes;
	memcpy(told->bytes, rows->rows->head, rows->rows_bytes);
}

static inline void told_open_with(struct told *told, struct worker_client_options options)
{
	struct why why = { "" };
	int err;

	*told = (struct told){ 0 };
	err = worker_client_open(&options, &told->client, &why);
	if (err < 0)
		print_message("%s\n", why.text);
	assert_int_equal(err, 0);
	worker_client_listen(told->client, on_rows, told);
}

static inline void told_close(struct told *told)
{
	worker_client_free(told->client);
	free(told->bytes);
}

/* Waits until so many results were told. */
static inline void told_await(struct told *told, size_t len)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + LONG_NS;

	while (told->len < len && clock_ns(CLOCK_MONOTONIC) < end) {
		struct pollfd ready = { worker_client_fd(told->client), POLLIN, 0 };

		poll(&ready, 1, 20);
		assert_int_equal(worker_client_poll(told->client), 0);
	}
	assert_int_equal(told->len, len);
}

static inline struct worker_stats told_stats(struct told *told)
{
	struct worker_stats stats;

	worker_client_stats(told->client, &stats);
	return stats;
}

static inline uint64_t in_ns(uint64_t ns)
{
	return clock_ns(CLOCK_MONOTONIC) + ns;
}

static inline int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, size), 0);
	return fd;
}

static inline int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Becomes a worker if this program was started as one. */
static inline void worker_client_main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		exit(worker_main(WORKER_FD));
}
