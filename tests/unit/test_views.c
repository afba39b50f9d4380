/* SPDX-License-Identifier: Apache-2.0 */
/* test_views.c - whose roots are known when there are more than places. What BPF would say of a
 * root is made up here. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "client/openers.h"
#include "files/views.h"
#include "sampler/file_key.h"
#include "sampler/places.h"

static struct file_view said;

int file_key_view(struct sampler *sampler, int fd, struct file_view *view)
{
	(void)sampler;
	(void)fd;
	*view = said;
	return 0;
}

int file_key_read(struct sampler *sampler, int fd, struct object_key *key)
{
	(void)sampler;
	(void)fd;
	(void)key;
	return -ENOENT;
}

static int forgotten;

void places_forget(struct sampler *sampler)
{
	(void)sampler;
	forgotten++;
}

void places_know(struct sampler *sampler, const struct event_task *event)
{
	(void)sampler, (void)event;
	fail();
}

/* An opener that answers at once. */
void openers_root(struct openers *openers, const struct opener_process *process,
	const struct event_object *event, uint64_t account, openers_fn fn, void *ctx, uint64_t id)
{
	struct openers_answer answer = { .fd = open("/", O_PATH | O_CLOEXEC) };

	(void)openers, (void)process, (void)event, (void)account;
	fn(ctx, id, &answer);
}

static int here(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

static struct views *views;

static int setup(void **state)
{
	(void)state;
	said = (struct file_view){ .mounts = 1, .ino = 1 };
	return views_new(NULL, NULL, &views);
}

static int teardown(void **state)
{
	(void)state;
	views_free(views);
	return 0;
}

/* A task of this account has this root: is it known? */
static bool meet(uint64_t number, uint64_t account)
{
	const struct opener_process process = { .pid = getpid() };

	said = (struct file_view){ .mounts = number, .ino = 2 };
	views_meet(views, &said, &process, account);
	return views_find(views, &said) != VIEWS_NONE;
}

static bool is_known(uint64_t number)
{
	const struct file_view view = { .mounts = number, .ino = 2 };

	return views_find(views, &view) != VIEWS_NONE;
}

static void one_account_with_many_roots_leaves_places_for_others(void **state)
{
	uint32_t known = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		known += meet(1000 + i, 7);
	assert_true(known > VIEWS_MAX / 2 && known < VIEWS_MAX);
	assert_int_equal(views_refused(views), 1000 - known);
	for (uint64_t account = 10; account < 30; account++) {
		assert_true(meet(account, account));
		assert_false(meet(5000 + account, 7));
	}
}

static void roots_that_files_told_of_first_are_charged_when_a_task_tells(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 240; i++) {
		said = (struct file_view){ .mounts = 1000 + i, .ino = 2 };
		views_take(views, here(), 0);
		meet(1000 + i, 7);
	}
	/* Account 0, of roots of nobody known, holds ours alone. */
	for (uint64_t i = 0; i < 3; i++) {
		said = (struct file_view){ .mounts = 10 + i, .ino = 2 };
		assert_int_not_equal(views_take(views, here(), 0), VIEWS_NONE);
	}
	assert_false(meet(6000, 7));
}

static void places_of_roots_that_are_gone_are_free_again(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		meet(1000 + i, 7);
	assert_false(meet(2000, 7));
	for (int interval = 0; interval < 20; interval++) {
		views_next(views);
		is_known(1000);
	}
	assert_true(is_known(1000));
	assert_false(is_known(1001));
	assert_true(meet(2000, 7));
}

static void a_place_is_forgotten_with_its_root_and_not_before(void **state)
{
	const struct opener_process process = { .pid = getpid() };
	const struct file_view unknowable = { .ino = 2 };

	(void)state;
	forgotten = 0;
	said = (struct file_view){ .mounts = 9, .ino = 2 };
	assert_false(views_meet(views, &said, &process, 7)); /* its answer comes later */
	assert_true(views_meet(views, &said, &process, 7));
	assert_true(views_meet(views, &unknowable, &process, 7));
	for (int interval = 0; interval < 8; interval++)
		views_next(views);
	assert_int_equal(forgotten, 0);
	views_next(views);
	assert_int_equal(forgotten, 1);
	assert_false(views_meet(views, &said, &process, 7));
	for (int interval = 0; interval < 3; interval++)
		views_next(views);
	assert_int_equal(forgotten, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_account_with_many_roots_leaves_places_for_others),
		TEST(roots_that_files_told_of_first_are_charged_when_a_task_tells),
		TEST(places_of_roots_that_are_gone_are_free_again),
		TEST(a_place_is_forgotten_with_its_root_and_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
