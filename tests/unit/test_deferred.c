/* SPDX-License-Identifier: Apache-2.0 */
/* test_deferred.c - when deferred samples are walked, and when they wait: the process, its mappings
 * and its files are made here; the tables are those that BPF would have, on maps in memory.
 * LINK: -Wl,--wrap=sampler_publish,--wrap=sampler_scan,--wrap=sampler_lost_ticks
 * LINK: -Wl,--wrap=objects_find,--wrap=objects_want */
#include "unit.h"

#include <stdlib.h>

#include "agent/deferred.h"
#include "agent/object.h"
#include "bpf/reasons.h"
#include "made_maps.h"
#include "sampler/tally.h"
#include "unwind/publish.h"

#define FIRST OBJECT_FIRST
#define AGAIN (OBJECT_FIRST + 1) /* what the same file is called later */
#define CODE 0x400000
#define OFFSET 0x1000

static const struct object_key key = { .ino = 1 };

static struct made_maps *made;
static struct publish *publish;
static struct tally tally;
static struct deferred *deferred;
static struct object *object;
static bool is_known_again; /* the agent has read that both ids are one file */
static uint32_t wanted, last_wanted;

struct publish *__wrap_sampler_publish(struct sampler *sampler);
int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx);
void __wrap_sampler_lost_ticks(struct sampler *sampler, int err, uint64_t ticks);
struct object *__wrap_objects_find(struct objects *objects, uint32_t id);
void __wrap_objects_want(struct objects *objects, uint32_t id);

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

void __wrap_objects_want(struct objects *objects, uint32_t id)
{
	(void)objects;
	wanted++;
	last_wanted = id;
}

static int setup(void **state)
{
	(void)state;
	made = made_maps_new();
	object = object_new(FIRST, "file");
	made_meet(made, &key, FIRST);
	is_known_again = true;
	wanted = last_wanted = 0;
	return publish_new(&made->maps, &publish) < 0 ||
		deferred_new(NULL, &tally, NULL, &deferred) < 0;
}

static int teardown(void **state)
{
	(void)state;
	deferred_free(deferred);
	publish_free(publish);
	object_free(object);
	free(made);
	tally_done(&tally);
	tally = (struct tally){ 0 };
	return 0;
}

/* A sample that stopped in its first frame, in the file's code. */
static void put_sample(void)
{
	static struct event_deferred event = { .kind = EVENT_DEFERRED,
		.task = 5,
		.tgid = 7,
		.pc = CODE + 0x10,
		.sp = 0x7000,
		.exact = 1,
		.frames_len = 1 };
	const struct event_task task = { .id = 5 };

	deferred_frames(&event)[0] = (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT |
		(uint64_t)AGAIN << FRAME_OBJECT_SHIFT | (OFFSET + 0x10);
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(deferred_put(deferred, &event), 0);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
