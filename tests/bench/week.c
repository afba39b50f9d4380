/* SPDX-License-Identifier: Apache-2.0 */
/* week.c - makes a store as if a daemon had run for a week: 10,080 profiles of a minute, 2,000
 * stacks each, of 20 containers. Usage: week DIR [SEGMENTS [STACKS]]
 * A minute's stacks are drawn from half as many again, so that most are met the next minute and
 * some are not. There are VARIANTS different minutes; of a minute that comes again the head alone
 * is another, which is what makes this quick. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "store/merge.h"
#include "store/name.h"
#include "store/segment.h"
#include "store/store.h"

#define VARIANTS 64
#define CONTAINERS 20
#define FRAMES_MAX 48
#define FUNCTIONS 4000
#define MINUTE (60 * NSEC_PER_SEC)
#define LINE_MAX 8192
/* Numbers of a head are found again by these; all have as many digits as what replaces them. */
#define ID 1000000000000000001ULL
#define START 1000000000000000002ULL
#define END 1000000000000000003ULL

static uint32_t chance(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Stack n is the same in every minute. Neighbours share their roots, as in a real program. */
static size_t make_stack(uint32_t n, char *out)
{
	uint32_t root = n / 50 + 1, own = n + 1, frames = 12 + chance(&own) % (FRAMES_MAX - 12);
	size_t len = (size_t)sprintf(out, "container-%02u;pod-%u;worker", n % CONTAINERS, n % 7);

	for (uint32_t i = 0; i < frames; i++) {
		uint32_t function = chance(i < frames / 2 ? &root : &own) % FUNCTIONS;

		len += (size_t)sprintf(out + len, ";%s::function_%u(%s)",
			function % 3 ? "app" : "library::detail", function,
			function % 2 ? "int" : "");
	}
	return len;
}

static void make_text(uint32_t variant, uint32_t stacks, struct buf *out)
{
	_cleanup_(merge_done) struct merge merge;
	uint32_t state = variant + 1;
	char line[LINE_MAX];
	int err = merge_init(&merge);

	for (uint32_t n = 0, left = stacks; left > 0 && err == 0; n++) {
		uint32_t all = stacks + stacks / 2;

		if (chance(&state) % (all - n) >= left)
			continue;
		left--;
		err = merge_add(&merge,
			(struct bytes){ (const uint8_t *)line, make_stack(n, line) },
			1 + chance(&state) % 5);
	}
	err = err < 0 ? err : merge_write(&merge, 1, out);
	assert(err == 0);
}

static void make_variant(uint32_t variant, uint32_t stacks, struct buf *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const struct segment_about about = { .host = "bench",
		.by = "container,pod,comm",
		.account = "{\"hz\": 19}",
		.id = ID,
		.start_ns = START,
		.end_ns = END,
		.hz = 19 };
	int err;

	make_text(variant, stacks, &text);
	err = segment_write(&about, (struct bytes){ (const uint8_t *)text.data, text.len }, out);
	assert(err == 0);
}

static void put_number(struct buf *bytes, uint64_t mark, uint64_t number)
{
	char from[24], to[24];
	char *at;

	snprintf(from, sizeof(from), "%llu", (unsigned long long)mark);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)number);
	at = memmem(bytes->data, bytes->len, from, strlen(from));
	assert(at && strlen(from) == strlen(to));
	memcpy(at, to, strlen(to));
}

static int write_segment(int dir, const struct buf *variant, uint64_t start_ns, uint64_t i)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	char name[STORE_NAME_MAX];
	int err = buf_put(&bytes, variant->data, variant->len);

	if (err < 0)
		return err;
	put_number(&bytes, ID, ID + 10 + i);
	put_number(&bytes, START, start_ns);
	put_number(&bytes, END, start_ns + MINUTE);
	store_name(start_ns, start_ns + MINUTE, 1, name);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd_write_all(fd, bytes.data, bytes.len);
}

/* What the index says is made of the segments, as after it was lost. */
static int make_index(const char *path)
{
	_cleanup_(store_freep) struct store *store = NULL;
	struct store_report report;
	struct why why;
	int err = store_open(AT_FDCWD, path, STORE_WRITE, &store, &report, &why);

	if (err < 0)
		fprintf(stderr, "%s\n", why.text);
	else
		printf("%zu segments, %.1f MB\n", store_len(store),
			(double)store_bytes(store) / 1e6);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t segments = argc > 2 ? strtoull(argv[2], NULL, 10) : 10080;
	uint32_t stacks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2000;
	uint64_t now = clock_ns(CLOCK_REALTIME) / MINUTE * MINUTE;
	struct buf variants[VARIANTS] = { 0 };
	_cleanup_fd_ int dir = -1;
	int err = 0;

	if (argc < 2)
		return 2;
	mkdir(argv[1], 0755);
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 0; i < VARIANTS; i++)
		make_variant(i, stacks, &variants[i]);
	for (uint64_t i = 0; i < segments && err == 0; i++)
		err = write_segment(
			dir, &variants[i * 37 % VARIANTS], now - (segments - i) * MINUTE, i);
	for (uint32_t i = 0; i < VARIANTS; i++)
		buf_done(&variants[i]);
	err = err < 0 ? err : make_index(argv[1]);
	return err < 0;
}
