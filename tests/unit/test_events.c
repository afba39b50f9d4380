/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c - which events of the ring buffer reach their callback, and what is counted of
 * those that it has no room for. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "sampler/events.h"

struct seen {
	uint32_t kind, len, change;
	int answer;
};

/* Each callback notes its kind. */
#define CALLBACK(name, number)                                            \
	static int on_##name(void *ctx, const struct event_##name *event) \
	{                                                                 \
		struct seen *seen = ctx;                                  \
                                                                          \
		assert_int_equal(event->kind, number);                    \
		seen->kind = number;                                      \
		seen->len++;                                              \
		return seen->answer;                                      \
	}

CALLBACK(object, EVENT_OBJECT)
CALLBACK(task, EVENT_TASK)
CALLBACK(jit, EVENT_JIT)
CALLBACK(exec, EVENT_EXEC)
CALLBACK(page, EVENT_PAGE)
CALLBACK(deferred, EVENT_DEFERRED)

static int on_stack(void *ctx, const struct event_stack *event, const uint64_t *frames)
{
	struct seen *seen = ctx;

	assert_ptr_equal(frames, event + 1);
	seen->kind = EVENT_STACK;
	seen->len++;
	return seen->answer;
}

static int on_cgroup(void *ctx, const struct event_cgroup *event)
{
	struct seen *seen = ctx;

	seen->kind = EVENT_CGROUP;
	seen->change = event->change;
	seen->len++;
	return seen->answer;
}

static const struct sampler_events callbacks = {
	.object = on_object,
	.task = on_task,
	.stack = on_stack,
	.jit = on_jit,
	.exec = on_exec,
	.page = on_page,
	.deferred = on_deferred,
	.cgroup = on_cgroup,
};

/* counted: what becomes of an event for which the callback has no room. */
static const struct {
	uint32_t kind;
	size_t bytes;
	bool counted;
} kinds[] = {
	{ EVENT_STACK, sizeof(struct event_stack), false },
	{ EVENT_OBJECT, sizeof(struct event_object), true },
	{ EVENT_TASK, sizeof(struct event_task), false },
	{ EVENT_JIT, sizeof(struct event_jit), true },
	{ EVENT_EXEC, sizeof(struct event_exec), true },
	{ EVENT_PAGE, sizeof(struct event_page), false },
	{ EVENT_DEFERRED, offsetof(struct event_deferred, data), false },
	{ EVENT_CGROUP, offsetof(struct event_cgroup, path) + 1, true },
};

union any {
	uint32_t kind;
	struct event_deferred largest;
};

static void an_event_reaches_its_callback_when_it_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		union any event = { .kind = kinds[i].kind };
		struct seen seen = { 0 };
		struct events events = { .callbacks = callbacks, .ctx = &seen };

		assert_int_equal(events_take(&events, &event, kinds[i].bytes - 1), 0);
		if (seen.len != 0)
			fail_msg("kind %u was taken though it was cut", kinds[i].kind);
		assert_int_equal(events_take(&events, &event, kinds[i].bytes), 0);
		if (seen.len != 1 || seen.kind != kinds[i].kind)
			fail_msg("kind %u did not come", kinds[i].kind);
	}
}

/* Others wait for the next look, as they did not wake anybody. */
static void tasks_of_unknown_places_are_counted(void **state)
{
	struct event_task event = { .kind = EVENT_TASK, .known = 1 };
	struct seen seen = { 0 };
	struct events events = { .callbacks = callbacks, .ctx = &seen };

	(void)state;
	events_take(&events, &event, sizeof(event));
	assert_int_equal(events.unknown_tasks, 0);
	event.known = 0;
	events_take(&events, &event, sizeof(event));
	assert_int_equal(events.unknown_tasks, 1);
	assert_int_equal(seen.len, 2);
}

static void an_event_without_room_is_counted_once(void **state)
{
	static const int answers[] = { -ENOMEM, -ENOSPC, -ENOENT, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(answers); j++) {
			union any event = { .kind = kinds[i].kind };
			struct seen seen = { .answer = answers[j] };
			struct events events = { .callbacks = callbacks, .ctx = &seen };
			uint64_t want = kinds[i].counted && j < 2 ? 1 : 0;

			events_take(&events, &event, kinds[i].bytes);
			if (events.dropped[kinds[i].kind] != want)
				fail_msg("kind %u, answer %d", kinds[i].kind, answers[j]);
			want = kinds[i].kind == EVENT_DEFERRED;
			assert_int_equal(events.lost[LOST_MEMORY], j < 2 ? want : 0);
			assert_int_equal(events.lost[LOST_DRAIN], j == 2 ? want : 0);
		}
	}
}

static void a_deferred_sample_has_the_size_that_it_says(void **state)
{
	static const struct {
		uint16_t frames_len;
		uint32_t stack_bytes, root_bytes;
		size_t bytes; /* after the head */
		bool taken;
	} rows[] = {
		{ 3, 16, 0, 40, true },
		{ 3, 16, 0, 39, false },
		{ STACK_LEAF_FRAMES, 8, 0, STACK_LEAF_FRAMES * 8 + 8, true },
		{ STACK_LEAF_FRAMES + 1, 8, 0, DEFERRED_FRAMES_MAX * 8 + 8, true },
		{ STACK_LEAF_FRAMES + 1, 8, 0, DEFERRED_FRAMES_MAX * 8 + 7, false },
		{ STACK_WALK_MAX, 0, 0, DEFERRED_DATA_BYTES, true },
		{ STACK_WALK_MAX + 1, 0, 0, DEFERRED_DATA_BYTES, false },
		{ 1, DEFERRED_STACK_BYTES, 0, DEFERRED_DATA_BYTES, true },
		{ 1, DEFERRED_STACK_BYTES + 1, 0, DEFERRED_DATA_BYTES, false },
		{ 1, UINT32_MAX, 0, DEFERRED_DATA_BYTES, false },
		{ 1, 16, 8, 8 + DEFERRED_ROOT_OFFSET + 8, true },
		{ 1, 16, 8, 8 + DEFERRED_ROOT_OFFSET + 7, false },
		{ 1, DEFERRED_ROOT_OFFSET, DEFERRED_ROOT_BYTES, DEFERRED_DATA_BYTES, true },
		{ 1, DEFERRED_ROOT_OFFSET + 1, 8, DEFERRED_DATA_BYTES, false },
		{ 1, 16, DEFERRED_ROOT_BYTES + 1, DEFERRED_DATA_BYTES, false },
		{ 1, 16, UINT32_MAX, DEFERRED_DATA_BYTES, false },
		{ 1, 16, UINT32_MAX - DEFERRED_ROOT_OFFSET + 1, DEFERRED_DATA_BYTES, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static union any event;
		struct seen seen = { 0 };
		struct events events = { .callbacks = callbacks, .ctx = &seen };

		event.largest = (struct event_deferred){ .kind = EVENT_DEFERRED,
			.frames_len = rows[i].frames_len,
			.stack_bytes = rows[i].stack_bytes,
			.root_bytes = rows[i].root_bytes };
		events_take(&events, &event, offsetof(struct event_deferred, data) + rows[i].bytes);
		if (seen.len != rows[i].taken)
			fail_msg("row %zu", i);
	}
}

static void a_leaf_and_a_tick_go_into_the_tally(void **state)
{
	static const uint64_t frames[] = { 7, 8, 9 };
	struct {
		struct event_stack head;
		uint64_t frames[3];
	} stack = { { .kind = EVENT_STACK, .hash = 1, .below_leaf = 2, .frames_len = 3 },
		{ 7, 8, 9 } };
	struct event_leaf leaf = { .kind = EVENT_LEAF, .hash = 3, .below_leaf = 2, .frame = 70 };
	struct event_tick tick = { .kind = EVENT_TICK, .id = 5, .time_ns = 1000 };
	struct tally tally = { 0 };
	struct events events = { .callbacks = callbacks, .tally = &tally };

	(void)state;
	assert_int_equal(tally_stack(&tally, &stack.head, frames), 0);
	events_take(&events, &leaf, sizeof(leaf) - 1);
	assert_int_equal(tally.stacks.len, 1);
	events_take(&events, &leaf, sizeof(leaf));
	assert_int_equal(tally.stacks.len, 2);
	assert_int_equal(tally.stacks.data[1].hash, 3);
	assert_int_equal(tally.stacks.data[1].frames[0], 70);
	assert_int_equal(tally.stacks.data[1].frames[2], 9);
	events_take(&events, &tick, sizeof(tick) - 1);
	assert_int_equal(timeline_len(&tally.timeline), 0);
	events_take(&events, &tick, sizeof(tick));
	assert_int_equal(timeline_len(&tally.timeline), 1);
	assert_int_equal(events.lost[LOST_MEMORY] + events.lost[LOST_DRAIN], 0);
	tally_done(&tally);
}

static void lost_cgroup_events_are_told_once_a_loss(void **state)
{
	struct seen seen = { 0 };
	struct events events = { .callbacks = callbacks, .ctx = &seen };

	(void)state;
	events_note_cgroups_lost(&events, 0);
	assert_int_equal(seen.len, 0);
	events_note_cgroups_lost(&events, 7);
	events_note_cgroups_lost(&events, 7);
	assert_int_equal(seen.len, 1);
	assert_int_equal(seen.change, CGROUP_LOST);
	events_note_cgroups_lost(&events, 8);
	assert_int_equal(seen.len, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_reaches_its_callback_when_it_is_whole),
		cmocka_unit_test(tasks_of_unknown_places_are_counted),
		cmocka_unit_test(an_event_without_room_is_counted_once),
		cmocka_unit_test(a_deferred_sample_has_the_size_that_it_says),
		cmocka_unit_test(a_leaf_and_a_tick_go_into_the_tally),
		cmocka_unit_test(lost_cgroup_events_are_told_once_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
