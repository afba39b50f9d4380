/* SPDX-License-Identifier: Apache-2.0 */
/* test_deferred.c - when deferred samples are walked, and when they wait: the process, its mappings
 * and its files are made here; the tables are those that BPF would have, on maps in memory.
 * LINK: -Wl,--wrap=sampler_publish,--wrap=sampler_scan,--wrap=sampler_lost_ticks
 * LINK: -Wl,--wrap=objects_find,--wrap=objects_want,--wrap=objects_time
 * LINK: -Wl,--wrap=worker_client_page,--wrap=worker_client_kick */
#include "unit.h"

#include <stdlib.h>

#include "agent/deferred.h"
#include "files/row_wishes.h"
#include "base/clock.h"
#include "files/file_time.h"
#include "files/object.h"
#include "bpf/reasons.h"
#include "client/client.h"
#include "made_maps.h"
#include "made_rows.h"
#include "sampler/tally.h"
#include "unwind/publish.h"

#define FIRST OBJECT_FIRST
#define AGAIN (OBJECT_FIRST + 1) /* what the same file is called later */
#define CODE 0x400000
#define OFFSET 0x1000

static const struct object_key key = { .ino = 1, .mtime_ns = 77 };

static struct made_maps *made;
static struct publish *publish;
static struct tally tally;
static struct deferred *deferred;
static struct object *object;
static bool is_known_again; /* the agent has read that both ids are one file */
static struct file_time file_time;
static uint32_t wanted, last_wanted;
static uint32_t pages[8], pages_len, kicks;

struct publish *__wrap_sampler_publish(struct sampler *sampler);
int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx);
void __wrap_sampler_lost_ticks(struct sampler *sampler, int err, uint64_t ticks);
struct object *__wrap_objects_find(struct objects *objects, uint32_t id);
struct file_time *__wrap_objects_time(struct objects *objects);
void __wrap_objects_want(struct objects *objects, uint32_t id, uint64_t account);

struct publish *__wrap_sampler_publish(struct sampler *sampler)
{
	(void)sampler;
	return publish;
}

int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx)
{
	const struct scan_mapping mapping = {
		.start = CODE, .end = CODE + 0x10000, .file_offset = OFFSET, .object = AGAIN
	};

	(void)sampler;
	(void)tgid;
	return take(ctx, &mapping);
}

void __wrap_sampler_lost_ticks(struct sampler *sampler, int err, uint64_t ticks)
{
	(void)sampler;
	(void)ticks;
	assert_int_equal(err, 0);
}

struct object *__wrap_objects_find(struct objects *objects, uint32_t id)
{
	(void)objects;
	return id == FIRST || (id == AGAIN && is_known_again) ? object : NULL;
}

struct file_time *__wrap_objects_time(struct objects *objects)
{
	(void)objects;
	return &file_time;
}

int __wrap_worker_client_page(struct worker_client *client, uint64_t id, int fd,
	uint64_t written_ns, uint32_t number, uint64_t account);
void __wrap_worker_client_kick(struct worker_client *client);

int __wrap_worker_client_page(struct worker_client *client, uint64_t id, int fd,
	uint64_t written_ns, uint32_t number, uint64_t account)
{
	(void)client;
	(void)account;
	(void)fd;
	assert_int_equal(id, FIRST);
	assert_int_equal(written_ns, key.mtime_ns);
	assert_true(pages_len < ARRAY_SIZE(pages));
	pages[pages_len++] = number;
	return 0;
}

void __wrap_worker_client_kick(struct worker_client *client)
{
	(void)client;
	kicks++;
}

void __wrap_objects_want(struct objects *objects, uint32_t id, uint64_t account)
{
	(void)objects;
	(void)account;
	wanted++;
	last_wanted = id;
}

static int setup(void **state)
{
	(void)state;
	made = made_maps_new();
	object = object_new(FIRST, "file");
	object->key = key;
	object->state = OBJECT_OPENED;
	made_meet(made, &key, FIRST);
	is_known_again = true;
	wanted = last_wanted = pages_len = kicks = 0;
	return publish_new(&made->maps, &publish) < 0 ||
		deferred_new(NULL, &tally, NULL, NULL, &deferred) < 0;
}

static int teardown(void **state)
{
	(void)state;
	deferred_free(deferred);
	publish_free(publish);
	object_free(object);
	free(made);
	file_time_done(&file_time);
	file_time = (struct file_time){ 0 };
	tally_done(&tally);
	tally = (struct tally){ 0 };
	return 0;
}

/* A sample of the account that stopped in its first frame, in the file's code, with this word on
 * its stack, at sp or at the root end. */
static void put_sample_at(uint64_t word, bool at_root, uint64_t account)
{
	static struct event_deferred event = { .kind = EVENT_DEFERRED,
		.task = 5,
		.tgid = 7,
		.pc = CODE + 0x10,
		.sp = 0x7000,
		.exact = 1,
		.frames_len = 1,
		.stack_bytes = 8,
		.root_at = 0x700000 };
	const struct event_task task = { .id = 5 };

	deferred_frames(&event)[0] = (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT |
		(uint64_t)AGAIN << FRAME_OBJECT_SHIFT | (OFFSET + 0x10);
	assert_int_equal(tally_task(&tally, &task), 0);
	event.root_bytes = at_root ? 8 : 0;
	*(uint64_t *)deferred_stack(&event) = at_root ? 0 : word;
	*(uint64_t *)deferred_root(&event) = word;
	assert_int_equal(deferred_put(deferred, &event, account), 0);
}

static void put_sample_of(uint64_t word, uint64_t account)
{
	put_sample_at(word, false, account);
}

static void put_sample(void)
{
	put_sample_of(0, 1);
}

static void a_sample_waits_for_its_table_and_no_longer(void **state)
{
	struct deferred_stats stats;

	(void)state;
	put_sample();
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 1);
	assert_int_equal(last_wanted, FIRST);
	deferred_finish(deferred);
	assert_int_equal(wanted, 1);
	assert_int_equal(publish_none(publish, &key, FIRST), 0);
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 0);
	deferred_stats(deferred, &stats);
	assert_int_equal(stats.finished, 1);
	assert_int_equal(tally.counts.len, 1);
}

static void the_file_is_known_under_its_second_id_only_after_the_first_walk(void **state)
{
	(void)state;
	is_known_again = false;
	put_sample();
	deferred_finish(deferred);
	assert_int_equal(publish_none(publish, &key, FIRST), 0);
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 1);
	is_known_again = true;
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 0);
}

static void a_sample_without_a_table_is_kept_as_it_is_at_the_end(void **state)
{
	struct deferred_stats stats;

	(void)state;
	put_sample();
	deferred_finish(deferred);
	deferred_flush(deferred);
	assert_int_equal(deferred_waiting(deferred), 0);
	deferred_stats(deferred, &stats);
	assert_int_equal(stats.deferred, 1);
	assert_int_equal(stats.finished, 0);
	assert_int_equal(tally.stacks.data[0].end, END_NO_TABLE);
	assert_int_equal(tally.counts.len, 1);
}

static uint64_t put_crowded(uint64_t account, uint64_t samples)
{
	struct deferred_stats before, after;

	deferred_stats(deferred, &before);
	for (uint64_t i = 0; i < samples; i++)
		put_sample_of(0, account);
	deferred_stats(deferred, &after);
	return after.crowded - before.crowded;
}

static void an_account_with_many_samples_leaves_room_for_those_of_others(void **state)
{
	struct deferred_stats stats;
	size_t most;

	(void)state;
	while (put_crowded(7, 1) == 0)
		;
	most = deferred_waiting(deferred);
	assert_int_equal(put_crowded(7, 100), 100);
	/* What was left free is for others, and then what the first one has to give back. */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(put_crowded(8, most / 20), 0);
		deferred_finish(deferred);
		assert_in_range(deferred_waiting(deferred), most - most / 20, most);
	}
	deferred_stats(deferred, &stats);
	assert_in_range(stats.crowded, 101 + most / 3, 101 + most / 2);
	/* Half of the room is for each. */
	assert_true(put_crowded(8, most / 4) > 0);
	deferred_flush(deferred);
	assert_int_equal(put_crowded(9, most / 2), 0);
}

#define LAST_BYTES 0x10000 /* of the code: those after OFFSET in the file's second page */

/* What would end the walk, wherever it looks. */
static void make_rows(struct made_rows *table, struct made_rows *outline)
{
	const struct made_shape shape = {
		.pages = 2, .apart = 1, .rows_len = 1, .rules_len = 1
	};

	made_rows_make(&shape, table);
	assert_int_equal(unwind_rows_view(table->bytes, table->size, &table->view), 0);
	made_rows_outline(&table->view, outline);
	assert_int_equal(unwind_rows_view(outline->bytes, outline->size, &outline->view), 0);
}

static void give_page(const struct made_rows *table, uint32_t number)
{
	struct made_rows page;

	made_rows_pages(&table->view, &number, 1, &page);
	assert_int_equal(unwind_rows_view(page.bytes, page.size, &page.view), 0);
	assert_int_equal(publish_rows(publish, &key, FIRST, &page.view), 0);
	made_rows_free(&page);
}

static void wait_for_pages(bool at_root)
{
	struct made_rows table, outline;

	make_rows(&table, &outline);
	put_sample_at(CODE + LAST_BYTES - 0x100, at_root, 1);
	deferred_finish(deferred);
	assert_int_equal(pages_len, 0); /* whose numbers nobody knows */
	assert_int_equal(publish_rows(publish, &key, FIRST, &outline.view), 0);
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 1);
	assert_int_equal(pages_len, 2);
	assert_int_equal(pages[0], 0);
	assert_int_equal(pages[1], 1);
	assert_int_equal(kicks, 2);
	/* The other page is not what it waits for: it is not walked again. */
	give_page(&table, 1);
	deferred_finish(deferred);
	assert_int_equal(pages_len, 2);
	assert_int_equal(deferred_waiting(deferred), 1);
	give_page(&table, 0);
	deferred_finish(deferred);
	assert_int_equal(deferred_waiting(deferred), 0);
	assert_int_equal(tally.counts.len, 1);
	made_rows_free(&table);
	made_rows_free(&outline);
}

static void a_sample_waits_for_its_page_and_its_callers_pages_are_wanted_with_it(void **state)
{
	(void)state;
	wait_for_pages(false);
}

static void callers_at_the_stacks_root_end_are_wanted_too(void **state)
{
	(void)state;
	wait_for_pages(true);
}

static void a_page_that_cannot_be_requested_may_be_asked_for_again(void **state)
{
	struct made_rows table, outline;
	uint32_t page;

	(void)state;
	make_rows(&table, &outline);
	object->state = OBJECT_FAILED;
	assert_int_equal(publish_rows(publish, &key, FIRST, &outline.view), 0);
	page = made_find(made, &key)->value.page_base;
	assert_true(made_ask(made, page));
	put_sample();
	deferred_finish(deferred);
	assert_int_equal(pages_len, 0);
	assert_int_equal(made->pages[page].place, ROWS_PAGE_ABSENT);
	made_rows_free(&table);
	made_rows_free(&outline);
}

/* Of a deferred sample, and of a tick. */
static void pages_of_an_account_over_its_time_may_be_asked_for_again(void **state)
{
	const struct row_wishes wishes = { NULL, publish, NULL, 0 };
	struct event_page event = { .kind = EVENT_PAGE, .object = FIRST };
	struct made_rows table, outline;

	(void)state;
	make_rows(&table, &outline);
	object->payer = 5;
	file_time_limit(&file_time, 10);
	assert_false(file_time_refuses(&file_time, 5, clock_ns(CLOCK_MONOTONIC)));
	file_time_charge(&file_time, 5, 2 * FILE_TIME_MAX_NS);
	assert_int_equal(publish_rows(publish, &key, FIRST, &outline.view), 0);
	event.page = made_find(made, &key)->value.page_base;
	for (int turn = 0; turn < 2; turn++) {
		assert_true(made_ask(made, event.page));
		if (turn == 0)
			put_sample_of(0, 5);
		else
			assert_int_equal(row_wishes_tick(&wishes, &event), 0);
		deferred_finish(deferred);
		assert_int_equal(pages_len, 0);
		assert_int_equal(made->pages[event.page].place, ROWS_PAGE_ABSENT);
	}
	/* Who has a sample in it and time left need not wait for the interval's end. */
	assert_true(made_ask(made, event.page));
	put_sample_of(0, 1);
	deferred_finish(deferred);
	assert_int_equal(pages_len, 1);
	assert_int_equal(made->pages[event.page].place, ROWS_PAGE_ASKED);
	file_time.part = 0;
	made->pages[event.page].place = ROWS_PAGE_ABSENT;
	assert_true(made_ask(made, event.page));
	assert_int_equal(row_wishes_tick(&wishes, &event), 0);
	assert_int_equal(pages_len, 2);
	assert_int_equal(made->pages[event.page].place, ROWS_PAGE_ASKED);
	made_rows_free(&table);
	made_rows_free(&outline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_sample_waits_for_its_table_and_no_longer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_file_is_known_under_its_second_id_only_after_the_first_walk, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_sample_without_a_table_is_kept_as_it_is_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_account_with_many_samples_leaves_room_for_those_of_others, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_sample_waits_for_its_page_and_its_callers_pages_are_wanted_with_it, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			callers_at_the_stacks_root_end_are_wanted_too, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_page_that_cannot_be_requested_may_be_asked_for_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			pages_of_an_account_over_its_time_may_be_asked_for_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
