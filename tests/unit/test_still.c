/* SPDX-License-Identifier: Apache-2.0 */
/* test_still.c - which of a thread's waits is the one that it is in. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "traps/still.h"

#define INTERVAL (5 * NSEC_PER_SEC)
#define MS (NSEC_PER_SEC / 1000)

/* A wait of so many milliseconds; each has a stack of its own. */
static void add(struct profile *p, int32_t tid, bool idle, uint64_t ms)
{
	struct profile_labels labels = { 0 };
	struct profile_frame frame = { .address = p->samples.len + 1 };
	uint32_t stack, kind, id;

	assert_int_equal(profile_frame(p, &frame, &id), 0);
	assert_int_equal(profile_stack(p, &id, 1, &stack), 0);
	assert_int_equal(profile_kind(p, PROFILE_WALL, strlen(PROFILE_WALL), &kind), 0);
	profile_labels_set_number(&labels, PROFILE_KEY_TID, tid);
	if (idle)
		assert_int_equal(profile_labels_put(p, &labels, "idle", 4, "yes", 3), 0);
	assert_int_equal(profile_labels(p, &labels, &id), 0);
	assert_int_equal(profile_add_kind(p, stack, id, kind, ms * MS), 0);
}

struct wait {
	bool idle;
	uint64_t ms;
};

static uint64_t share_of(const struct wait *waits, size_t len, uint64_t still_ms)
{
	struct profile p;
	struct hash still = HASH_INIT;
	uint64_t permille = 4711;

	assert_int_equal(profile_init(&p), 0);
	for (size_t i = 0; i < len; i++)
		add(&p, 7, waits[i].idle, waits[i].ms);
	if (still_ms > 0)
		assert_int_equal(hash_put(&still, 7, still_ms * MS), 0);
	assert_int_equal(still_share(&p, INTERVAL, &still, &permille), 0);
	hash_done(&still);
	profile_done(&p);
	return permille;
}

static void the_wait_that_lasts_decides(void **state)
{
	static const struct {
		struct wait waits[2];
		uint64_t still_ms, permille;
	} rows[] = {
		{ { { false, 500 }, { true, 4000 } }, 4000, 0 },
		{ { { true, 2000 }, { false, 3000 } }, 3000, 1000 },
		{ { { true, 2900 }, { false, 2100 } }, 2100, 1000 },
		{ { { false, 1500 }, { true, 3000 } }, 3000, 0 },
		{ { { false, 5000 }, { true, 0 } }, 60000, 1000 }, /* since intervals before */
		{ { { true, 5000 }, { false, 0 } }, 60000, 0 },
		{ { { false, 3000 }, { true, 1000 } }, 0, 0 }, /* it has had a CPU */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct wait turned[] = { rows[i].waits[1], rows[i].waits[0] };

		assert_int_equal(share_of(rows[i].waits, 2, rows[i].still_ms), rows[i].permille);
		assert_int_equal(share_of(turned, 2, rows[i].still_ms), rows[i].permille);
	}
}

static void the_share_is_of_threads_that_wait(void **state)
{
	struct profile p;
	struct hash still = HASH_INIT;
	uint64_t permille;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(still_share(&p, INTERVAL, &still, &permille), -ENOENT);
	for (int32_t tid = 1; tid <= 3; tid++)
		add(&p, tid, false, 5000);
	assert_int_equal(hash_put(&still, 2, 9000 * MS), 0);
	assert_int_equal(hash_put(&still, 99, 9000 * MS), 0); /* no wait of the subject's */
	assert_int_equal(still_share(&p, INTERVAL, &still, &permille), 0);
	assert_int_equal(permille, 334);
	hash_done(&still);
	profile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wait_that_lasts_decides),
		cmocka_unit_test(the_share_is_of_threads_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
