/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that all CPUs share (bpf/slot.bpf.h): whatever two of them write at once, no reader takes
 * it for the content of a key. */
#include "unit.h"

#include <stdlib.h>

#include "bpf/shim.h"
#include "bpf/slot.bpf.h"

#define WORDS 6

struct slot {
	u64 tag;
	u64 words[WORDS];
};

__attribute__((unused)) static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	(void)memory;
	(void)dst;
	(void)size;
	(void)addr;
	return -1;
}

static void fill(struct slot *slot, u64 hash, u64 seed)
{
	u64 words[WORDS];

	for (u32 i = 0; i < WORDS; i++)
		words[i] = seed = mix(seed, i);
	slot_write(hash, &slot->tag, slot->words, words, WORDS);
}

static bool is_of(const struct slot *slot, u64 hash, u64 *words)
{
	return slot_read(hash, &slot->tag, slot->words, words, WORDS);
}

static void a_slot_is_of_the_key_that_was_written_last(void **state)
{
	struct slot slot = { 0 };
	u64 words[WORDS];

	(void)state;
	assert_false(is_of(&slot, mix(1, 2), words));
	fill(&slot, mix(1, 2), 7);
	assert_true(is_of(&slot, mix(1, 2), words));
	assert_memory_equal(words, slot.words, sizeof(words));
	fill(&slot, mix(1, 3), 8);
	assert_false(is_of(&slot, mix(1, 2), words));
	assert_true(is_of(&slot, mix(1, 3), words));
}

/* Each word, and the tag, from either of two that were written: only the two themselves are of a
 * key. */
static void a_mixture_of_two_contents_is_of_no_key(void **state)
{
	const u64 hashes[] = { mix(1, 2), mix(1, 3), mix(1, 2) };
	const u64 seeds[] = { 7, 8, 9 };
	u64 words[WORDS];

	(void)state;
	for (int other = 1; other < 3; other++) {
		struct slot a = { 0 }, b = { 0 };

		fill(&a, hashes[0], seeds[0]);
		fill(&b, hashes[other], seeds[other]);
		for (u32 from_b = 0; from_b < 1U << (WORDS + 1); from_b++) {
			struct slot both = a;
			bool whole = from_b == 0 || from_b == (1U << (WORDS + 1)) - 1;

			for (u32 i = 0; i < WORDS; i++)
				if (from_b >> i & 1)
					both.words[i] = b.words[i];
			if (from_b >> WORDS & 1)
				both.tag = b.tag;
			assert_int_equal(is_of(&both, hashes[0], words) ||
					is_of(&both, hashes[other], words),
				whole);
		}
	}
}

static void keys_spread_over_all_slots(void **state)
{
	static u32 met[1 << 6];

	(void)state;
	for (u64 key = 0; key < 64 << 6; key++)
		met[slot_index(mix(mix(1, 2), key << 16), 6)]++;
	for (u32 i = 0; i < 1 << 6; i++)
		assert_in_range(met[i], 16, 160);
}

static int by_value(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* What becomes of a difference must depend on the hash, which begins with a secret: else a second
 * frame could undo what the first one changed, and the stack would be taken for another's. */
static void no_difference_of_two_values_passes_in_a_way_that_can_be_foreseen(void **state)
{
	enum { HASHES = 1024 };
	static u64 seen[HASHES];

	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		for (int other = 0; other <= bit; other++) {
			u64 difference = 1ULL << bit | 1ULL << other;
			int distinct = 0;

			for (u64 i = 0; i < HASHES; i++)
				seen[i] = mix(mix(7, i), 0) ^ mix(mix(7, i), difference);
			qsort(seen, HASHES, sizeof(*seen), by_value);
			for (int i = 0; i < HASHES; i++)
				distinct += i == 0 || seen[i] != seen[i - 1];
			assert_in_range(distinct, HASHES / 4, HASHES);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_is_of_the_key_that_was_written_last),
		cmocka_unit_test(a_mixture_of_two_contents_is_of_no_key),
		cmocka_unit_test(keys_spread_over_all_slots),
		cmocka_unit_test(no_difference_of_two_values_passes_in_a_way_that_can_be_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
