/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of a deferred sample over the two pieces of its stack copy: from a leaf, up a frame that
 * is larger than both, to an outermost one. Each event has its very size, so that ASan sees a byte
 * too many. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "bpf/reasons.h"
#include "unwind/walk.h"

#define CODE 0x10000ULL
#define FUNCTION_BYTES 0x100
#define SP 0x7000000ULL
#define LEAF_BYTES 64
#define LARGE_BYTES (1U << 20)
/* Where the return address of the large frame is, and that of its caller. */
#define LARGE_RETURN (SP + LEAF_BYTES + LARGE_BYTES - 8)
#define ROOT_FRAME_BYTES 48
#define LAST_RETURN (LARGE_RETURN + ROOT_FRAME_BYTES)

enum function { LEAF, LARGE, CALLER, OUTERMOST, FUNCTIONS };

static const struct unwind_rule rules[FUNCTIONS] = {
	[LEAF] = { .cfa = CFA_REG, .cfa_reg = 7, .cfa_off = LEAF_BYTES, .cfa_add = LEAF_BYTES,
		.ra = RA_AT_CFA, .ra_off = -8, .fp = FP_AT_CFA, .fp_off = -16 },
	[LARGE] = { .cfa = CFA_REG, .cfa_reg = 7, .cfa_off = LARGE_BYTES, .cfa_add = LARGE_BYTES,
		.ra = RA_AT_CFA, .ra_off = -8 },
	[CALLER] = { .cfa = CFA_REG, .cfa_reg = 7, .cfa_off = ROOT_FRAME_BYTES,
		.cfa_add = ROOT_FRAME_BYTES, .ra = RA_AT_CFA, .ra_off = -8 },
	[OUTERMOST] = { .cfa = CFA_REG, .cfa_reg = 7, .ra = RA_UNDEFINED },
};

static uint32_t rule(void *ctx, uint32_t object, uint64_t offset, struct unwind_rule *out)
{
	(void)ctx, (void)object;
	*out = rules[offset / FUNCTION_BYTES % FUNCTIONS];
	return END_NONE;
}

static uint32_t ready(void *ctx, uint32_t object)
{
	(void)ctx, (void)object;
	return TABLE_READY;
}

static int read_nothing(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	(void)ctx, (void)m, (void)addr, (void)dst, (void)size;
	return -1;
}

static uint64_t return_into(enum function function)
{
	return CODE + FUNCTION_BYTES * function + 0x40;
}

static void put(uint8_t *piece, uint64_t start, uint32_t bytes, uint64_t addr, uint64_t word)
{
	if (addr >= start && addr - start <= bytes && bytes - (addr - start) >= sizeof(word))
		memcpy(piece + (addr - start), &word, sizeof(word));
}

static struct event_deferred *sample_of(uint32_t stack_bytes, uint64_t root_at, uint32_t root_bytes)
{
	const struct event_deferred head = { .pc = return_into(LEAF),
		.sp = SP,
		.exact = 1,
		.stack_bytes = stack_bytes,
		.root_at = root_at,
		.root_bytes = root_bytes };
	struct event_deferred *event =
		malloc(offsetof(struct event_deferred, data) + deferred_copy_bytes(&head));

	assert_non_null(event);
	memcpy(event, &head, offsetof(struct event_deferred, data));
	memset(event->data, 0xff, deferred_copy_bytes(&head));
	put(deferred_stack(event), SP, stack_bytes, SP + LEAF_BYTES - 16, SP);
	put(deferred_stack(event), SP, stack_bytes, SP + LEAF_BYTES - 8, return_into(LARGE));
	put(deferred_root(event), root_at, root_bytes, LARGE_RETURN, return_into(CALLER));
	put(deferred_root(event), root_at, root_bytes, LAST_RETURN, return_into(OUTERMOST));
	return event;
}

/* The end; *frames_len is the number of frames. */
static uint32_t walk(const struct event_deferred *event, uint32_t *frames_len)
{
	const struct scan_mapping code = {
		.start = CODE, .end = CODE + FUNCTIONS * FUNCTION_BYTES, .object = 1
	};
	const struct walk_world world = { .table = ready, .rule = rule, .read = read_nothing };
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	uint32_t end = walk_deferred(&world, event, &code, 1, &stack);

	*frames_len = stack.frames_len;
	return end;
}

static void a_walk_reads_either_piece_and_is_cut_between_them(void **state)
{
	static const struct {
		const char *what;
		uint32_t stack_bytes;
		uint64_t root_at;
		uint32_t root_bytes, end, frames_len;
	} rows[] = {
		{ "both", DEFERRED_ROOT_OFFSET, LAST_RETURN + 8 - DEFERRED_ROOT_BYTES,
			DEFERRED_ROOT_BYTES, END_ROOT, 4 },
		{ "a short first piece", LEAF_BYTES, LARGE_RETURN, 56, END_ROOT, 4 },
		{ "its last byte is missing", LEAF_BYTES - 1, LARGE_RETURN, 56, END_STACK_READ, 1 },
		{ "no first piece", 0, LARGE_RETURN, 56, END_STACK_READ, 1 },
		{ "a root piece of two words and what is between", LEAF_BYTES, LARGE_RETURN,
			ROOT_FRAME_BYTES + 8, END_ROOT, 4 },
		{ "one byte less", LEAF_BYTES, LARGE_RETURN, ROOT_FRAME_BYTES + 7, END_STACK_READ,
			3 },
		{ "it begins a byte late", LEAF_BYTES, LARGE_RETURN + 1, ROOT_FRAME_BYTES + 8,
			END_STACK_READ, 2 },
		{ "one word", LEAF_BYTES, LARGE_RETURN, 8, END_STACK_READ, 3 },
		{ "a byte", LEAF_BYTES, LARGE_RETURN, 1, END_STACK_READ, 2 },
		{ "no root piece", DEFERRED_STACK_BYTES, LARGE_RETURN, 0, END_STACK_READ, 2 },
		{ "elsewhere", LEAF_BYTES, SP / 2, DEFERRED_ROOT_BYTES, END_STACK_READ, 2 },
		{ "over the address space's end", LEAF_BYTES, UINT64_MAX - 100, DEFERRED_ROOT_BYTES,
			END_STACK_READ, 2 },
		{ "at its end", LEAF_BYTES, UINT64_MAX, DEFERRED_ROOT_BYTES, END_STACK_READ, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(freep) struct event_deferred *event =
			sample_of(rows[i].stack_bytes, rows[i].root_at, rows[i].root_bytes);
		uint32_t frames_len, end = walk(event, &frames_len);

		if (end != rows[i].end || frames_len != rows[i].frames_len)
			fail_msg("%s: end %u after %u frames", rows[i].what, end, frames_len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_reads_either_piece_and_is_cut_between_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
