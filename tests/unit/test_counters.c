/* SPDX-License-Identifier: Apache-2.0 */
/* test_counters.c - the rows of wire/counters.h against the account as JSON, text and metrics, to
 * the byte. tests/golden/account has the output for an account with a different number in each
 * field, and for an empty one; --write writes it. test_manual.c has the manual page.
 * LINK: -Wl,--wrap=clock_gettime,--wrap=clock_getcpuclockid,--wrap=memory_resident */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "daemon/memory.h"
#include "base/own.h"
#include "daemon/status.h"
#include "http/metrics.h"
#include "wire/counter.h"

#define GOLDEN_MAX (1 << 20)
#define GOLDEN "tests/golden/account"
#define KEEPER_PID 7

int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *out);
uint64_t __wrap_memory_resident(pid_t pid);

/* Also of the keeper: its clock is this one. */
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	*out = (struct timespec){ id == CLOCK_REALTIME ? 2000000000 : 3, 250000000 };
	return 0;
}

int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *out)
{
	assert_int_equal(pid, KEEPER_PID);
	*out = CLOCK_MONOTONIC;
	return 0;
}

uint64_t __wrap_memory_resident(pid_t pid)
{
	return pid == KEEPER_PID ? 5001 : 5002;
}

/* ---- a number of its own for each field ----------------------------------------------------- */

#define FIELD(field)                                                                 \
	{                                                                            \
		offsetof(struct account, field),                                     \
			sizeof(((struct account *)NULL)->field) / (sizeof(uint64_t)) \
	}

/* A new field goes to the end: the numbers are those of the order here. */
static const struct {
	size_t at, len;
} words[] = {
	FIELD(sampler.expected),
	FIELD(sampler.samples),
	FIELD(sampler.idle),
	FIELD(sampler.filtered),
	FIELD(sampler.skipped),
	FIELD(sampler.stolen),
	FIELD(sampler.lost),
	FIELD(sampler.events_lost),
	FIELD(sampler.targets_lost),
	FIELD(sampler.runs),
	FIELD(sampler.run_ns),
	FIELD(sampler.bytes_out),
	FIELD(sampler.memory_bytes),
	FIELD(objects.met),
	FIELD(objects.forgotten),
	FIELD(objects.eh_frame_bytes),
	FIELD(objects.debug_found),
	FIELD(objects.debug_used),
	FIELD(objects.debug_refused),
	FIELD(objects.fetch.asked),
	FIELD(objects.fetch.fetched),
	FIELD(objects.fetch.bytes),
	FIELD(objects.fetch.failed),
	FIELD(objects.failed),
	FIELD(objects.debug_unread),
	FIELD(tables.tables),
	FIELD(tables.rows),
	FIELD(tables.bytes),
	FIELD(tables.slabs_bytes),
	FIELD(tables.pages_loaded),
	FIELD(tables.pages_evicted),
	FIELD(tables.pages_refused),
	FIELD(tables.rules),
	FIELD(tables.rules_refused),
	FIELD(deferred.deferred),
	FIELD(deferred.finished),
	FIELD(worker.restarts),
	FIELD(worker.refused),
	FIELD(worker.late),
	FIELD(worker.lines_given_up),
	FIELD(worker.symbol_loads),
	FIELD(worker.kept_bytes),
	FIELD(worker.rss_max_kb),
	FIELD(stacks_total),
	FIELD(stacks_complete),
	FIELD(stacks_truncated),
	FIELD(calls_checked),
	FIELD(calls_impossible),
	FIELD(calls_unchecked),
	FIELD(frames_total),
	FIELD(frames_named),
	FIELD(frames_inlined),
	FIELD(names_cut),
	FIELD(frames_by_source),
	FIELD(frames_unnamed),
	FIELD(maps_refused),
	FIELD(containers.cgroups),
	FIELD(containers.containers),
	FIELD(containers.named),
	FIELD(containers.made),
	FIELD(containers.removed),
	FIELD(containers.renamed),
	FIELD(containers.refused),
	FIELD(containers.rescans),
	FIELD(containers.files.read),
	FIELD(containers.files.unread),
	FIELD(containers.files.damaged),
	FIELD(containers.files.failed),
	FIELD(governor.allowed_ppm),
	FIELD(governor.cost_ppm),
	FIELD(governor.stepped_down),
	FIELD(governor.stepped_up),
	FIELD(agent_rss_max_kb),
	FIELD(tables.tables_refused),
	FIELD(worker.lost),
	FIELD(stacks_guessed),
	FIELD(sampler.times),
	FIELD(worker.openers_given_up),
	FIELD(samples_left_out),
	FIELD(tables.tables_evicted),
	FIELD(deferred.crowded),
	FIELD(objects.evicted),
	FIELD(sampler.took_ns),
	FIELD(governor.ticks_ppm),
	FIELD(objects.late),
	FIELD(containers.postponed),
	FIELD(tables.languages_refused),
	FIELD(languages.files_used),
	FIELD(languages.files_refused),
	FIELD(languages.tried),
	FIELD(languages.checked),
	FIELD(languages.unknown),
	FIELD(languages.wrong),
	FIELD(java.read),
	FIELD(java.changed),
	FIELD(java.refused),
	FIELD(java.failed),
	FIELD(java_undescribed),
};

static void fill(struct account *a, struct account_traps *traps)
{
	uint64_t next = 1000;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t n = 0; n < words[i].len; n++) {
			next++;
			memcpy((char *)a + words[i].at + n * sizeof(next), &next, sizeof(next));
		}
	a->hz = 97;
	a->sampler.cpus = 12;
	a->governor.hz = 49;
	a->governor.hz_set = 98;
	a->governor.limited = 7;
	a->duration_s = 61.25;
	a->agent_cpu_s = 1.0625;
	a->worker.cpu_s = 0.15625;
	a->start_ns = 31337001;
	a->objects.table_ns = 71234002;
	a->worker.symbol_ns = 82345003;
	*traps = (struct account_traps){ 3001, 3002, 3003, 3004, 3005, 3006 };
	a->traps = traps;
}

static void fill_daemon(struct status_facts *f, struct config *config, struct keeper_status *store,
	struct http_front_stats *http)
{
	config->bytes_max = 4001;
	config->memory_bytes = 4002;
	config->cpu_permille = 10;
	config->interval_ns = 60500000000;
	*store = (struct keeper_status){ .segments = 4003,
		.bytes = 4004,
		.newest_ns = 1999999999000000000,
		.oldest_ns = 1999990000000000000,
		.written = 4005,
		.failed = 4006,
		.expired = 4007,
		.compacted = 4008,
		.damaged = 4009,
		.err = -1 };
	snprintf(store->why.text, sizeof(store->why.text), "no \"room\"");
	*http = (struct http_front_stats){ .restarts = 4010,
		.refused = 4011,
		.cpu_ns = 375000000,
		.rss_bytes = 4012,
		.captures = { .started = 4013,
			.done = 4014,
			.failed = 4015,
			.refused = 4016,
			.not_found = 4018,
			.cpu_ns = 625000000,
			.running = 4017 } };
	f->written_age_ns = 12500000000;
}

/* ---- what they become ----------------------------------------------------------------------- */

enum { JSON, TEXT, METRICS, FORMS };

struct printed {
	struct buf as[FORMS];
};

static void printed_done(struct printed *p)
{
	for (int form = 0; form < FORMS; form++)
		buf_done(&p->as[form]);
}

static void put_metrics(const struct buf *json, const struct http_counts *counts, struct buf *out)
{
	_cleanup_(buf_done) struct buf all = { .max_bytes = out->max_bytes };
	json_t *status = json_loadb(json->data, json->len, 0, NULL);
	const char *after_version;

	assert_non_null(status);
	buf_fail(out, http_metrics_write(status, counts, &all));
	json_decref(status);
	after_version = strstr(buf_text(&all), "\n# HELP stoker_sampling_");
	buf_puts(out, after_version ? after_version + 1 : "");
}

static void print(bool full, struct printed *out)
{
	struct account account = { 0 };
	struct account_traps traps;
	struct config config = { 0 };
	struct keeper keeper = { .child = { .pid = KEEPER_PID } };
	struct keeper_status store = { 0 };
	struct http_front_stats http = { 0 };
	struct http_counts counts = { 0 };
	struct status_facts facts = { &account, &config, &keeper, &store, &http, 0, NULL, NULL };
	int err;

	if (full) {
		fill(&account, &traps);
		fill_daemon(&facts, &config, &store, &http);
		counts = (struct http_counts){ .answers = { [200] = 6001, [404] = 6002 },
			.connections = 6003,
			.displaced = 6004,
			.limited = 6005 };
	}
	err = status_write(&facts, &out->as[JSON]);
	assert_int_equal(err, buf_err(&out->as[JSON]));
	err = account_write_text(&account, &out->as[TEXT]);
	assert_int_equal(err, buf_err(&out->as[TEXT]));
	if (buf_err(&out->as[JSON]) == 0)
		put_metrics(&out->as[JSON], &counts, &out->as[METRICS]);
}

/* The first line that differs. */
static void check_same(const char *file, const struct buf *made, const struct buf *golden)
{
	const char *a = made->data, *b = golden->data;

	while (a && b && *a && strcspn(a, "\n") == strcspn(b, "\n") &&
		strncmp(a, b, strcspn(a, "\n")) == 0) {
		a += strcspn(a, "\n") + (a[strcspn(a, "\n")] == '\n');
		b += strcspn(b, "\n") + (b[strcspn(b, "\n")] == '\n');
	}
	if (!a || !b || *a || *b)
		fail_msg("%s has\n%.*s\nand the account is\n%.*s", file,
			(int)strcspn(b ? b : "", "\n"), b ? b : "", (int)strcspn(a ? a : "", "\n"),
			a ? a : "");
}

static void check(const char *file, const struct buf *made)
{
	_cleanup_(buf_done) struct buf golden = BUF_INIT;

	assert_int_equal(buf_err(made), 0);
	assert_int_equal(fd_read_path(file, GOLDEN_MAX, &golden), 0);
	check_same(file, made, &golden);
}

static void a_full_account_is_printed_as_ever(void **state)
{
	_cleanup_(printed_done) struct printed p = { 0 };

	(void)state;
	print(true, &p);
	check(GOLDEN "/full.json", &p.as[JSON]);
	check(GOLDEN "/full.txt", &p.as[TEXT]);
	check(GOLDEN "/full.metrics", &p.as[METRICS]);
}

static void an_empty_account_is_printed_as_ever(void **state)
{
	_cleanup_(printed_done) struct printed p = { 0 };

	(void)state;
	print(false, &p);
	check(GOLDEN "/empty.json", &p.as[JSON]);
	check(GOLDEN "/empty.txt", &p.as[TEXT]);
	check(GOLDEN "/empty.metrics", &p.as[METRICS]);
}

static void each_form_fails_when_its_buffer_is_full(void **state)
{
	_cleanup_(printed_done) struct printed whole = { 0 };

	(void)state;
	print(true, &whole);
	for (int form = 0; form < FORMS; form++) {
		const size_t rows[] = { 1, whole.as[form].len / 2, whole.as[form].len - 1 };

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			_cleanup_(printed_done) struct printed part = { 0 };

			part.as[form].max_bytes = rows[i];
			print(true, &part);
			if (buf_err(&part.as[form]) != -EFBIG)
				fail_msg("form %d with %zu of %zu bytes: %d", form, rows[i],
					whole.as[form].len, buf_err(&part.as[form]));
		}
	}
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const struct counter account_rows[] = { ACCOUNT_COUNTERS(COUNTER_PLACE)
		GOVERNOR_COUNTERS(COUNTER_PLACE) TRAPS_COUNTERS(COUNTER_PLACE) };
static const struct counter daemon_rows[] = { DAEMON_COUNTERS(COUNTER_PLACE) };

static bool has_place(const struct counter *rows, size_t len, const char *place)
{
	for (size_t i = 0; i < len; i++)
		if (strcmp(rows[i].place, place) == 0)
			return true;
	return false;
}

/* How many rows' places are in an object, which has nothing else. */
static size_t count_places(
	const json_t *object, const char *before, const struct counter *rows, size_t len)
{
	size_t found = 0;
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)object, name, value) {
		char place[256];

		snprintf(place, sizeof(place), "%s%s%s", before, *before ? "." : "", name);
		if (has_place(rows, len, place))
			found++;
		else if (json_is_object(value))
			found += count_places(value, place, rows, len);
		else
			fail_msg("%s has no row", place);
	}
	return found;
}

static void each_key_has_a_row_and_each_row_a_key(void **state)
{
	_cleanup_(printed_done) struct printed p = { 0 };
	json_t *status;

	(void)state;
	print(true, &p);
	status = json_loadb(p.as[JSON].data, p.as[JSON].len, 0, NULL);
	assert_int_equal(count_places(json_object_get(status, "account"), "", account_rows,
				 ARRAY_SIZE(account_rows)),
		ARRAY_SIZE(account_rows));
	assert_int_equal(count_places(json_object_get(status, "daemon"), "", daemon_rows,
				 ARRAY_SIZE(daemon_rows)),
		ARRAY_SIZE(daemon_rows));
	json_decref(status);
}

static bool is_family(const struct counter *row, const char *family, size_t len)
{
	return row->metric && strcspn(row->metric, "{") == len &&
		strncmp(row->metric, family, len) == 0;
}

static size_t rows_of_family(const char *family, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(account_rows); i++)
		n += is_family(&account_rows[i], family, len);
	for (size_t i = 0; i < ARRAY_SIZE(daemon_rows); i++)
		n += is_family(&daemon_rows[i], family, len);
	return n;
}

static void each_metric_has_a_row_and_each_row_its_metric(void **state)
{
	_cleanup_(printed_done) struct printed p = { 0 };
	size_t rows = 0, with_metric = 0;

	(void)state;
	print(true, &p);
	for (const char *at = p.as[METRICS].data; (at = strstr(at, "# TYPE ")); at++) {
		const char *family = at + strlen("# TYPE ");
		size_t len = strcspn(family, " ");

		/* Those of the serving process are counted where they are written. */
		if (strncmp(family, "stoker_http_answers", 19) == 0 ||
			strncmp(family, "stoker_http_connections", 23) == 0 ||
			strncmp(family, "stoker_http_requests", 20) == 0)
			continue;
		if (rows_of_family(family, len) == 0)
			fail_msg("%.*s has no row", (int)len, family);
		rows += rows_of_family(family, len);
	}
	for (size_t i = 0; i < ARRAY_SIZE(account_rows); i++)
		with_metric += account_rows[i].metric != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(daemon_rows); i++)
		with_metric += daemon_rows[i].metric != NULL;
	assert_int_equal(rows, with_metric);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void save(const char *path, const struct buf *made)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(made->data, 1, made->len, out) != made->len || fclose(out) != 0) {
		perror(path);
		exit(1);
	}
}

static int save_all(void)
{
	_cleanup_(printed_done) struct printed full = { 0 };
	_cleanup_(printed_done) struct printed empty = { 0 };

	print(true, &full);
	print(false, &empty);
	save(GOLDEN "/full.json", &full.as[JSON]);
	save(GOLDEN "/full.txt", &full.as[TEXT]);
	save(GOLDEN "/full.metrics", &full.as[METRICS]);
	save(GOLDEN "/empty.json", &empty.as[JSON]);
	save(GOLDEN "/empty.txt", &empty.as[TEXT]);
	save(GOLDEN "/empty.metrics", &empty.as[METRICS]);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_account_is_printed_as_ever),
		cmocka_unit_test(an_empty_account_is_printed_as_ever),
		cmocka_unit_test(each_form_fails_when_its_buffer_is_full),
		cmocka_unit_test(each_key_has_a_row_and_each_row_a_key),
		cmocka_unit_test(each_metric_has_a_row_and_each_row_its_metric),
	};

	if (argc == 2 && strcmp(argv[1], "--write") == 0)
		return save_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
