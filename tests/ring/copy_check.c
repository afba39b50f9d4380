/* SPDX-License-Identifier: Apache-2.0 */
/* copy_check.c - how much of its stack does a deferred sample bring, and is it a true copy?
 * Makes deferred samples of this process, whose stack pointer is so far below the end of a mapping,
 * with the product's programs, and reads each from the ring. Prints a line a check: `ok NAME ...`
 * or `not ok NAME ...`. Exits 1 when one is not ok, 2 when it cannot run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
	uint32_t touched_above; /* and so many at the end */
	uint32_t above;         /* of them are a thread's own data; 0: that is elsewhere */
	uint32_t tls;           /* and TLS below that */
	uint32_t walked;
	uint32_t end;
	uint64_t deadline_ns;
	uint32_t before; /* long samples that are in the ring already */
	enum { UNKNOWN, SAME, ANOTHER } account; /* that sent those before */
	uint32_t long_copies;
	uint32_t copied; /* 0: no event */
	uint32_t root;   /* length of the second piece */
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
	{ .name = "in a longer mapping", .rest = 200000, .copied = 65536 },
	{ .name = "below a thread's data", .rest = 200000, .above = 134464, .copied = 65536 },
	{ .name = "a longer stack", .rest = 66000, .above = 456, .copied = 40960, .root = 24576 },
	{ .name = "a long stack", .rest = 200000, .above = 16, .copied = 40960, .root = 24576 },
	{ .name = "with TLS", .rest = 200000, .above = 16, .tls = 100000, .copied = 40960,
		.root = 24576 },
	{ .name = "with much TLS", .rest = 200000, .above = 16, .tls = 134448, .copied = 65536 },
	{ .name = "long, many frames", .rest = 200000, .above = 16, .walked = 600, .copied = 40960,
		.root = 24576 },
	{ .name = "long, little touched", .rest = 204800, .touched = 8192, .touched_above = 9000,
		.above = 800, .copied = 8192, .root = 12288 - 800 },
	{ .name = "long, its end is absent", .rest = 200000, .touched = 100000, .touched_above = 16,
		.above = 16, .tls = 8192, .copied = 65536 },
	{ .name = "long, late", .rest = 200000, .above = 16, .deadline_ns = LONG_AGO,
		.copied = 16384 },
	{ .name = "long, late, many frames", .rest = 200000, .above = 16, .walked = 600,
		.deadline_ns = LONG_AGO, .copied = 16384 },
	{ .name = "many frames", .rest = 1000, .walked = 600, .copied = 1000 },
	{ .name = "many frames, long", .rest = 60000, .walked = 65, .copied = 60000 },
	{ .name = "absent pages", .rest = 65536, .touched = 20480, .copied = 20480 },
	{ .name = "one page", .rest = 40960, .touched = 4096, .copied = 4096 },
	{ .name = "late", .rest = 65536, .deadline_ns = LONG_AGO, .copied = 16384 },
	{ .name = "many long copies", .rest = 65536, .long_copies = 256, .copied = 16384 },
	{ .name = "little room", .rest = 65536, .before = 7, .copied = 16384 },
	{ .name = "its account's share", .rest = 65536, .before = 11, .account = SAME },
	{ .name = "another's share", .rest = 65536, .before = 11, .account = ANOTHER,
		.copied = 16384 },
	{ .name = "no room", .rest = 65536, .before = 20 },
	{ .name = "the walk was cut", .rest = 65536, .end = END_TIME, .copied = 65536 },
	{ .name = "cut, of a longer stack", .rest = 65544, .end = END_TIME },
	{ .name = "cut, of a long stack", .rest = 200000, .above = 16, .end = END_TIME },
	{ .name = "cut, below TLS", .rest = 200000, .above = 16, .tls = 134448, .end = END_TIME,
		.copied = 65536 },
	{ .name = "cut, late", .rest = 20000, .end = END_TIME, .deadline_ns = LONG_AGO },
	{ .name = "cut, with an absent page", .rest = 8192, .touched = 4096, .end = END_TIME },
};

struct seen {
	const uint8_t *stack;
	uint32_t copied, root;
	const uint8_t *end; /* of the second piece */
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
	const uint8_t *root;

	if (size < offsetof(struct event_deferred, data) || event->kind != EVENT_DEFERRED)
		return 0;
	if (event->sp != (uint64_t)(uintptr_t)seen->stack)
		return 0;
	root = (const uint8_t *)(uintptr_t)event->root_at;
	seen->copied = event->stack_bytes;
	seen->root = event->root_bytes;
	seen->end = root + event->root_bytes;
	seen->is_false =
		size < offsetof(struct event_deferred, data) + deferred_frames_bytes(event) +
				deferred_copy_bytes(event) ||
		memcmp(deferred_stack(event), seen->stack, event->stack_bytes) != 0 ||
		memcmp(deferred_root(event), root, event->root_bytes) != 0;
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

/* So that no two pages are the same. */
static void fill(uint8_t *stack, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		stack[i] = (uint8_t)(i * 7 + i / 251 + 1);
}

/* A mapping by itself, with absent pages on both sides of the stack. */
static uint8_t *make_stack(const struct row *row)
{
	uint8_t *room = mmap(NULL, ROOM + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *stack = room + ROOM - row->rest;

	if (room == MAP_FAILED || mprotect(room, ROOM, PROT_READ | PROT_WRITE) < 0)
		die("mmap");
	fill(stack, 0, row->touched ? row->touched : row->rest);
	fill(stack, row->rest - row->touched_above, row->rest);
	return stack;
}

static void run(struct ring_check_bpf *skel, const uint8_t *stack)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	skel->bss->stack_pointer = (uint64_t)(uintptr_t)stack;
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.make_deferred), &opts) < 0)
		die("run");
}

#ifdef __x86_64__
/* Not libc's, which needs the thread's data. */
static long call(long number, long one, const void *two, long three)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(one), "S"(two), "d"(three)
			 : "rcx", "r11", "memory");
	return result;
}

/* As a thread whose own data is at `data`, and one of its TLS blocks at `block`. */
static void run_as_thread(
	struct ring_check_bpf *skel, const uint8_t *stack, uint8_t *data, const uint8_t *block)
{
	const uint64_t vector[32] = { 1, 0, 0, 0, (uintptr_t)block, 0, 16, 0, UINT64_MAX };
	const uint64_t *pointer = vector;
	union bpf_attr attr = { 0 };
	void *own;
	long err;

	attr.test.prog_fd = (uint32_t)bpf_program__fd(skel->progs.make_deferred);
	skel->bss->stack_pointer = (uint64_t)(uintptr_t)stack;
	memcpy(data + 8, &pointer, sizeof(pointer));
	if (call(SYS_arch_prctl, ARCH_GET_FS, &own, 0) ||
		call(SYS_arch_prctl, ARCH_SET_FS, data, 0))
		die("arch_prctl");
	err = call(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	call(SYS_arch_prctl, ARCH_SET_FS, own, 0);
	if (err < 0)
		die("run");
}
#define CAN_BE_THREAD true
#else
static void run_as_thread(
	struct ring_check_bpf *skel, const uint8_t *stack, uint8_t *data, const uint8_t *block)
{
	(void)skel, (void)stack, (void)data, (void)block;
}
#define CAN_BE_THREAD false
#endif

/* The root's cgroup is that of an account, which holds nothing. */
static void put_account(struct ring_check_bpf *skel, bool known)
{
	const uint64_t root = 1, holds[SHARES_LEN] = { 0 };
	int map = bpf_map__fd(skel->maps.accounts);

	(void)bpf_map_delete_elem(map, &root);
	if (known && bpf_map_update_elem(map, &root, holds, BPF_ANY) < 0)
		die("accounts");
}

static bool check(struct ring_check_bpf *skel, struct ring_buffer *ring, struct seen *seen,
	const struct row *row)
{
	static const struct row filler = { .rest = 65536 };
	uint8_t *filled, *stack, *data;
	bool ok;

	if (row->above && !CAN_BE_THREAD)
		return true;
	filled = make_stack(&filler);
	stack = make_stack(row);
	data = stack + row->rest - row->above;

	skel->data->walk_end = END_NO_TABLE;
	skel->bss->deadline_ns = UINT64_MAX / 2;
	skel->bss->walked = skel->bss->long_copies = 0;
	skel->bss->share_turns[SHARE_DEFERRED] = 0;
	put_account(skel, row->account != UNKNOWN);
	for (uint32_t i = 0; i < row->before; i++)
		run(skel, filled);
	if (row->account == ANOTHER)
		put_account(skel, true);
	if (row->end)
		skel->data->walk_end = row->end;
	if (row->deadline_ns)
		skel->bss->deadline_ns = row->deadline_ns;
	skel->bss->walked = row->walked;
	skel->bss->long_copies = row->long_copies;
	*seen = (struct seen){ .stack = stack };
	if (row->above)
		run_as_thread(skel, stack, data, data - row->tls);
	else
		run(skel, stack);
	if (ring_buffer__consume(ring) < 0)
		die("ring");
	ok = seen->copied == row->copied && seen->root == row->root && !seen->is_false &&
		(row->root == 0 || seen->end == data - row->tls);
	printf("%s %s: %u and %u of %u bytes%s\n", ok ? "ok" : "not ok", row->name, seen->copied,
		seen->root, row->rest, seen->is_false ? ", and not those" : "");
	munmap(stack - (ROOM - row->rest), ROOM + 65536);
	munmap(filled - (ROOM - filler.rest), ROOM + 65536);
	return ok;
}

/* ---- the stacks of a thread and of a program, of which other things lie above ---------------- */

#define FAR_BELOW 300000

static __thread uint8_t tls[2 * DEFERRED_ROOT_BYTES];

struct far {
	struct ring_check_bpf *skel;
	struct ring_buffer *ring;
	struct seen *seen;
	const uint8_t *frame; /* of the function that began the stack, or near it */
};

/* Not inlined, so that its frame is one by itself. */
static __attribute__((noinline)) void run_far_below(struct far *far)
{
	volatile uint8_t large[FAR_BELOW];

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = 1;
	*far->seen = (struct seen){ .stack = (const uint8_t *)large };
	run(far->skel, far->seen->stack);
	if (ring_buffer__consume(far->ring) < 0)
		die("ring");
}

static void *run_in_thread(void *arg)
{
	struct far *far = arg;

	memset(tls, 1, sizeof(tls));
	far->frame = __builtin_frame_address(0);
	run_far_below(far);
	return tls;
}

/* The bytes cannot be compared: the stack is in use. */
static bool check_far(const char *name, const struct far *far, const uint8_t *above)
{
	const struct seen *seen = far->seen;
	bool ok = seen->copied == DEFERRED_ROOT_OFFSET && seen->root == DEFERRED_ROOT_BYTES &&
		seen->end - seen->root <= far->frame && far->frame < seen->end &&
		seen->end <= above;

	printf("%s %s: %u and %u bytes, which end %td after a frame and %td before other things\n",
		ok ? "ok" : "not ok", name, seen->copied, seen->root, seen->end - far->frame,
		above - seen->end);
	return ok;
}

static bool check_thread(struct far *far)
{
	pthread_t thread;
	void *above;

	if (pthread_create(&thread, NULL, run_in_thread, far) || pthread_join(thread, &above))
		die("thread");
	return check_far("a thread with TLS", far, above);
}

int main(int argc, char **argv)
{
	struct ring_check_bpf *skel = load();
	struct seen seen = { 0 };
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(skel->maps.events), on_event, &seen, NULL);
	struct far far = { skel, ring, &seen, __builtin_frame_address(0) };
	bool ok = true;

	(void)argc;
	if (!ring)
		die("ring");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok &= check(skel, ring, &seen, &rows[i]);
	skel->data->walk_end = END_NO_TABLE;
	skel->bss->deadline_ns = UINT64_MAX / 2;
	skel->bss->walked = skel->bss->long_copies = 0;
	ok &= check_thread(&far);
	far.frame = __builtin_frame_address(0);
	run_far_below(&far);
	ok &= check_far("a program's own stack", &far, (const uint8_t *)argv);
	ring_buffer__free(ring);
	ring_check_bpf__destroy(skel);
	return ok ? 0 : 1;
}
