/* SPDX-License-Identifier: Apache-2.0 */
/* test_object_shares.c - which files give up their places: those of the account with most, the most
 * idle first. What BPF and publish.c know of a file is made here.
 * LINK: -Wl,--wrap=publish_used,--wrap=publish_payers */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/share.h"
#include "files/object.h"
#include "files/object_shares.h"
#include "unwind/publish.h"

#define NOW 100
#define FILES 12

enum { HOSTILE = 7, VICTIM, OTHER };

static struct share places;
static struct object *all[FILES];
static struct object_idle chosen[FILES];
static size_t len;
static uint32_t used[FILES];
static uint64_t payers[FILES][2];
static uint32_t payers_len[FILES];

uint32_t __wrap_publish_used(const struct publish *publish, const struct object_key *key);
uint32_t __wrap_publish_payers(
	const struct publish *publish, uint32_t object, const uint64_t **accounts);

uint32_t __wrap_publish_used(const struct publish *publish, const struct object_key *key)
{
	(void)publish;
	return used[key->ino];
}

uint32_t __wrap_publish_payers(
	const struct publish *publish, uint32_t object, const uint64_t **accounts)
{
	(void)publish;
	*accounts = payers[object - OBJECT_FIRST];
	return payers_len[object - OBJECT_FIRST];
}

static int setup(void **state)
{
	(void)state;
	places = (struct share){ 0 };
	len = 0;
	memset(payers_len, 0, sizeof(payers_len));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < len; i++)
		object_free(all[i]);
	share_done(&places);
	return 0;
}

/* A file that this account was met with, and that ran so many seconds ago. */
static struct object *meet(uint64_t account, uint32_t idle)
{
	struct object *object = object_new(OBJECT_FIRST + (uint32_t)len, "file");

	assert_non_null(object);
	object->key.ino = len;
	used[len] = NOW - idle;
	all[len++] = object;
	assert_int_equal(object_shares_charge(&places, object, account), 0);
	return object;
}

static void pay(const struct object *object, uint64_t account)
{
	payers[object->key.ino][payers_len[object->key.ino]++] = account;
}

static size_t choose(object_choice_fn choice, uint32_t idle_for)
{
	const struct object_list list = { all, len, NOW, idle_for, NULL, &places };

	return choice(&list, chosen);
}

static void the_account_with_most_files_gives_the_most_idle_first(void **state)
{
	struct object *newer, *older;

	(void)state;
	meet(VICTIM, 50);
	newer = meet(HOSTILE, 1);
	older = meet(HOSTILE, 3);
	assert_int_equal(choose(object_shares_givers, 0), 2);
	assert_ptr_equal(chosen[0].object, older);
	assert_ptr_equal(chosen[1].object, newer);
}

static void what_others_use_too_stays_with_the_one_who_has_fewest(void **state)
{
	struct object *shared, *own;

	(void)state;
	shared = meet(HOSTILE, 9);
	own = meet(HOSTILE, 1);
	meet(VICTIM, 0);
	pay(shared, HOSTILE);
	pay(shared, VICTIM);
	pay(own, HOSTILE);
	assert_int_equal(choose(object_shares_givers, 0), 1);
	assert_ptr_equal(chosen[0].object, own);
}

static void a_file_without_a_place_gives_none(void **state)
{
	struct object *gone;

	(void)state;
	gone = meet(HOSTILE, 5);
	meet(HOSTILE, 1);
	object_shares_return(&places, gone);
	object_shares_return(&places, gone);
	assert_int_equal(share_held(&places, HOSTILE), 1);
	assert_int_equal(choose(object_shares_givers, 0), 1);
	assert_ptr_not_equal(chosen[0].object, gone);
}

static void idle_files_are_chosen_whosever_they_are(void **state)
{
	(void)state;
	meet(VICTIM, 20);
	meet(HOSTILE, 30);
	meet(OTHER, 6);
	meet(OTHER, 0);
	all[3]->met = NOW;
	assert_int_equal(choose(object_shares_idle, 6), 2);
	assert_ptr_equal(chosen[0].object, all[1]);
	assert_ptr_equal(chosen[1].object, all[0]);
}

static void removed_files_are_chosen_when_they_are_idle(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		meet(VICTIM, 60 * (unsigned int)i)->fd = memfd_create("removed", MFD_CLOEXEC);
	meet(HOSTILE, 60)->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	meet(OTHER, 60);
	assert_int_equal(choose(object_shares_unused, 300), 1);
	assert_ptr_equal(chosen[0].object, all[1]);
}

static void refused_files_are_chosen_to_be_met_again(void **state)
{
	(void)state;
	meet(VICTIM, 0);
	object_fail(meet(HOSTILE, 0), OBJECT_LIMIT);
	object_fail(meet(HOSTILE, 0), OBJECT_NOT_ELF);
	assert_int_equal(choose(object_shares_refused, 0), 1);
	assert_ptr_equal(chosen[0].object, all[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_account_with_most_files_gives_the_most_idle_first),
		TEST(what_others_use_too_stays_with_the_one_who_has_fewest),
		TEST(a_file_without_a_place_gives_none),
		TEST(idle_files_are_chosen_whosever_they_are),
		TEST(removed_files_are_chosen_when_they_are_idle),
		TEST(refused_files_are_chosen_to_be_met_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
