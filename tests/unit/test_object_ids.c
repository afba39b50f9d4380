/* SPDX-License-Identifier: Apache-2.0 */
/* test_object_ids.c - ids that BPF assigns (bpf/object_id.bpf.h): none is of two at a time, however
 * many possible CPUs there are and however often ids come again. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "bpf/shim.h"
#include "bpf/object_id.bpf.h"
#include "sampler/map_sizes.h"

#define LIVING_MAX 8192

__attribute__((unused)) static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	(void)memory;
	(void)dst;
	(void)size;
	(void)addr;
	return -1;
}

static u32 now = 1;

static u32 any(u32 below)
{
	now = now * 1664525 + 1013904223;
	return (now >> 8) % below;
}

static u8 in_use[OBJECT_ID_MAX + 1];

static int setup(void **state)
{
	(void)state;
	memset(object_ids, 0, sizeof(object_ids));
	memset(in_use, 0, sizeof(in_use));
	return 0;
}

/* The next id of this CPU, which must be one that no object has. */
static u32 next(u32 *counters, u32 cpus, u32 cpu)
{
	const struct object_id_range range = { 0, cpus, cpu, OBJECT_SCAN_FIRST };
	u32 id = OBJECT_NONE;

	for (int meetings = 0; id == OBJECT_NONE && meetings < 1000; meetings++)
		id = object_id_next(&counters[cpu], &range);
	if (id == OBJECT_NONE)
		return id;
	assert_true(id >= OBJECT_FIRST && id < OBJECT_SCAN_FIRST);
	assert_false(in_use[id]);
	in_use[id] = 1;
	return id;
}

static void drop(u32 id)
{
	object_id_give(id);
	in_use[id] = 0;
}

/* Most files are met by one CPU, and some stay for ever. */
static void no_id_is_of_two_objects(void **state)
{
	static const u32 cpus[] = { 1, 2, 255, 256, 512, 1024 };
	static u32 living[LIVING_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		u32 counters[1024] = { 0 };

		setup(NULL);
		memset(living, 0, sizeof(living));
		for (int turn = 0; turn < 200000; turn++) {
			u32 cpu = any(4) ? 0 : any(cpus[i]), at = any(LIVING_MAX / 8);

			if (turn < LIVING_MAX / 2)
				at = LIVING_MAX / 8 + any(LIVING_MAX - LIVING_MAX / 8);
			if (living[at])
				drop(living[at]);
			living[at] = next(counters, cpus[i], cpu);
			if (living[at] == OBJECT_NONE && cpus[i] < 1024)
				fail_msg("%u CPUs: no id at turn %d", cpus[i], turn);
		}
	}
}

static void a_cpu_without_a_free_id_gets_none_and_goes_on_when_one_is_given_back(void **state)
{
	u32 counters[1024] = { 0 }, len = 0, last = 0, id;

	(void)state;
	while ((id = next(counters, 1024, 1023)) != OBJECT_NONE) {
		last = id;
		len++;
	}
	assert_int_equal(len, (OBJECT_SCAN_FIRST - OBJECT_FIRST) / 1024);
	drop(last);
	assert_int_equal(next(counters, 1024, 1023), last);
	assert_int_not_equal(next(counters, 1024, 1022), OBJECT_NONE);
}

/* Each of eight CPUs has a quarter of its ids in use, all the time. */
static void with_1024_possible_cpus_no_file_waits_for_an_id(void **state)
{
	static u32 living[8][512];
	u32 counters[1024] = { 0 };

	(void)state;
	memset(living, 0, sizeof(living));
	for (int turn = 0; turn < 200000; turn++) {
		const u32 at = any(512), which = any(8), cpu = which * 146;
		const struct object_id_range range = { 0, map_sizes_id_stride(1024), cpu,
			OBJECT_SCAN_FIRST };
		u32 *id = &living[which][at];

		if (*id)
			drop(*id);
		*id = object_id_next(&counters[cpu], &range);
		if (*id == OBJECT_NONE)
			fail_msg("CPU %u has no id at turn %d", cpu, turn);
		assert_false(in_use[*id]);
		in_use[*id] = 1;
	}
}

static void ids_of_a_cpu_stay_its_own_after_all_were_given(void **state)
{
	static const u32 cpus[] = { 1, 2, 3, 96, 255, 512, 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		u32 stride = map_sizes_id_stride(cpus[i]);

		assert_true(stride >= cpus[i]);
		for (u32 cpu = 0; cpu < cpus[i]; cpu++) {
			u32 first = 0, last = UINT32_MAX / stride - 1;
			u32 owner = id_next(&first, stride, cpu) % stride;

			for (int turn = 0; turn < 4; turn++)
				if (id_next(&last, stride, cpu) % stride != owner)
					fail_msg("%u CPUs: CPU %u has an id of another", cpus[i],
						cpu);
		}
	}
}

static void the_scan_has_ids_of_its_own(void **state)
{
	const struct object_id_range range = { OBJECT_SCAN_FIRST, 1, 0,
		OBJECT_VISIT_FIRST - OBJECT_SCAN_FIRST };
	u32 counter = range.len - 2 * OBJECT_FIRST, id;

	(void)state;
	for (u32 i = 0; i < 100; i++) {
		id = object_id_next(&counter, &range);
		if (id == OBJECT_NONE)
			continue;
		assert_true(id >= OBJECT_SCAN_FIRST + OBJECT_FIRST && id < OBJECT_VISIT_FIRST);
		assert_false(in_use[id]);
		in_use[id] = 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_id_is_of_two_objects, setup),
		cmocka_unit_test_setup(
			a_cpu_without_a_free_id_gets_none_and_goes_on_when_one_is_given_back,
			setup),
		cmocka_unit_test_setup(with_1024_possible_cpus_no_file_waits_for_an_id, setup),
		cmocka_unit_test(ids_of_a_cpu_stay_its_own_after_all_were_given),
		cmocka_unit_test_setup(the_scan_has_ids_of_its_own, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
