/* SPDX-License-Identifier: Apache-2.0 */
/* test_language_walk.c - the frames of a language are read in blocks. Before the first one there is
 * no memory, as where CPython has just asked the kernel for some. */
#include "hotspot_walk.h"

#undef walk_language
#include "bpf/language.bpf.h"

#define FRAMES 40
#define ENTRY 1

static struct scratch scratch;
static struct language_scratch frames;
static struct language language = { .segment_end = SEGMENT_ENTRY, .segment_value = ENTRY,
	.frame_code = 0, .frame_previous = 8, .frame_place = 16, .frame_end = 24 };

static const struct language *language_of(u32 index)
{
	(void)index;
	return &language;
}

static struct language_scratch *language_scratch_of(u64 walk)
{
	(void)walk;
	return &frames;
}

static u64 language_until(const struct scratch *s)
{
	(void)s;
	return 0;
}

static bool language_late(const struct language_scratch *c)
{
	(void)c;
	return false;
}

static u32 language_code_id(u64 walk, u64 hash, u64 code)
{
	(void)walk;
	(void)hash;
	return (u32)code;
}

static struct hotspot_scratch *hotspot_of(u64 walk)
{
	(void)walk;
	return &frames.hotspot;
}

static u32 hotspot_code_id(u64 walk, u64 hash)
{
	(void)walk;
	(void)hash;
	return 0;
}

/* Frames of so many bytes from `at` on, the outermost one first. They are all found. */
static void assert_read(u64 at, u32 bytes)
{
	u64 frame = 0;

	scratch = (struct scratch){ .language = 1 };
	frames = (struct language_scratch){ 0 };
	for (u64 i = 0; i < FRAMES; i++) {
		const u64 words[] = { i + 1, frame, 0, i == 0 ? ENTRY : 0 };

		frame = at + i * bytes;
		memcpy(scratch.memory + (frame - MEMORY), words, sizeof(words));
	}
	frames.frame = frame;
	reads = failed_reads = 0;
	language_segment(walk_of(&scratch));
	assert_int_equal(frames.len, FRAMES);
	for (u32 i = 0; i < FRAMES; i++)
		assert_true(frames.codes[i] == FRAMES - i);
	assert_true(scratch.anchor == ANCHOR_ANY);
}

static void nothing_before_the_first_frame_is_read(void **state)
{
	const u32 sizes[] = { LANGUAGE_FRAME_SMALL, 96, 120, 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_read(MEMORY, sizes[i]);
		assert_int_equal(failed_reads, 0);
		assert_in_range(reads, 1, FRAMES * sizes[i] / (LANGUAGE_BLOCK - sizes[i]) + 3);
	}
}

static void frames_over_the_end_of_a_page_are_read(void **state)
{
	(void)state;
	for (u64 at = MEMORY + LANGUAGE_PAGE - 256; at < MEMORY + LANGUAGE_PAGE + 8; at += 8) {
		assert_read(at, LANGUAGE_FRAME_SMALL);
		assert_int_equal(failed_reads, 0);
	}
}

/* The page of the outer frames may be gone: that is a cut, and no end. */
static void a_segment_whose_first_frame_cannot_be_read_is_cut(void **state)
{
	(void)state;
	scratch = (struct scratch){ .language = 1 };
	frames = (struct language_scratch){ .frame = MEMORY + MEMORY_BYTES, .read = 3 };
	language_segment(walk_of(&scratch));
	assert_int_equal(frames.len, 0);
	assert_true(scratch.anchor == ANCHOR_CUT);
	/* Nothing of a language was met: its native frames say so. */
	frames.read = 0;
	language_segment(walk_of(&scratch));
	assert_true(scratch.anchor == ANCHOR_NONE);
	/* The outermost frame was read. */
	frames = (struct language_scratch){ .read = 3 };
	language_segment(walk_of(&scratch));
	assert_true(scratch.anchor == ANCHOR_NONE);
}

/* The id that is left there is of another process's code. */
static void a_frame_without_a_code_has_no_id_of_an_earlier_walk(void **state)
{
	const u64 words[] = { 0, 0, 0, ENTRY };

	(void)state;
	scratch = (struct scratch){ .at = { .language = 1 } };
	frames = (struct language_scratch){ .last_id = 4711 };
	language_begin(walk_of(&scratch));
	memcpy(scratch.memory, words, sizeof(words));
	frames.frame = MEMORY;
	language_segment(walk_of(&scratch));
	assert_int_equal(frames.len, 1);
	language_push_turn(walk_of(&scratch));
	assert_int_equal(scratch.user.head.frames_len, 1);
	assert_true(scratch.user.frames[0] == frame_code(CODE_UNREADABLE, 0));
}

/* The number of another code, one less, would be the name of a neighbour. */
static void a_frame_that_is_put_back_is_of_the_same_code(void **state)
{
	const u64 file = (u64)FRAME_FILE << FRAME_KIND_SHIFT | 4096, code = frame_code(100, 0);

	(void)state;
	scratch = (struct scratch){ .user = { .head.frames_len = 2, .frames = { file, code } } };
	scratch.stepped.ended = END_CFA;
	assert_int_equal(put_back(&scratch), END_CFA);
	assert_true(scratch.user.frames[1] == code);
	scratch.user.head.frames_len = 1;
	assert_int_equal(put_back(&scratch), END_CFA);
	assert_true(scratch.user.frames[0] == file - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_before_the_first_frame_is_read),
		cmocka_unit_test(frames_over_the_end_of_a_page_are_read),
		cmocka_unit_test(a_segment_whose_first_frame_cannot_be_read_is_cut),
		cmocka_unit_test(a_frame_without_a_code_has_no_id_of_an_earlier_walk),
		cmocka_unit_test(a_frame_that_is_put_back_is_of_the_same_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
