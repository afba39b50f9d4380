/* SPDX-License-Identifier: Apache-2.0 */
/* test_hotspot_reading.c - how a process that runs HotSpot is read: each round's words have the
 * addresses of the next. The numbers are those of JDK 17. */
#include "unit.h"

#include "base/own.h"
#include "language/hotspot_reading.h"

#define BASE 0x7f0000000000ULL
#define OFFSETS_AT 0x100000
#define ARRAY 0x600000
#define POINTERS 0x610000
#define HEAPS 0x700000
#define HEAP_BYTES 0x1000
#define CODE 0x7e0000000000ULL

static struct hotspot_facts facts;
static struct hotspot_reading reading;
static uint64_t heaps_len, offsets[HOTSPOT_FIELDS_LEN], log2_word;

static int setup(void **state)
{
	static const uint64_t made[HOTSPOT_FIELDS_LEN] = {
		[HOTSPOT_HEAPS] = ARRAY,
		[HOTSPOT_ARRAY_DATA] = 16,
		[HOTSPOT_HEAP_MEMORY] = 8,
		[HOTSPOT_HEAP_SEGMAP] = 120,
		[HOTSPOT_HEAP_LOG2] = 256,
		[HOTSPOT_SPACE_LOW] = 8,
		[HOTSPOT_SPACE_HIGH] = 16,
		[HOTSPOT_BLOB_NAME] = 96,
		[HOTSPOT_BLOB_CODE] = 32,
		[HOTSPOT_BLOB_FRAME_SIZE] = 28,
		[HOTSPOT_BLOB_FRAME_COMPLETE] = 20,
		[HOTSPOT_NMETHOD_METHOD] = 112,
		[HOTSPOT_METHOD_CONST] = 8,
		[HOTSPOT_CONST_CONSTANTS] = 8,
		[HOTSPOT_CONST_NAME] = 34,
		[HOTSPOT_CONST_CODE_SIZE] = 32,
		[HOTSPOT_CALL_RETURN] = CODE + 0x123,
	};

	(void)state;
	facts = (struct hotspot_facts){ .sizes = { 16, 48, 72 } };
	for (int i = 0; i < HOTSPOT_FIELDS_LEN; i++)
		facts.fields[i] = OFFSETS_AT + 8 * i;
	facts.fields[HOTSPOT_RETURN_PC] = 0;
	memcpy(offsets, made, sizeof(made));
	heaps_len = 2;
	log2_word = 7;
	reading = (struct hotspot_reading){ .facts = &facts, .base = BASE };
	return 0;
}

/* The word at this address of the process. */
static uint64_t word_at(uint64_t at)
{
	uint64_t heap = (at - HEAPS) / HEAP_BYTES, offset = (at - HEAPS) % HEAP_BYTES;

	if (at - BASE - OFFSETS_AT < sizeof(offsets))
		return offsets[(at - BASE - OFFSETS_AT) / 8];
	if (at == ARRAY)
		return 0xffffffff00000000 | heaps_len; /* an int, and what follows it */
	if (at == ARRAY + 16)
		return POINTERS;
	if (at - POINTERS < 8 * heaps_len)
		return HEAPS + (at - POINTERS) / 8 * HEAP_BYTES;
	if (at < HEAPS || heap >= heaps_len)
		return 0x5a5a5a5a5a5a5a5a;
	if (offset == 8 + 8)
		return CODE + (heap << 24);
	if (offset == 8 + 16)
		return CODE + (heap << 24) + 0x800000;
	if (offset == 120 + 8)
		return 0x800000 + heap;
	return offset == 256 ? log2_word : 0;
}

static bool read_all(void)
{
	uint64_t addresses[HOTSPOT_WORDS_MAX], words[HOTSPOT_WORDS_MAX];
	uint32_t len;

	while ((len = hotspot_wants(&reading, addresses)) > 0) {
		assert_in_range(len, 1, HOTSPOT_WORDS_MAX);
		for (uint32_t i = 0; i < len; i++)
			words[i] = word_at(addresses[i]);
		if (!hotspot_takes(&reading, words, len))
			return false;
	}
	return true;
}

static void a_process_is_described_in_rounds(void **state)
{
	const struct hotspot *made = &reading.made;

	(void)state;
	assert_true(read_all());
	assert_true(made->heaps[0].low == CODE && made->heaps[0].bytes == 0x800000);
	assert_true(made->heaps[1].low == CODE + (1 << 24) && made->heaps[1].segments == 0x800001);
	assert_int_equal(made->heaps[1].log2, 7);
	assert_true(made->heaps[2].bytes == 0 && made->heaps[3].bytes == 0);
	assert_true(made->call_return == CODE + 0x123);
	assert_true(made->return_pc == 0);
	assert_int_equal(made->blob_frame_size, 28);
	assert_int_equal(made->const_bytes, 48);
	assert_int_equal(made->version, 17);
}

static void version_8_has_one_heap(void **state)
{
	const struct hotspot *made = &reading.made;

	(void)state;
	facts.is_8 = facts.code_is_offset = 1;
	offsets[HOTSPOT_HEAPS] = HEAPS;
	assert_true(read_all());
	assert_true(made->heaps[0].low == CODE && made->heaps[1].bytes == 0);
	assert_int_equal(made->code_is_offset, 1);
	assert_int_equal(made->complete_is_short, 0);
	assert_int_equal(made->bytecode, 1);
}

static void virtual_threads_return_to_a_variable_that_may_be_filled_later(void **state)
{
	(void)state;
	facts.fields[HOTSPOT_RETURN_PC] = OFFSETS_AT + 8 * HOTSPOT_RETURN_PC;
	assert_true(read_all());
	assert_true(reading.made.return_pc == BASE + OFFSETS_AT + 8 * HOTSPOT_RETURN_PC);
}

static void one_that_has_just_started_is_not_described_yet(void **state)
{
	(void)state;
	offsets[HOTSPOT_HEAPS] = 0;
	assert_false(read_all());
	setup(NULL);
	offsets[HOTSPOT_CALL_RETURN] = 0;
	assert_false(read_all());
}

static void numbers_that_no_runtime_has_are_refused(void **state)
{
	static const uint64_t wrong[][2] = {
		{ HOTSPOT_BLOB_NAME, 4096 },
		{ HOTSPOT_BLOB_NAME, 121 }, /* beyond the part of a blob that BPF reads */
		{ HOTSPOT_BLOB_FRAME_SIZE, ~0ULL },
		{ HOTSPOT_CONST_NAME, 57 },
		{ HOTSPOT_METHOD_CONST, 4096 },
	};
	static const uint64_t lengths[] = { 0, HOTSPOT_HEAPS_MAX + 1, 0x7fffffff };
	static const uint64_t logs[] = { 0, 21, 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		setup(NULL);
		offsets[wrong[i][0]] = wrong[i][1];
		assert_false(read_all());
	}
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		setup(NULL);
		heaps_len = lengths[i];
		assert_false(read_all());
	}
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		setup(NULL);
		log2_word = logs[i];
		assert_false(read_all());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_process_is_described_in_rounds, setup),
		cmocka_unit_test_setup(version_8_has_one_heap, setup),
		cmocka_unit_test_setup(
			virtual_threads_return_to_a_variable_that_may_be_filled_later, setup),
		cmocka_unit_test_setup(one_that_has_just_started_is_not_described_yet, setup),
		cmocka_unit_test_setup(numbers_that_no_runtime_has_are_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
