/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - the times of ticks beside the counts of samples. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "profile/profile.h"

static int setup(void **state)
{
	static struct profile p;

	*state = &p;
	return profile_init(&p);
}

static int teardown(void **state)
{
	profile_done(*state);
	return 0;
}

/* A sample of one frame by a name, for a comm. */
static void tick(struct profile *p, const char *name, const char *comm, uint32_t cpu, uint64_t ns)
{
	struct profile_labels labels = { .pid = 7, .tid = 7, .cpu = -1 };
	struct profile_frame frame = { .class = PROFILE_NATIVE };
	uint32_t frame_id, stack, label;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &frame_id), 0);
	assert_int_equal(profile_stack(p, &frame_id, 1, &stack), 0);
	assert_int_equal(profile_string(p, comm, &labels.comm), 0);
	assert_int_equal(profile_labels(p, &labels, &label), 0);
	assert_int_equal(profile_tick(p, stack, label, cpu, ns), 0);
}

static void ticks_add_up_to_their_samples(void **state)
{
	struct profile *p = *state;

	tick(p, "a", "x", 0, 10);
	tick(p, "b", "x", 1, 11);
	tick(p, "a", "x", 1, 12);
	assert_int_equal(p->samples.len, 2);
	assert_int_equal(p->samples.data[0].value, 2);
	assert_int_equal(p->ticks.len, 3);
	assert_int_equal(p->ticks.data[2].sample, 0);
	assert_int_equal(p->ticks.data[2].cpu, 1);
	assert_int_equal(profile_total(p), p->ticks.len + p->ticks_dropped);
}

static void ticks_of_all_cpus_are_brought_in_the_order_of_time(void **state)
{
	static const struct {
		uint32_t cpu;
		uint64_t ns;
	} added[] = { { 0, 30 }, { 0, 50 }, { 1, 10 }, { 1, 30 }, { 2, UINT64_MAX }, { 2, 0 } },
	  sorted[] = { { 2, 0 }, { 1, 10 }, { 0, 30 }, { 1, 30 }, { 0, 50 }, { 2, UINT64_MAX } };
	struct profile *p = *state;

	profile_sort(p);
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		tick(p, "a", "x", added[i].cpu, added[i].ns);
	profile_sort(p);
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
		assert_int_equal(p->ticks.data[i].time_ns, sorted[i].ns);
		assert_int_equal(p->ticks.data[i].cpu, sorted[i].cpu);
	}
}

static void ticks_over_the_limit_are_counted_and_have_no_time(void **state)
{
	struct profile *p = *state;

	tick(p, "a", "x", 0, 1);
	for (size_t i = 1; i < PROFILE_TICKS_MAX + 3; i++)
		assert_int_equal(profile_tick(p, 0, 0, 0, i), 0);
	assert_int_equal(p->ticks.len, PROFILE_TICKS_MAX);
	assert_int_equal(p->ticks_dropped, 3);
	assert_int_equal(profile_total(p), PROFILE_TICKS_MAX + 3);
}

/* Programs choose the names of their functions and their own. */
static void no_name_reads_as_a_mark_or_as_a_kind(void **state)
{
	static const struct {
		const char *name, *kept;
	} rows[] = {
		{ "[guessed]", "{guessed}" },
		{ "[truncated]", "{truncated}" },
		{ "[frames left out]", "{frames left out}" },
		{ "a[0]_[k]", "a[0]_{k}" },
		{ "f_[j]", "f_{j}" },
		{ "f_[i]", "f_{i}" },
		{ "_[k]", "_[k]" },
		{ "f_[x]", "f_[x]" },
		{ "[guessed]x", "[guessed]x" },
		{ "[vdso]", "[vdso]" },
		{ "", "" },
	};
	struct profile *p = *state;

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tick(p, rows[i].name, rows[i].name, 0, i);
		assert_string_equal(
			profile_text(p, profile_stack_frame(p, i, 0)->name), rows[i].kept);
		assert_string_equal(profile_text(p, p->labels.data[i].comm), rows[i].kept);
	}
}

static void a_mark_keeps_its_name(void **state)
{
	struct profile_frame mark = { .class = PROFILE_MARK };
	struct profile *p = *state;
	uint32_t id;

	assert_int_equal(profile_string(p, PROFILE_GUESSED, &mark.name), 0);
	assert_int_equal(profile_frame(p, &mark, &id), 0);
	assert_string_equal(profile_text(p, p->frames.data[id].name), PROFILE_GUESSED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ticks_add_up_to_their_samples),
		TEST(ticks_of_all_cpus_are_brought_in_the_order_of_time),
		TEST(ticks_over_the_limit_are_counted_and_have_no_time),
		TEST(no_name_reads_as_a_mark_or_as_a_kind),
		TEST(a_mark_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
