/* SPDX-License-Identifier: Apache-2.0 */
/* test_keeper.c - a profile of two kinds goes through the process that writes the store, and comes
 * out of the store again. */
#include "unit.h"

#include <errno.h>

#include "daemon/keeper.h"
#include "make_store.h"
#include "make_whole.h"
#include "store/answer.h"
#include "store/query.h"

static const struct retention keep_all = { .keep_ns = UINT64_MAX / 2,
	.bytes_max = UINT64_MAX / 2,
	.whole_ns = UINT64_MAX / 2,
	.segments_max = STORE_SEGMENTS_MAX };

static void put_profile(struct keeper *keeper, const struct profile *p)
{
	const struct sink_options by = { .by = { PROFILE_KEY_CONTAINER, PROFILE_KEY_COMM },
		.by_len = 2 };
	struct segment_about about = { .host = "here",
		.by = "container,comm",
		.account = "{\"hz\": 100}",
		.start_ns = p->start_ns,
		.end_ns = p->start_ns + p->duration_ns,
		.hz = 100 };
	const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 20 * NSEC_PER_SEC;
	struct keeper_status status;
	struct why why;

	assert_int_equal(keeper_put_profile(keeper, &about, &keep_all, p, &by, &why), 0);
	assert_int_equal(keeper_take(keeper, until_ns, &status), KEEPER_ANSWERED);
	if (status.err < 0)
		fail_msg("%s", status.why.text);
	assert_int_equal(status.written, 1);
}

/* The profile of a kind as the store has it. */
static void ask(const char *path, const char *kind, struct profile *out)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	_cleanup_(store_freep) struct store *store = NULL;
	struct query query = { .until_ns = UINT64_MAX, .kind = kind };
	struct store_report report;
	struct why why;

	assert_int_equal(store_open(AT_FDCWD, path, STORE_READ, &store, &report, &why), 0);
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(store, &query, &answer, &why), 0);
	assert_int_equal(profile_init(out), 0);
	assert_int_equal(answer_profile(&answer, out), 0);
}

static void a_profile_of_two_kinds_is_in_the_store(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, cpu = { 0 }, wall = { 0 };
	static struct log log = { .quiet = true };
	struct place *place = *state;
	struct keeper keeper = KEEPER_INIT;
	struct keeper_status status;
	struct why why;

	make_whole(&p, 50);
	assert_int_equal(keeper_open(&keeper, place->path, -1, &log, &status, &why), 0);
	put_profile(&keeper, &p);
	keeper_close(&keeper);
	ask(place->path, "cpu", &cpu);
	ask(place->path, "wall", &wall);
	assert_int_equal(profile_total(&cpu), profile_kind_total(&p, 0));
	assert_int_equal(cpu.kinds[0].period_ns, 10000000);
	assert_int_equal(profile_total(&wall), profile_kind_total(&p, 1));
	assert_string_equal(profile_kind_name(&wall, 0), "wall");
	assert_string_equal(profile_kind_unit(&wall, 0), PROFILE_NANOSECONDS);
	assert_int_equal(wall.samples.len, 50);
	assert_string_equal(profile_label_text(&wall, 0, PROFILE_KEY_COMM), "db");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_profile_of_two_kinds_is_in_the_store, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
