/* SPDX-License-Identifier: Apache-2.0 */
/* test_first_page.c - a bundle's first page: its figures, what changed, and that an empty capture
 * says so with its reason. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "traps/first_page.h"

#define FIRED_NS (1000 * NSEC_PER_SEC)
#define PERIOD_NS (NSEC_PER_SEC / 100)

static void add_ticks(
	struct profile *p, const char *name, int32_t tid, uint64_t since_ns, uint32_t n)
{
	struct profile_labels labels = { 0 };
	struct profile_frame frame = { 0 };
	uint32_t stack, id;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	assert_int_equal(profile_stack(p, &id, 1, &stack), 0);
	assert_int_equal(profile_labels_text(p, &labels, PROFILE_KEY_CONTAINER, "web"), 0);
	assert_int_equal(profile_labels_text(p, &labels, PROFILE_KEY_COMM, "java"), 0);
	profile_labels_set_number(&labels, PROFILE_KEY_PID, 7);
	profile_labels_set_number(&labels, PROFILE_KEY_TID, tid);
	assert_int_equal(profile_labels(p, &labels, &id), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(profile_tick(p, stack, id, 0, since_ns + i * PERIOD_NS), 0);
}

/* Ten seconds before and ten after, at 100 Hz. */
static struct trap_capture *make_capture(void)
{
	struct trap_capture *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	assert_int_equal(profile_init(&c->profile), 0);
	snprintf(c->rule.name, sizeof(c->rule.name), "stalled");
	snprintf(c->name, sizeof(c->name), "web");
	c->rule.below = 30;
	c->rule.for_ns = 2 * NSEC_PER_SEC;
	c->fired_ns = FIRED_NS;
	c->fired_real_ns = 1700000000 * NSEC_PER_SEC;
	c->since_ns = FIRED_NS - 10 * NSEC_PER_SEC;
	c->until_ns = FIRED_NS + 10 * NSEC_PER_SEC;
	c->slice.period_ns = c->profile.kinds[0].period_ns = PERIOD_NS;
	trap_begin(&c->trap, FIRED_NS - 2 * NSEC_PER_SEC);
	trap_feed(&c->trap, &(struct trap_rule){ .below = 1 }, FIRED_NS - NSEC_PER_SEC, 456);
	trap_feed(&c->trap, &(struct trap_rule){ .below = 1 }, FIRED_NS, 4);
	c->before = (struct trap_threads){ { 100, 60, 10, 25, 5, 0 }, NSEC_PER_SEC, 14 };
	c->after = (struct trap_threads){ { 1000, 1, 0, 998, 1, 0 }, NSEC_PER_SEC, 15 };
	return c;
}

/* Frames leaf first: "[blocked on futex]|/k/schedule|libc.so.6/__poll|Shop.ask"; the part before
 * the last / is the module, /k/ a kernel function. */
static void add_wait(struct trap_waits *w, const char *frames, int32_t tid, bool idle, double s)
{
	uint32_t ids[16], len = 0, stack, kind, id;
	struct profile_labels labels = { 0 };
	struct profile *p = &w->profile;
	char text[256], *at = text, *name;

	snprintf(text, sizeof(text), "%s", frames);
	while ((name = strsep(&at, "|"))) {
		struct profile_frame frame = { .class = name[0] == '[' ? PROFILE_MARK
				: strncmp(name, "/k/", 3) == 0         ? PROFILE_KERNEL
				: strchr(name, '/')                    ? PROFILE_NATIVE
								       : PROFILE_LANGUAGE };
		char *slash = strrchr(name, '/');

		if (slash)
			*slash = '\0';
		if (slash && frame.class == PROFILE_NATIVE)
			assert_int_equal(profile_string(p, name, &frame.module), 0);
		assert_int_equal(profile_string(p, slash ? slash + 1 : name, &frame.name), 0);
		assert_int_equal(profile_frame(p, &frame, &ids[len++]), 0);
	}
	assert_int_equal(profile_stack(p, ids, len, &stack), 0);
	assert_int_equal(profile_kind(p, PROFILE_WALL, strlen(PROFILE_WALL), &kind), 0);
	profile_labels_set_number(&labels, PROFILE_KEY_TID, tid);
	if (idle)
		assert_int_equal(profile_labels_put(p, &labels, "idle", 4, "yes", 3), 0);
	assert_int_equal(profile_labels(p, &labels, &id), 0);
	assert_int_equal(profile_add_kind(p, stack, id, kind, (uint64_t)(s * 1e9)), 0);
}

static char *page_of(const struct trap_capture *c, const struct profile *earlier)
{
	const struct first_page page = { .capture = c, .host = "h\n1", .earlier = earlier };
	struct buf out = BUF_INIT;

	assert_int_equal(first_page_put(&page, &out), 0);
	return out.data;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in\n%s", part, text);
}

static void it_says_what_fired_and_what_changed(void **state)
{
	struct trap_capture *c = make_capture();
	char *text;

	(void)state;
	add_ticks(&c->profile, "serve", 8, c->since_ns, 500);
	add_ticks(&c->profile, "collect", 9, c->since_ns, 250);
	add_ticks(&c->profile, "serve", 8, c->fired_ns, 10);
	text = page_of(c, NULL);
	has(text, "Trap stalled fired at 2023-11-14 22:13:20 UTC on h?1.\n");
	has(text,
		"The rule: cpu of web below 3 % for 2 s.\nThe value was 0.4 %. The latest values, "
		"oldest first: 45.6 0.4 %.\n");
	assert_null(strstr(text, "a part of the time in which"));
	has(text, "  before     75.0 % of a CPU, in 10.0 s: 750 samples\n");
	has(text, "  after       1.0 % of a CPU, in 10.0 s: 10 samples\n");
	has(text, "  running          60.0 %      0.1 %\n");
	has(text, "  runnable         10.0 %      0.0 %\n");
	has(text, "  blocked          25.0 %     99.8 %\n");
	has(text, "  other             5.0 %      0.1 %\n");
	has(text, "  threads            14         15\n");
	has(text,
		"Hottest functions before it fired\n      50.0 %  serve\n      25.0 %  collect\n");
	has(text,
		"Hottest threads before it fired\n      50.0 %  java, thread 8\n"
		"      25.0 %  java, thread 9\n");
	has(text, "Hottest functions after it fired\n       1.0 %  serve\n");
	has(text,
		"Changes after it fired, against the time before it in this capture\n"
		"      75.0 % ->      1.0 %  all of its CPU time\n"
		"      50.0 % ->      1.0 %  serve\n"
		"      25.0 % ->      0.0 %  collect\n");
	lacks(text, "empty");
	free(text);
	trap_capture_free(c);
}

static void a_value_of_another_whole_is_told_apart_from_the_table(void **state)
{
	struct trap_capture *c = make_capture();
	char *text;

	(void)state;
	c->rule.metric = RULE_RUNNABLE;
	text = page_of(c, NULL);
	has(text,
		"The rule: runnable of web below 3 % for 2 s.\nThat is a part of the time in "
		"which its threads wanted a CPU, and not of all their time.\nThe value was 0.4 %.");
	free(text);
	trap_capture_free(c);
}

static void it_compares_with_the_store_where_there_is_one(void **state)
{
	struct trap_capture *c = make_capture();
	struct profile earlier;
	char *text;

	(void)state;
	assert_int_equal(profile_init(&earlier), 0);
	earlier.kinds[0].period_ns = PERIOD_NS;
	earlier.duration_ns = 600 * NSEC_PER_SEC;
	add_ticks(&earlier, "earlier", -1, 1, 30000);
	add_ticks(&c->profile, "serve", 8, c->fired_ns, 100);
	text = page_of(c, &earlier);
	has(text,
		"Changes after it fired, against the ten minutes before\n"
		"      50.0 % ->     10.0 %  all of its CPU time\n"
		"      50.0 % ->      0.0 %  earlier\n"
		"       0.0 % ->     10.0 %  serve\n");
	free(text);
	profile_done(&earlier);
	trap_capture_free(c);
}

static void an_empty_capture_says_why(void **state)
{
	struct trap_capture *c = make_capture();
	char *text = page_of(c, NULL);

	(void)state;
	has(text,
		"This capture is empty: it has no sample of its subject. Its threads (15) waited, "
		"and used next to no CPU: they were blocked for 99.8 % of their time.");
	has(text, "no function's share changed");
	free(text);
	c->after.split = (struct thread_split){ 1000, 1, 900, 98, 1, 0 };
	text = page_of(c, NULL);
	has(text, "Its threads (15) had no CPU: they waited for one for 90.0 % of their time.");
	lacks(text, "quota");
	free(text);
	c->after.split.throttled_ns = c->after.past_ns / 2;
	text = page_of(c, NULL);
	has(text,
		"Its quota of CPU time was used up for 0.0 % of the time before, and 50.0 % after");
	free(text);
	c->after = (struct trap_threads){ 0 };
	text = page_of(c, NULL);
	has(text, "It is not known what its threads did");
	has(text, "  blocked          25.0 %    unknown\n");
	free(text);
	add_ticks(&c->profile, "serve", 8, c->since_ns, 100);
	text = page_of(c, NULL);
	has(text, "There is no sample of its subject after it fired.");
	lacks(text, "capture is empty");
	free(text);
	trap_capture_free(c);
}

/* Ended in the time before: by a signal. */
static void a_capture_that_was_cut_short_has_no_time_after(void **state)
{
	struct trap_capture *c = make_capture();
	char *text;

	(void)state;
	c->until_ns = c->fired_ns - NSEC_PER_SEC;
	add_ticks(&c->profile, "serve", 8, c->since_ns, 100);
	text = page_of(c, NULL);
	has(text, "  after       0.0 % of a CPU, in 0.0 s: 0 samples\n");
	free(text);
	trap_capture_free(c);
}

static void waits_are_counted_in_threads_by_the_function_of_the_program_that_has_them(void **state)
{
	struct trap_capture *c = make_capture();
	char *text;

	(void)state;
	assert_int_equal(profile_init(&c->waits_before.profile), 0);
	assert_int_equal(profile_init(&c->waits_after.profile), 0);
	text = page_of(c, NULL);
	has(text, "No stack of a waiting thread was seen.");
	free(text);
	c->waits_before.past_ns = 20 * NSEC_PER_SEC;
	c->waits_after.past_ns = 10 * NSEC_PER_SEC;
	/* With very many threads a window may have no visit. */
	add_wait(&c->waits_before, "[blocked on poll]|node/uv__fs_work|node/worker", 3, false, 20);
	text = page_of(c, NULL);
	has(text, "\nThreads were not visited in the time after it fired:");
	has(text,
		"     1.00 ->       -  [blocked on poll], 1 thread\n      uv__fs_work < "
		"worker\n");
	free(text);
	profile_done(&c->waits_before.profile);
	assert_int_equal(profile_init(&c->waits_before.profile), 0);
	/* Three threads in one place, whatever the kernel's and the library's frames are. */
	add_wait(&c->waits_before,
		"[blocked on poll]|/k/do_poll|libc.so.6/__poll|java.net.Socket.read|Shop.ask|"
		"Shop.run",
		1, false, 5);
	for (int32_t tid = 1; tid <= 3; tid++)
		add_wait(&c->waits_after,
			tid == 2 ? "[blocked on poll]|libc.so.6/__poll|java.net.Socket.read|"
				   "Shop.ask|Shop.run"
				 : "[blocked on poll]|/k/do_poll|java.net.Socket.read|Shop.ask|"
				   "Shop.run",
			tid, false, 9);
	add_wait(&c->waits_after, "[blocked on futex]|libc.so.6/futex|worker", 4, true, 10);
	add_wait(&c->waits_after, "[blocked on futex]|app/evil\n\033[2J|app/main", 5, false, 10);
	for (int32_t tid = 6; tid <= 7; tid++)
		add_wait(&c->waits_after,
			tid == 6 ? "[blocked on socket]|[waits for tcp 10.0.0.7:5432]|ask_db"
				 : "[blocked on socket]|[waits for unix a\033b]|ask_db",
			tid, false, 2);
	for (int32_t tid = 8; tid <= 9; tid++)
		add_wait(&c->waits_after,
			tid == 8 ? "[blocked on futex]|[waits for futex 0x10]|leaked"
				 : "[blocked on futex]|[waits for futex 0x20]|leaked",
			tid, false, 1);
	assert_int_equal(hash_put(&c->waits_after.still, 5, 7 * NSEC_PER_SEC), 0);
	text = page_of(c, NULL);
	has(text,
		"Where its threads waited: threads on average, before -> after\n"
		"     0.25 ->    2.70  [blocked on poll] in Shop.ask, 3 threads\n"
		"      java.net.Socket.read < Shop.ask < Shop.run\n"
		"     0.00 ->    1.00  [blocked on futex] in evil??[2J, 1 thread, 7 s without a "
		"CPU\n");
	has(text,
		"     0.00 ->    0.20  [blocked on socket] in ask_db, for tcp 10.0.0.7:5432, 1 "
		"thread\n      ask_db\n");
	has(text, "[blocked on socket] in ask_db, for unix a?b, 1 thread\n");
	has(text, "     0.00 ->    0.20  [blocked on futex] in leaked, 2 threads\n");
	has(text,
		"Waiting for work, as it seems: threads on average, before -> after\n"
		"     0.00 ->    1.00  [blocked on futex] in worker, 1 thread\n");
	free(text);
	trap_capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			waits_are_counted_in_threads_by_the_function_of_the_program_that_has_them),
		cmocka_unit_test(it_says_what_fired_and_what_changed),
		cmocka_unit_test(a_value_of_another_whole_is_told_apart_from_the_table),
		cmocka_unit_test(it_compares_with_the_store_where_there_is_one),
		cmocka_unit_test(an_empty_capture_says_why),
		cmocka_unit_test(a_capture_that_was_cut_short_has_no_time_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
