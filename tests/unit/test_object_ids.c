/* SPDX-License-Identifier: Apache-2.0 */
/* test_object_ids.c - ids that BPF assigns (bpf/object_id.bpf.h): none is of two objects at a time,
 * however many possible CPUs there are and however often ids come again. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "bpf/shim.h"
#include "bpf/object_id.bpf.h"

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
	const struct object_id_range range = { 0, cpus, cpu };
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

static void the_scan_has_ids_of_its_own(void **state)
{
	const struct object_id_range range = { OBJECT_SCAN_FIRST, 1, 0 };
	u32 counter = OBJECT_SCAN_FIRST - 2 * OBJECT_FIRST, id;

	(void)state;
	for (u32 i = 0; i < 100; i++) {
		id = object_id_next(&counter, &range);
		if (id == OBJECT_NONE)
			continue;
		assert_true(id >= OBJECT_SCAN_FIRST + OBJECT_FIRST && id <= OBJECT_ID_MAX);
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
		cmocka_unit_test_setup(the_scan_has_ids_of_its_own, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
