/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps.c - which folders are a trap's bundles, as those that are too many are removed; what a
 * capture has of the time before it; when a value is measured. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "containers/containers.h"
#include "traps/trap_bundle.h"
#include "traps/trapper.h"
#include "traps/traps.h"
#include "traps/watch.h"

static void a_folder_is_a_bundle_of_its_trap_alone(void **state)
{
	static const struct {
		const char *file, *name;
		unsigned int number;
	} rows[] = {
		{ "hot-0001-20261121T134647Z", "hot", 1 },
		{ "hot-0420-20261121T134647Z", "hot", 420 },
		{ "hot-12345-20261121T134647Z", "hot", 12345 },
		{ "hot-0001-0002-20261121T134647Z", "hot", 0 },
		{ "hot-0001-0002-20261121T134647Z", "hot-0001", 2 },
		{ "hot-web-0001-20261121T134647Z", "hot", 0 },
		{ "hot-0001-20261121T134647Z", "hotter", 0 },
		{ "hotter-0001-20261121T134647Z", "hot", 0 },
		{ "hot-0001", "hot", 0 },
		{ "hot-1-20261121T134647Z", "hot", 0 },
		{ "hot-9999999999-20261121T134647Z", "hot", 0 },
		{ "hot-0001-mine", "hot", 0 },
		{ "hot", "hot", 0 },
		{ "", "hot", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (traps_bundle_number(rows[i].file, rows[i].name) != rows[i].number)
			fail_msg("%s of %s", rows[i].file, rows[i].name);
}

/* From start_ns on, ten ticks a second. */
static void make_profile(struct profile *p, uint64_t start_ns, uint32_t ticks)
{
	struct profile_labels labels = { 0 };
	struct profile_frame frame = { 0 };
	uint32_t stack, id;

	assert_int_equal(profile_init(p), 0);
	p->kinds[0].period_ns = NSEC_PER_SEC / 10;
	p->start_tick_ns = start_ns;
	assert_int_equal(profile_string(p, "f", &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	assert_int_equal(profile_stack(p, &id, 1, &stack), 0);
	assert_int_equal(profile_labels(p, &labels, &id), 0);
	for (uint32_t i = 1; i <= ticks; i++)
		assert_int_equal(
			profile_tick(p, stack, id, 0, start_ns + i * p->kinds[0].period_ns), 0);
}

/* A trap of the host that fires when it may. */
static void configure(struct rules *rules)
{
	rules->len = 1;
	rules->all[0] = (struct rule){
		.name = "t",
		.container = "",
		.metric = RULE_CPU,
		.below = 1000000,
		.for_ns = NSEC_PER_SEC,
		.before_ns = 60 * NSEC_PER_SEC,
		.capture_ns = NSEC_PER_SEC,
		.cooldown_ns = 300 * NSEC_PER_SEC,
		.hz = 10,
		.most = 1,
	};
}

/* Traps of which one has fired, on a host that was started then; its capture is not over. */
static struct traps *fire(const struct rules *rules, struct log *log, uint64_t now)
{
	const uint64_t end = now + 10 * NSEC_PER_SEC;
	struct containers *containers;
	struct profile profile;
	struct traps *traps;

	assert_int_equal(containers_new(NULL, NULL, &containers), 0);
	assert_int_equal(traps_new(rules, log, &traps), 0);
	make_profile(&profile, now, 100);
	for (; now <= end; now += NSEC_PER_SEC)
		assert_int_equal(traps_tick(traps, containers, NULL, now), 0);
	assert_int_equal(traps_stats(traps)->fired, 1);
	assert_int_equal(traps_take(traps, &profile, NULL, now), 0);
	profile_done(&profile);
	containers_free(containers);
	return traps;
}

/* Of a host that was started ten seconds ago, or long ago. */
static void a_capture_begins_where_sampling_began(void **state)
{
	static const uint64_t begins[] = { NSEC_PER_SEC, 100000 * NSEC_PER_SEC };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		struct log log = { .quiet = true };
		struct rules rules;
		struct traps *traps;
		struct trap_capture *c;

		configure(&rules);
		traps = fire(&rules, &log, begins[i]);
		c = traps_next(traps, true);
		assert_non_null(c);
		assert_int_equal(c->since_ns, begins[i]);
		assert_int_equal(profile_total(&c->profile),
			(c->until_ns - c->since_ns) / (NSEC_PER_SEC / 10) - 1);
		trap_capture_free(c);
		traps_free(traps);
	}
}

static void never(void *ctx, struct watch *watch)
{
	char name[64];

	(void)ctx;
	watch_put_name(watch, name, sizeof(name));
	fail_msg("%s fired", name);
}

static void the_first_value_covers_a_whole_second(void **state)
{
	const uint64_t start = 1000 * NSEC_PER_SEC;
	const struct {
		uint64_t after_ns, values;
	} rows[] = {
		{ 0, 0 },
		{ NSEC_PER_SEC - 1, 0 },
		{ NSEC_PER_SEC, 1 },
		{ 2 * NSEC_PER_SEC, 2 },
	};
	struct log log = { .quiet = true };
	const struct thread_times times = { 0 };
	struct watch_sources from = { .times = &times };
	struct watches watches;
	struct rules rules;

	(void)state;
	configure(&rules);
	rules.all[0].for_ns = 60 * NSEC_PER_SEC;
	assert_int_equal(containers_new(NULL, NULL, &from.containers), 0);
	assert_int_equal(watches_init(&watches, &log), 0);
	assert_int_equal(watches_follow(&watches, &rules, &from, start), 0);
	assert_int_equal(watches.all.len, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct trap *trap = &watches.all.data[0].trap;

		watches_read(&watches, &rules, &from, start + rows[i].after_ns, never, NULL);
		if (trap->values_len != rows[i].values)
			fail_msg("%llu values after %llu ns", (unsigned long long)trap->values_len,
				(unsigned long long)rows[i].after_ns);
		assert_int_equal(trap->since_ns, rows[i].values ? start : 0);
	}
	watches_done(&watches);
	containers_free(from.containers);
}

/* A process that is not there, in each metric of threads; neither above nor below a share. */
static void nothing_fires_on_what_is_not_there(void **state)
{
	static const enum rule_metric metrics[] = { RULE_CPU, RULE_WAIT, RULE_RUNNABLE,
		RULE_BLOCKED };
	const uint64_t start = 1000 * NSEC_PER_SEC;
	struct log log = { .quiet = true };
	struct thread_times times = { 0 };
	struct watch_sources from = { .times = &times, .visited = true };
	struct watches watches;
	struct rules rules;

	(void)state;
	assert_int_equal(containers_new(NULL, NULL, &from.containers), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(metrics); i++) {
		configure(&rules);
		rules.all[0].pid = 1;
		rules.all[0].metric = metrics[i / 2];
		rules.all[0].below = i % 2 ? 1000 : 0;
		rules.all[0].above = i % 2 ? 0 : 1;
		assert_int_equal(watches_init(&watches, &log), 0);
		for (uint64_t s = 0; s < 20; s++) {
			const uint64_t now = start + s * NSEC_PER_SEC;

			times.visited_ns = now;
			times.past_ns = s > 0 ? NSEC_PER_SEC : 0;
			assert_int_equal(watches_follow(&watches, &rules, &from, now), 0);
			watches_read(&watches, &rules, &from, now, never, NULL);
		}
		watches_done(&watches);
	}
	containers_free(from.containers);
}

static void write_text(const char *root, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	if (!text)
		return;
	snprintf(path, sizeof(path), "%s/%s", root, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* Its folder is still there, and its counter of CPU time stands still. */
static void a_cgroup_without_a_process_has_no_value(void **state)
{
	static const struct {
		const char *events, *tasks;
		bool there;
	} rows[] = {
		{ "populated 1\nfrozen 0\n", NULL, true },
		{ "populated 0\nfrozen 0\n", NULL, false },
		{ "populated 0\nfrozen 0\n", "12\n", true },
		{ "populated 0\nfrozen 0\n", "", false },
		{ NULL, "", false },
		{ NULL, "12\n", true },
		{ NULL, NULL, true }, /* nothing is known */
	};
	char root[] = "/tmp/stoker-meter-XXXXXX", command[256];

	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct meter_mounts mounts = { .viewer = root, .v2 = "/v2", .cpuacct = "/v1" };

		snprintf(command, sizeof(command),
			"rm -rf %s/root; mkdir -p %s/root/v2/c %s/root/v1/c", root, root, root);
		assert_int_equal(system(command), 0);
		write_text(root, "root/v2/c/cgroup.events", rows[i].events);
		write_text(root, "root/v1/c/tasks", rows[i].tasks);
		if (meter_has_tasks(&mounts, "/c") != rows[i].there)
			fail_msg("row %zu", i);
	}
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

static int run_for_ever(void *ctx, int fd)
{
	(void)ctx, (void)fd;
	while (pause() < 0)
		;
	return 0;
}

static void what_an_end_leaves_unwritten_is_said(void **state)
{
	const struct child_plan plan = { .run = run_for_ever, .death_signal = SIGKILL };
	struct trap_capture *slow = calloc(1, sizeof(*slow));
	struct log log = { .quiet = true };
	struct trapper t = { .bundle.log = &log, .capture = slow, .writer = CHILD_INIT };
	struct child writer;
	struct rules rules;
	char said[1024] = "";
	int pair[2], saved = dup(STDERR_FILENO);

	(void)state;
	assert_non_null(slow);
	assert_int_equal(profile_init(&slow->profile), 0);
	snprintf(slow->rule.name, sizeof(slow->rule.name), "slow");
	configure(&rules);
	t.traps = fire(&rules, &log, 1000 * NSEC_PER_SEC);
	assert_int_equal(child_start(&plan, &t.writer), 0);
	writer = t.writer;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	dup2(pair[1], STDERR_FILENO);
	trapper_finish(&t, clock_ns(CLOCK_MONOTONIC) + 50 * NSEC_PER_MSEC);
	dup2(saved, STDERR_FILENO);
	assert_true(read(pair[0], said, sizeof(said) - 1) > 0);
	assert_non_null(strstr(said, "trap slow: its bundle is not written yet"));
	assert_non_null(strstr(said, "its capture is lost, as sampling ends"));
	assert_null(traps_next(t.traps, true));
	child_signal(&writer, SIGKILL);
	t.writer.pidfd = -1;
	trapper_close(&t);
	child_wait(&writer, -1, NULL);
	fd_close(&writer.pidfd);
	close(pair[0]);
	close(pair[1]);
	close(saved);
}

/* Somebody else reaped its writer, so that no exit status is known. */
static void a_bundle_of_unknown_end_is_not_written(void **state)
{
	struct child none = CHILD_INIT;

	(void)state;
	assert_int_equal(trap_bundle_end(&none, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_is_a_bundle_of_its_trap_alone),
		cmocka_unit_test(a_capture_begins_where_sampling_began),
		cmocka_unit_test(the_first_value_covers_a_whole_second),
		cmocka_unit_test(nothing_fires_on_what_is_not_there),
		cmocka_unit_test(a_cgroup_without_a_process_has_no_value),
		cmocka_unit_test(what_an_end_leaves_unwritten_is_said),
		cmocka_unit_test(a_bundle_of_unknown_end_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
