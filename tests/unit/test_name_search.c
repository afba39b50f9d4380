/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_search.c - which containers are looked up, and when; nobody knows any. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "containers/container.h"
#include "containers/container_state.h"
#include "containers/name_search.h"

#define OF_USER "/user.slice/user-1234.slice/docker-%064d.scope"
#define OF_HOST "/system.slice/docker-%064d.scope"
#define USERS 1000

struct world {
	struct container_state nobody;
	struct hash by_path;
	struct name_search search;
	struct container *all[USERS + 1];
};

static struct world *open_world(void)
{
	static struct world w;
	char path[256];

	w = (struct world){ .nobody.root_fd = -1 };
	w.search.by_path = &w.by_path;
	for (int i = 0; i <= USERS; i++) {
		snprintf(path, sizeof(path), i < USERS ? OF_USER : OF_HOST, i);
		w.all[i] = container_new(path, strlen(path), (uint64_t)i + 1);
		assert_non_null(w.all[i]);
		assert_int_equal(hash_put(&w.by_path, (uint64_t)i + 1, (uintptr_t)w.all[i]), 0);
		assert_int_equal(name_search_add(&w.search, (uint64_t)i + 1), 0);
	}
	return &w;
}

static void close_world(struct world *w)
{
	for (int i = 0; i <= USERS; i++)
		container_free(w->all[i]);
	hash_done(&w->by_path);
	name_search_done(&w->search);
}

static void run(struct world *w, bool all_now)
{
	const struct name_search_world world = { .state = &w->nobody };

	name_search_run(&w->search, &world, all_now, clock_ns(CLOCK_MONOTONIC) + 60 * NSEC_PER_SEC);
}

static void who_took_most_time_waits_and_the_others_do_not(void **state)
{
	struct world *w = open_world();
	uint64_t user = container_account(w->all[0]->path);

	(void)state;
	assert_int_not_equal(user, container_account(w->all[USERS]->path));
	assert_int_equal(user, container_account(w->all[USERS - 1]->path));
	assert_int_equal(share_charge(&w->search.spent.held, user, NAME_SEARCH_MAX_NS), 0);
	w->search.spent.since_ns = clock_ns(CLOCK_MONOTONIC);
	run(w, true);
	assert_int_equal(w->search.postponed, USERS);
	assert_int_equal(w->all[0]->tries, 0);
	assert_int_equal(w->all[USERS]->tries, 1);
	/* The time that passed is theirs. */
	w->search.spent.since_ns -= NAME_SEARCH_PART * NSEC_PER_SEC;
	run(w, true);
	assert_int_equal(w->search.postponed, USERS);
	assert_int_equal(w->all[0]->tries, 1);
	close_world(w);
}

static void a_long_list_is_gone_through_less_often(void **state)
{
	struct world *w = open_world();

	(void)state;
	run(w, false);
	assert_int_equal(w->all[7]->tries, 1);
	/* The last of the list is due 5 ms after its look-up. */
	assert_in_range(name_search_due_ns(&w->search),
		w->all[USERS]->next_ns + 450 * NSEC_PER_MSEC,
		w->all[USERS]->next_ns + 500 * NSEC_PER_MSEC);
	w->search.not_before_ns = clock_ns(CLOCK_MONOTONIC) + 600 * NSEC_PER_SEC;
	run(w, false);
	assert_int_equal(w->all[7]->tries, 1);
	for (int i = 0; i < 9; i++)
		run(w, true);
	assert_int_equal(w->search.waiting.len, 0);
	assert_int_equal(name_search_due_ns(&w->search), CLOCK_NEVER_NS);
	close_world(w);
}

static void who_was_removed_or_found_is_not_searched(void **state)
{
	struct world *w = open_world();

	(void)state;
	hash_del(&w->by_path, 1);
	w->all[1]->found = true;
	run(w, true);
	assert_int_equal(w->search.waiting.len, USERS + 1 - 2);
	assert_int_equal(w->all[0]->tries, 0);
	assert_int_equal(w->all[1]->tries, 0);
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_took_most_time_waits_and_the_others_do_not),
		cmocka_unit_test(a_long_list_is_gone_through_less_often),
		cmocka_unit_test(who_was_removed_or_found_is_not_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
