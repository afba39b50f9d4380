/* SPDX-License-Identifier: Apache-2.0 */
/* test_counters.c - the account as JSON, text and metrics, to the byte: tests/golden/account has
 * what accounts with a different number in each field, and with none, become. With a folder as its
 * argument the program writes those files anew.
 * LINK: -Wl,--wrap=clock_gettime,--wrap=clock_getcpuclockid,--wrap=memory_resident */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/own.h"
#include "daemon/status.h"
#include "http/metrics.h"

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

#define FIELD(field)                                                               \
	{                                                                          \
		offsetof(struct account, field),                                   \
			sizeof(((struct account *)NULL)->field) / sizeof(uint64_t) \
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
	FIELD(objects.known),
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
	FIELD(held.held),
	FIELD(held.finished),
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
		.captures = { 4013, 4014, 4015, 4016, 625000000, 4017 } };
	f->written_age_ns = 12500000000;
}

/* ---- what they become ----------------------------------------------------------------------- */

struct printed {
	struct buf json, text, metrics;
};

static void printed_done(struct printed *p)
{
	buf_done(&p->json);
	buf_done(&p->text);
	buf_done(&p->metrics);
}

static void print(bool full, struct printed *out)
{
	struct account account = { 0 };
	struct account_traps traps;
	struct config config = { 0 };
	struct keeper keeper = { .pid = KEEPER_PID };
	struct keeper_status store = { 0 };
	struct http_front_stats http = { 0 };
	struct http_counts counts = { 0 };
	struct status_facts facts = { &account, &config, &keeper, &store, &http, 0 };
	_cleanup_(buf_done) struct buf metrics = BUF_INIT;
	json_t *status;

	if (full) {
		fill(&account, &traps);
		fill_daemon(&facts, &config, &store, &http);
		counts = (struct http_counts){ .answers = { [200] = 6001, [404] = 6002 },
			.connections = 6003 };
	}
	assert_int_equal(status_write(&facts, &out->json), 0);
	assert_int_equal(account_write_text(&account, &out->text), 0);
	status = json_loadb(out->json.data, out->json.len, 0, NULL);
	assert_non_null(status);
	assert_int_equal(http_metrics_write(status, &counts, &metrics), 0);
	/* Without stoker_build_info, which has the version. */
	buf_puts(&out->metrics, strstr(metrics.data, "\n# HELP stoker_sampling_") + 1);
	json_decref(status);
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

	assert_int_equal(fd_read_path(file, GOLDEN_MAX, &golden), 0);
	check_same(file, made, &golden);
}

static void a_full_account_is_printed_as_ever(void **state)
{
	_cleanup_(printed_done) struct printed p = { BUF_INIT, BUF_INIT, BUF_INIT };

	(void)state;
	print(true, &p);
	check(GOLDEN "/full.json", &p.json);
	check(GOLDEN "/full.txt", &p.text);
	check(GOLDEN "/full.metrics", &p.metrics);
}

static void an_empty_account_is_printed_as_ever(void **state)
{
	_cleanup_(printed_done) struct printed p = { BUF_INIT, BUF_INIT, BUF_INIT };

	(void)state;
	print(false, &p);
	check(GOLDEN "/empty.json", &p.json);
	check(GOLDEN "/empty.txt", &p.text);
	check(GOLDEN "/empty.metrics", &p.metrics);
}

static void save(const char *folder, const char *file, const struct buf *made)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	out = fopen(path, "w");
	if (!out || fwrite(made->data, 1, made->len, out) != made->len || fclose(out) != 0) {
		perror(path);
		exit(1);
	}
}

static int save_all(const char *folder)
{
	_cleanup_(printed_done) struct printed full = { BUF_INIT, BUF_INIT, BUF_INIT };
	_cleanup_(printed_done) struct printed empty = { BUF_INIT, BUF_INIT, BUF_INIT };

	print(true, &full);
	print(false, &empty);
	save(folder, "full.json", &full.json);
	save(folder, "full.txt", &full.text);
	save(folder, "full.metrics", &full.metrics);
	save(folder, "empty.json", &empty.json);
	save(folder, "empty.txt", &empty.text);
	save(folder, "empty.metrics", &empty.metrics);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_account_is_printed_as_ever),
		cmocka_unit_test(an_empty_account_is_printed_as_ever),
	};

	if (argc == 2)
		return save_all(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
