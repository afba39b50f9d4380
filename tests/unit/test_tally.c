/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of stacks in whatever order: none is lost. */
#include "unit.h"
#include <errno.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "sampler/tally.h"

static void a_stack_that_was_made_here_can_be_built_upon_when_bpf_tells_it(void **state)
{
	static const uint64_t frames[] = { 1, 2, 3 };
	struct event_stack made = { .hash = 7, .frames_len = 3 }, told = made;
	const struct event_leaf leaf = { .hash = 8, .rest = 70, .frame = 9 };
	struct tally tally = { 0 };

	(void)state;
	told.rest = 70;
	assert_int_equal(tally_stack(&tally, &made, frames), 0);
	assert_int_equal(tally_leaf(&tally, &leaf), -ENOENT);
	assert_int_equal(tally_stack(&tally, &told, frames), 0);
	assert_int_equal(tally_leaf(&tally, &leaf), 0);
	assert_int_equal(tally.stacks.len, 2);
	assert_int_equal(tally.stacks.data[1].frames[0], 9);
	assert_int_equal(tally.stacks.data[1].frames[2], 3);
	tally_done(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_that_was_made_here_can_be_built_upon_when_bpf_tells_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
