/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of bpf/frame.bpf.h as user space runs it, on stacks that were recorded from real
 * programs (tests/golden/stack-*.txt, by tests/step/record_all): whole, with their bytes held or
 * asked for, spoilt, and cut short. */
#include "unit.h"

#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/vec.h"
#include "bpf/reasons.h"
#include "unwind/walk.h"

#define LINE_MAX_BYTES 8192
#define OBJECTS_MAX 256
#define SPOILT_TIMES 400

struct piece {
	uint64_t addr;
	uint32_t size;
	uint8_t *bytes; /* of that size: ASan sees one too many */
};

struct known_rule {
	uint32_t object;
	uint64_t offset;
	struct unwind_rule rule;
};

struct recorded {
	struct event_deferred deferred;
	VEC(struct scan_mapping) code;
	VEC(struct known_rule) rules;
	VEC(struct piece) pieces;
	uint8_t tables[OBJECTS_MAX];
	uint64_t frames[STACK_USER_FRAMES_MAX];
	uint32_t frames_len;
	uint32_t end;
	bool strict; /* what was not recorded is an error */
};

/* ---- reading a fixture ---- */

static void parse_registers(struct recorded *r, char *text)
{
	__u64 *const fields[] = { &r->deferred.pc, &r->deferred.sp, &r->deferred.fp,
		&r->deferred.start_stack };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		*fields[i] = strtoull(text, &text, 16);
	for (int i = 0; i < 16; i++)
		r->deferred.gpr[i] = strtoull(text, &text, 16);
	r->deferred.exact = 1;
}

static void parse_code(struct recorded *r, const char *text)
{
	struct scan_mapping *m = vec_add(&r->code);
	unsigned int table;

	assert_int_equal(sscanf(text, "%llx %llx %llx %u %u", &m->start, &m->end, &m->file_offset,
				 &m->object, &table),
		5);
	assert_true(m->object < OBJECTS_MAX);
	r->tables[m->object] = (uint8_t)table;
}

static void parse_rule(struct recorded *r, const char *text)
{
	struct known_rule *k = vec_add(&r->rules);
	struct unwind_rule *u = &k->rule;

	assert_int_equal(sscanf(text, "%u %" SCNu64 " %hhu %hhu %hhu %hhu %d %d %hd %hd",
				 &k->object, &k->offset, &u->cfa, &u->cfa_reg, &u->ra, &u->fp,
				 &u->cfa_off, &u->cfa_add, &u->ra_off, &u->fp_off),
		10);
}

static void parse_memory(struct recorded *r, char *text)
{
	struct piece *p = vec_add(&r->pieces);
	char *hex;

	p->addr = strtoull(text, &hex, 16);
	hex += strspn(hex, " ");
	p->size = (uint32_t)strspn(hex, "0123456789abcdef") / 2;
	p->bytes = malloc(p->size);
	assert_non_null(p->bytes);
	for (uint32_t i = 0; i < p->size; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &p->bytes[i]), 1);
}

static void parse_frame(struct recorded *r, const char *text)
{
	unsigned int object;
	uint64_t offset;

	assert_int_equal(sscanf(text, "%u %" SCNu64, &object, &offset), 2);
	assert_true(r->frames_len < STACK_USER_FRAMES_MAX);
	r->frames[r->frames_len] = strstr(text, " guess") ? FRAME_BY_GUESS : 0;
	r->frames[r->frames_len] |= strstr(text, " chain") ? FRAME_BY_CHAIN : 0;
	r->frames[r->frames_len++] |= object ? (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT |
			(uint64_t)object << FRAME_OBJECT_SHIFT | offset
					     : (uint64_t)FRAME_ANON << FRAME_KIND_SHIFT | offset;
}

static const char *const end_names[] = {
#define X(id, name, text) [id] = name,
	STACK_ENDS(X)
#undef X
};

static void parse_end(struct recorded *r, char *text)
{
	text[strcspn(text, "\n")] = '\0';
	for (uint32_t i = 0; i < STACK_ENDS_LEN; i++) {
		if (strcmp(end_names[i], text) == 0)
			r->end = i;
	}
	assert_int_not_equal(r->end, END_NONE);
}

static void parse_line(struct recorded *r, char *line)
{
	char *rest = strchr(line, ' ');

	assert_non_null(rest);
	*rest++ = '\0';
	if (strcmp(line, "regs") == 0)
		parse_registers(r, rest);
	else if (strcmp(line, "code") == 0)
		parse_code(r, rest);
	else if (strcmp(line, "rule") == 0)
		parse_rule(r, rest);
	else if (strcmp(line, "memory") == 0)
		parse_memory(r, rest);
	else if (strcmp(line, "frame") == 0)
		parse_frame(r, rest);
	else if (strcmp(line, "end") == 0)
		parse_end(r, rest);
	else
		assert_string_equal(line, "#");
}

static void recorded_read(struct recorded *r, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[LINE_MAX_BYTES];

	assert_non_null(file);
	memset(r, 0, sizeof(*r));
	r->strict = true;
	while (fgets(line, sizeof(line), file)) {
		assert_non_null(strchr(line, '\n'));
		parse_line(r, line);
	}
	fclose(file);
	assert_int_not_equal(r->end, END_NONE);
}

static void recorded_done(struct recorded *r)
{
	vec_each (&r->pieces, piece)
		free(piece->bytes);
	vec_done(&r->pieces);
	vec_done(&r->rules);
	vec_done(&r->code);
}

/* ---- walking one ---- */

static uint32_t table(void *ctx, uint32_t object)
{
	const struct recorded *r = ctx;

	return r->tables[object];
}

static uint32_t rule(void *ctx, uint32_t object, uint64_t offset, struct unwind_rule *out)
{
	const struct recorded *r = ctx;

	vec_each (&r->rules, known) {
		if (known->object == object && known->offset == offset) {
			*out = known->rule;
			return END_NONE;
		}
	}
	if (r->strict)
		fail_msg("no rule was asked for at %u %" PRIu64, object, offset);
	*out = (struct unwind_rule){ .cfa = CFA_NONE };
	return END_NONE;
}

static int read_memory(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	const struct recorded *r = ctx;

	(void)m;
	vec_each (&r->pieces, piece) {
		if (addr >= piece->addr && addr - piece->addr <= piece->size &&
			size <= piece->size - (addr - piece->addr)) {
			memcpy(dst, piece->bytes + (addr - piece->addr), size);
			return 0;
		}
	}
	return -1;
}

static uint32_t walk(struct recorded *r, struct walk_stack *out)
{
	const struct walk_world world = {
		.tables = r,
		.memory = r,
		.table = table,
		.rule = rule,
		.read = read_memory,
	};

	return walk_deferred(&world, &r->deferred, r->code.data, r->code.len, out);
}

static void check(struct recorded *r, const char *path)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	uint32_t end = walk(r, &stack);

	if (end != r->end)
		fail_msg("%s: ended by %s after %u frames, not by %s after %u", path,
			end_names[end], stack.frames_len, end_names[r->end], r->frames_len);
	if (stack.frames_len != r->frames_len)
		fail_msg("%s: %u frames, not %u", path, stack.frames_len, r->frames_len);
	for (uint32_t i = 0; i < r->frames_len; i++) {
		if (frames[i] != r->frames[i])
			fail_msg("%s: frame %u is %#" PRIx64 ", not %#" PRIx64, path, i, frames[i],
				r->frames[i]);
	}
}

/* BPF alone reads frames of languages: what was to follow is missing, and the stack says so. */
static void check_language(struct recorded *r, const char *path)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	uint32_t end;

	r->deferred.language = 1;
	end = walk(r, &stack);
	if (end != r->end || FRAME_IS_LEFT_OUT(frames[stack.frames_len - 1]) != (end == END_ROOT))
		fail_msg("%s: ended by %s, or not marked", path, end_names[end]);
}

static void for_each_fixture(void (*test)(struct recorded *r, const char *path))
{
	glob_t paths;

	assert_int_equal(glob("tests/golden/stack-*.txt", 0, NULL, &paths), 0);
	assert_true(paths.gl_pathc >= 14);
	for (size_t i = 0; i < paths.gl_pathc; i++) {
		_cleanup_(recorded_done) struct recorded r;

		recorded_read(&r, paths.gl_pathv[i]);
		test(&r, paths.gl_pathv[i]);
	}
	globfree(&paths);
}

static void recorded_stacks_are_walked_to_their_ends(void **state)
{
	(void)state;
	for_each_fixture(check);
}

/* Into the event what lies on the stack from sp on; what was not asked for is zero. */
static void hold(struct recorded *r)
{
	vec_each (&r->pieces, p) {
		uint64_t at = p->addr - r->deferred.sp;

		if (at > DEFERRED_STACK_BYTES || p->size > DEFERRED_STACK_BYTES - at)
			continue;
		memcpy(deferred_stack(&r->deferred) + at, p->bytes, p->size);
		if (at + p->size > r->deferred.stack_bytes)
			r->deferred.stack_bytes = (uint32_t)at + p->size;
		p->size = 0;
	}
}

static void check_deferred(struct recorded *r, const char *path)
{
	r->strict = false;
	hold(r);
	if (r->deferred.stack_bytes < 64 && r->frames_len > 1)
		fail_msg("%s: %u bytes are kept", path, r->deferred.stack_bytes);
	check(r, path);
}

static void held_bytes_are_walked_as_the_stack_itself(void **state)
{
	(void)state;
	for_each_fixture(check_deferred);
}

/* BPF stopped after so many frames: the n-th has the value 1000 + n. Where it kept a ring, the
 * latest are in it. */
static uint32_t walk_after(struct recorded *r, uint32_t before, struct walk_stack *out)
{
	__u64 *frames = deferred_frames(&r->deferred);

	r->deferred.frames_len = (uint16_t)before;
	for (uint32_t i = 0; i < before; i++)
		frames[i < STACK_LEAF_FRAMES ? i : STACK_LEAF_FRAMES + i % STACK_ROOT_FRAMES] =
			1000 + i;
	return walk(r, out);
}

static void check_after_others(struct recorded *r, const char *path)
{
	uint32_t before = STACK_LEAF_FRAMES - 70;
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };

	/* A new thread is known by being the first frame. */
	if (r->frames_len < 2)
		return;
	if (walk_after(r, before, &stack) != r->end)
		fail_msg("%s: another end after other frames", path);
	assert_int_equal(stack.frames_len, before - 1 + r->frames_len);
	assert_int_equal(frames[before - 2], 1000 + before - 2);
	assert_int_equal(frames[before - 1], r->frames[0]);
}

/* Those of the leaf, and the root's where the walk proves it. */
static void check_deep(struct recorded *r, uint32_t before)
{
	uint32_t walked = before - 1 + r->frames_len;
	uint32_t left_out = walked > STACK_LEAF_FRAMES + STACK_ROOT_FRAMES;
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	uint32_t end = walk_after(r, before, &stack);

	for (uint32_t i = 0; i < STACK_LEAF_FRAMES && i < before - 1; i++)
		assert_int_equal(frames[i], 1000 + i);
	if (r->end != END_ROOT) {
		assert_int_equal(end, END_DEPTH);
		assert_int_equal(stack.frames_len, STACK_LEAF_FRAMES);
		return;
	}
	assert_int_equal(end, END_ROOT);
	assert_int_equal(
		stack.frames_len, left_out ? STACK_LEAF_FRAMES + 1 + STACK_ROOT_FRAMES : walked);
	if (left_out)
		assert_true(FRAME_IS_LEFT_OUT(frames[STACK_LEAF_FRAMES]));
	for (uint32_t i = stack.frames_len - 1, at = walked - 1;
		i > STACK_LEAF_FRAMES || (i == STACK_LEAF_FRAMES && !left_out); i--, at--)
		assert_int_equal(
			frames[i], at < before - 1 ? 1000 + at : r->frames[at - (before - 1)]);
}

static void check_each_depth(struct recorded *r, const char *path)
{
	static const uint32_t depths[] = { STACK_LEAF_FRAMES, STACK_LEAF_FRAMES + 1,
		STACK_LEAF_FRAMES + STACK_ROOT_FRAMES - 1, STACK_LEAF_FRAMES + STACK_ROOT_FRAMES,
		700, 1900 };

	(void)path;
	for (size_t i = 0; i < ARRAY_SIZE(depths) && r->frames_len > 1; i++)
		check_deep(r, depths[i]);
}

/* The root is some frames above the limit. */
static void check_too_deep(struct recorded *r, const char *path)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };

	if (r->frames_len > 2 &&
		walk_after(r, STACK_WALK_MAX - r->frames_len / 2, &stack) != END_DEPTH)
		fail_msg("%s: no end by depth", path);
	assert_true(stack.frames_len <= STACK_LEAF_FRAMES);
}

static void a_walk_goes_on_after_frames_that_bpf_walked(void **state)
{
	(void)state;
	for_each_fixture(check_after_others);
}

static void a_deep_walk_keeps_its_leaf_and_a_proven_root(void **state)
{
	(void)state;
	for_each_fixture(check_each_depth);
}

static void frames_of_a_language_that_were_to_follow_are_left_out(void **state)
{
	(void)state;
	for_each_fixture(check_language);
}

static void a_walk_stops_at_the_limit_of_depth(void **state)
{
	(void)state;
	for_each_fixture(check_too_deep);
}

/* Any end will do, but each frame must be in known code. */
static void check_spoilt(struct recorded *r)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	uint32_t end = walk(r, &stack);

	assert_true(end != END_NONE && end < STACK_ENDS_LEN && end != END_NO_TABLE);
	assert_true(stack.frames_len <= STACK_USER_FRAMES_MAX);
	for (uint32_t i = 0; i < stack.frames_len; i++)
		assert_true(
			FRAME_KIND(frames[i]) == FRAME_FILE || FRAME_KIND(frames[i]) == FRAME_ANON);
}

static uint64_t some_word(const struct recorded *r)
{
	const struct scan_mapping *m = &r->code.data[(size_t)rand() % r->code.len];

	switch (rand() % 5) {
	case 0:
		return m->start + (uint64_t)rand() % (m->end - m->start);
	case 1:
		return r->deferred.sp + (uint64_t)(rand() % 4096) - 512;
	case 2:
		return (uint64_t)rand() << 33 | (uint64_t)rand();
	case 3:
		return UINT64_MAX - (uint64_t)(rand() % 64);
	default:
		return (uint64_t)(rand() % 2);
	}
}

static void spoil(struct recorded *r, const char *path)
{
	(void)path;
	r->strict = false;
	for (int i = 0; i < SPOILT_TIMES; i++) {
		struct piece *p = &r->pieces.data[(size_t)rand() % r->pieces.len];
		uint64_t word = some_word(r);

		if (p->size >= sizeof(word))
			memcpy(p->bytes + (size_t)rand() % (p->size - sizeof(word) + 1), &word,
				sizeof(word));
		if (i % 8 == 0)
			r->deferred.gpr[rand() % 16] = some_word(r);
		if (i % 16 == 0)
			r->deferred.fp = some_word(r);
		if (i % 64 == 0)
			r->deferred.sp = some_word(r);
		if (r->rules.len > 0 && i % 4 == 0)
			r->rules.data[(size_t)rand() % r->rules.len].rule.cfa =
				(uint8_t)(rand() % 7);
		check_spoilt(r);
	}
}

static void spoilt_stacks_end_with_a_reason(void **state)
{
	(void)state;
	srand(13);
	for_each_fixture(spoil);
}

/* Less and less of the stack can be read. */
static void cut(struct recorded *r, const char *path)
{
	(void)path;
	r->strict = false;
	hold(r);
	vec_each (&r->pieces, piece)
		piece->size = 0;
	while (r->deferred.stack_bytes > 0) {
		uint8_t bytes = r->deferred.stack_bytes > 64 ? 8 : 1;

		r->deferred.stack_bytes -= bytes;
		check_spoilt(r);
	}
}

static void stacks_that_are_cut_end_with_a_reason(void **state)
{
	(void)state;
	for_each_fixture(cut);
}

/* ---- what a process can ask for ---- */

static int count_reads(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	/* Every word looks like a place behind a call. */
	static const uint8_t call[8] = { 0, 0, 0, 0xe8 };

	(void)addr;
	++*(unsigned int *)ctx;
	if (!m || size != sizeof(call))
		return -1;
	memcpy(dst, call, sizeof(call));
	return 0;
}

static uint32_t no_function(void *ctx, uint32_t object, uint64_t offset, struct unwind_rule *out)
{
	(void)ctx, (void)object, (void)offset;
	*out = (struct unwind_rule){ .cfa = CFA_NONE };
	return END_NONE;
}

static uint32_t ready(void *ctx, uint32_t object)
{
	(void)ctx, (void)object;
	return TABLE_READY;
}

static void a_walk_asks_for_memory_so_many_times_and_no_more(void **state)
{
	static struct event_deferred deferred = {
		.pc = 0x10100, .sp = 0x70000, .exact = 1, .stack_bytes = DEFERRED_STACK_BYTES
	};
	const struct scan_mapping code = { .start = 0x10000, .end = 0x20000, .object = 1 };
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	unsigned int reads = 0;
	const struct walk_world world = {
		.memory = &reads, .table = ready, .rule = no_function, .read = count_reads
	};

	(void)state;
	for (size_t i = 0; i + 8 <= DEFERRED_STACK_BYTES; i += 8) {
		uint64_t word = i % 24 ? 0x30000 : 0x10100;

		memcpy(deferred.data + i, &word, sizeof(word));
	}
	walk_deferred(&world, &deferred, &code, 1, &stack);
	assert_in_range(reads, 100, WALK_READS_MAX);
	assert_true(stack.frames_len > 1);
}

static uint64_t leaf_with(
	const struct event_deferred *deferred, struct scan_mapping *code, size_t len)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	unsigned int reads = 0;
	const struct walk_world world = {
		.memory = &reads, .table = ready, .rule = no_function, .read = count_reads
	};

	walk_deferred(&world, deferred, code, len, &stack);
	return stack.frames_len ? frames[0] & ~FRAME_HOW_MASK : 0;
}

/* The process may be gone, or have another file there. */
static void the_mapping_where_bpf_stopped_is_the_one_it_met(void **state)
{
	static struct event_deferred deferred = { .pc = 0x10100, .sp = 0x70000, .exact = 1 };
	const uint64_t file = (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT, shift = FRAME_OBJECT_SHIFT;
	struct scan_mapping other = { .start = 0x8000, .end = 0x20000, .object = 1 };

	(void)state;
	assert_int_equal(leaf_with(&deferred, NULL, 0), 0);
	assert_int_equal(leaf_with(&deferred, &other, 1), file | 1ULL << shift | 0x8100);
	deferred.at = (struct scan_mapping){ .start = 0x10000, .end = 0x11000, .object = 2 };
	assert_int_equal(leaf_with(&deferred, NULL, 0), file | 2ULL << shift | 0x100);
	assert_int_equal(leaf_with(&deferred, &other, 1), file | 2ULL << shift | 0x100);
	deferred.pc = 0x11000; /* just behind it */
	assert_int_equal(leaf_with(&deferred, NULL, 0), 0);
	assert_int_equal(leaf_with(&deferred, &other, 1), file | 1ULL << shift | 0x9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_stacks_are_walked_to_their_ends),
		cmocka_unit_test(frames_of_a_language_that_were_to_follow_are_left_out),
		cmocka_unit_test(held_bytes_are_walked_as_the_stack_itself),
		cmocka_unit_test(a_walk_goes_on_after_frames_that_bpf_walked),
		cmocka_unit_test(a_deep_walk_keeps_its_leaf_and_a_proven_root),
		cmocka_unit_test(a_walk_stops_at_the_limit_of_depth),
		cmocka_unit_test(spoilt_stacks_end_with_a_reason),
		cmocka_unit_test(stacks_that_are_cut_end_with_a_reason),
		cmocka_unit_test(a_walk_asks_for_memory_so_many_times_and_no_more),
		cmocka_unit_test(the_mapping_where_bpf_stopped_is_the_one_it_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
