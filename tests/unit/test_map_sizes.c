/* SPDX-License-Identifier: Apache-2.0 */
/* test_map_sizes.c - the maps that grow with CPUs and rate leave half of the memory to others, and
 * those of a small machine are what they need. */
#include "unit.h"

#include "base/own.h"
#include "bpf/abi.h"
#include "sampler/map_sizes.h"

#define KB 1024U
#define MB (1024U * 1024)

static uint64_t counts_bytes(uint32_t counts)
{
	return 2ULL * counts *
		(sizeof(struct count_key) + sizeof(uint64_t) + MAP_SIZES_ENTRY_BYTES);
}

static void maps_grow_with_cpus_and_rate_up_to_a_quarter_of_the_memory(void **state)
{
	static const struct {
		uint32_t cpus, hz;
		uint64_t memory;
		struct map_sizes want;
	} rows[] = {
		{ 1, 19, 32 * MB, { 512 * KB, 8192 } },
		{ 2, 99, 32 * MB, { 1 * MB, 8192 } },
		{ 16, 99, 32 * MB, { 8 * MB, 8192 } },
		{ 64, 99, 32 * MB, { 8 * MB, 16384 } },
		{ 256, 19, 32 * MB, { 8 * MB, 16384 } },
		{ 256, 99, 32 * MB, { 8 * MB, 32768 } },
		{ 8192, 10000, 32 * MB, { 8 * MB, 32768 } },
		{ 256, 99, 16 * MB, { 4 * MB, 16384 } },
		{ 256, 99, 24 * MB, { 4 * MB, 16384 } },
		{ 2, 1999, 32 * MB, { 1 * MB, 8192 } },
		{ 2, 4999, 32 * MB, { 4 * MB, 32768 } },
		{ 2, 10000, 32 * MB, { 8 * MB, 32768 } },
		{ 1, 10000, 32 * MB, { 4 * MB, 32768 } },
		{ 256, 99, 64 * MB, { 16 * MB, 65536 } },
		{ 8192, 10000, 4096ULL * MB, { 16 * MB, 65536 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct map_sizes got = map_sizes_pick(rows[i].cpus, rows[i].hz, rows[i].memory);

		if (got.ring_bytes != rows[i].want.ring_bytes || got.counts != rows[i].want.counts)
			fail_msg("row %zu: a ring of %u bytes, %u counts", i, got.ring_bytes,
				got.counts);
		if (got.ring_bytes + counts_bytes(got.counts) > rows[i].memory / 2)
			fail_msg("row %zu: more than half of the memory", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_grow_with_cpus_and_rate_up_to_a_quarter_of_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
