/* SPDX-License-Identifier: Apache-2.0 */
/* copy_check.c - how much of its stack does a deferred sample bring, and is it a true copy?
 * Makes deferred samples of this process, whose stack pointer is so far below the end of a mapping,
 * with the product's programs, and reads each from the ring. Prints a line a check: `ok NAME ...`
 * or `not ok NAME ...`. Exits 1 when one is not ok, 2 when it cannot run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "base/own.h"
#include "ring_check.skel.h"
#include "tests/ring/ring_check.h"

#define COPIES_RING_BYTES (1 << 20)
#define ROOM (256 * 1024)
#define LONG_AGO 1

struct row {
	const char *name;
	uint32_t rest;    /* bytes from the stack pointer to the mapping's end */
	uint32_t touched; /* of them, from sp on; the other pages are absent. 0: all */
	uint32_t walked;
	uint32_t end;
	uint64_t deadline_ns;
	uint32_t before; /* long samples that are in the ring already */
	uint32_t long_copies;
	uint32_t copied; /* 0: no event */
};

static const struct row rows[] = {
	{ .name = "a word", .rest = 8, .copied = 8 },
	{ .name = "a page", .rest = 4096, .copied = 4096 },
	{ .name = "and a byte", .rest = 4097, .copied = 4097 },
	{ .name = "16 KiB", .rest = 16384, .copied = 16384 },
	{ .name = "some more", .rest = 16392, .copied = 16392 },
	{ .name = "32 KiB", .rest = 32768, .copied = 32768 },
	{ .name = "50 KB", .rest = 50000, .copied = 50000 },
	{ .name = "64 KiB", .rest = 65536, .copied = 65536 },
	{ .name = "a longer stack", .rest = 200000, .copied = 65536 },
	{ .name = "many frames", .rest = 1000, .walked = 600, .copied = 1000 },
	{ .name = "many frames, long", .rest = 60000, .walked = 65, .copied = 60000 },
	{ .name = "absent pages", .rest = 65536, .touched = 20480, .copied = 20480 },
	{ .name = "one page", .rest = 40960, .touched = 4096, .copied = 4096 },
	{ .name = "late", .rest = 65536, .deadline_ns = LONG_AGO, .copied = 16384 },
	{ .name = "many long copies", .rest = 65536, .long_copies = 256, .copied = 16384 },
	{ .name = "little room", .rest = 65536, .before = 7, .copied = 16384 },
	{ .name = "no room", .rest = 65536, .before = 14 },
	{ .name = "the walk was cut", .rest = 65536, .end = END_TIME, .copied = 65536 },
	{ .name = "cut, of a longer stack", .rest = 65544, .end = END_TIME },
	{ .name = "cut, late", .rest = 20000, .end = END_TIME, .deadline_ns = LONG_AGO },
	{ .name = "cut, with an absent page", .rest = 8192, .touched = 4096, .end = END_TIME },
};

struct seen {
	const uint8_t *stack;
	uint32_t copied;
	bool is_false;
};

static void die(const char *what)
{
	fprintf(stderr, "copy_check: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int on_event(void *ctx, void *data, size_t size)
{
	const struct event_deferred *event = data;
	struct seen *seen = ctx;

	if (size < offsetof(struct event_deferred, data) || event->kind != EVENT_DEFERRED)
		return 0;
	if (event->sp != (uint64_t)(uintptr_t)seen->stack)
		return 0;
	seen->copied = event->stack_bytes;
	seen->is_false =
		size < offsetof(struct event_deferred, data) + deferred_frames_bytes(event) +
				event->stack_bytes ||
		memcmp(deferred_stack(event), seen->stack, event->stack_bytes) != 0;
	return 0;
}

static struct ring_check_bpf *load(void)
{
	struct ring_check_bpf *skel = ring_check_bpf__open();

	if (!skel)
		die("open");
	bpf_map__set_max_entries(skel->maps.events, COPIES_RING_BYTES);
	skel->rodata->ring_bytes = COPIES_RING_BYTES;
	skel->rodata->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	bpf_program__set_autoload(skel->progs.scan_tasks, false);
	if (ring_check_bpf__load(skel) < 0)
		die("load");
	/* No limit of time unless a row says so. */
	skel->data->walk_limit_ns = TICK_WALK_PARTS;
	return skel;
}

/* A mapping by itself, with absent pages on both sides of the stack. */
static uint8_t *make_stack(const struct row *row)
{
	uint8_t *room = mmap(NULL, ROOM + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *stack = room + ROOM - row->rest;
	uint32_t len = row->touched ? row->touched : row->rest;

	if (room == MAP_FAILED || mprotect(room, ROOM, PROT_READ | PROT_WRITE) < 0)
		die("mmap");
	for (uint32_t i = 0; i < len; i++)
		stack[i] = (uint8_t)(i * 7 + i / 251 + 1);
	return stack;
}

static void run(struct ring_check_bpf *skel, const uint8_t *stack)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	skel->bss->stack_pointer = (uint64_t)(uintptr_t)stack;
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.make_deferred), &opts) < 0)
		die("run");
}

static bool check(struct ring_check_bpf *skel, struct ring_buffer *ring, struct seen *seen,
	const struct row *row)
{
	static const struct row filler = { .rest = 65536 };
	const uint8_t *filled = make_stack(&filler), *stack = make_stack(row);
	bool ok;

	skel->data->walk_end = END_NO_TABLE;
	skel->bss->deadline_ns = UINT64_MAX / 2;
	skel->bss->walked = skel->bss->long_copies = 0;
	for (uint32_t i = 0; i < row->before; i++)
		run(skel, filled);
	if (row->end)
		skel->data->walk_end = row->end;
	if (row->deadline_ns)
		skel->bss->deadline_ns = row->deadline_ns;
	skel->bss->walked = row->walked;
	skel->bss->long_copies = row->long_copies;
	*seen = (struct seen){ .stack = stack };
	run(skel, stack);
	if (ring_buffer__consume(ring) < 0)
		die("ring");
	ok = seen->copied == row->copied && !seen->is_false;
	printf("%s %s: %u of %u bytes%s\n", ok ? "ok" : "not ok", row->name, seen->copied,
		row->rest, seen->is_false ? ", and not those" : "");
	munmap((uint8_t *)(uintptr_t)stack - (ROOM - row->rest), ROOM + 65536);
	munmap((uint8_t *)(uintptr_t)filled - (ROOM - filler.rest), ROOM + 65536);
	return ok;
}

int main(void)
{
	struct ring_check_bpf *skel = load();
	struct seen seen = { 0 };
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(skel->maps.events), on_event, &seen, NULL);
	bool ok = true;

	if (!ring)
		die("ring");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok &= check(skel, ring, &seen, &rows[i]);
	ring_buffer__free(ring);
	ring_check_bpf__destroy(skel);
	return ok ? 0 : 1;
}
