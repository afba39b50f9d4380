/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - the times of ticks beside the counts of samples. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "profile/profile.h"
#include "profile/stack_state.h"

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
	struct profile_labels labels = { 0 };
	struct profile_frame frame = { .class = PROFILE_NATIVE };
	uint32_t frame_id, stack, label;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &frame_id), 0);
	assert_int_equal(profile_stack(p, &frame_id, 1, &stack), 0);
	assert_int_equal(profile_labels_text(p, &labels, PROFILE_KEY_COMM, comm), 0);
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
		assert_string_equal(
			profile_label_text(p, i, PROFILE_KEY_COMM), rows[i].kept);
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

/* ---- how far a stack was walked -------------------------------------------------------------- */

/* frames, leaf first: k kernel, u user, n user without an address; marks T, G, L (left out). */
static enum stack_state state_of(struct profile *p, const char *frames)
{
	uint32_t ids[16], len = 0, stack;

	for (const char *c = frames; *c; c++) {
		struct profile_frame frame = { .class = strchr("TGL", *c) ? PROFILE_MARK
				: *c == 'k' ? PROFILE_KERNEL
					    : PROFILE_NATIVE,
			.address = *c == 'n' ? 0 : 1 };
		const char *name = *c == 'T' ? PROFILE_TRUNCATED
			: *c == 'G'          ? PROFILE_GUESSED
			: *c == 'L'          ? PROFILE_LEFT_OUT
					     : "f";

		assert_int_equal(profile_string(p, name, &frame.name), 0);
		assert_int_equal(profile_frame(p, &frame, &ids[len++]), 0);
	}
	assert_int_equal(profile_stack(p, ids, len, &stack), 0);
	return stack_state_of(p, stack);
}

static void a_stack_with_frames_left_out_is_complete(void **state)
{
	struct profile *p = *state;

	assert_int_equal(state_of(p, "kuu"), STACK_STATE_COMPLETE);
	assert_int_equal(state_of(p, "uuLu"), STACK_STATE_COMPLETE);
	assert_int_equal(state_of(p, "kTuu"), STACK_STATE_COMPLETE);
	assert_int_equal(state_of(p, "uGu"), STACK_STATE_GUESSED);
	assert_int_equal(state_of(p, "uuT"), STACK_STATE_TRUNCATED);
	assert_int_equal(state_of(p, "uGuT"), STACK_STATE_TRUNCATED);
	assert_int_equal(state_of(p, "kk"), STACK_STATE_NONE);
	assert_int_equal(state_of(p, "kT"), STACK_STATE_NONE);
	assert_int_equal(state_of(p, "nn"), STACK_STATE_NONE);
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
		TEST(a_stack_with_frames_left_out_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
