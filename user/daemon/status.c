/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/status.c - numbers of the daemon's own processes and of its store, read into one struct.
 * wire/counters.h says what each is called, in the JSON and as a metric. */
#include "daemon/status.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/memory.h"
#include "base/own.h"
#include "base/utf8.h"
#include "waiting/waiting.h"
#include "wire/counter.h"

struct status_numbers {
	uint64_t memory_bytes, bytes_max, sampling;
	double cpu_budget, interval_s, written_age_s, oldest_age_s, newest_age_s;
	struct {
		double agent, worker, keeper, http, capture;
	} cpu_s;
	struct {
		uint64_t agent, worker, keeper, http;
	} rss_bytes, rss_max_bytes;
	struct keeper_status store;
	const char *error, *idle;
	struct {
		uint64_t restarts, refused;
	} http;
	struct {
		uint64_t running, started, done, not_found, failed, refused;
	} captures;
};

#define STATUS_ROW(...) COUNTER_OF(struct status_numbers, __VA_ARGS__)

static const struct counter counters[] = { DAEMON_COUNTERS(STATUS_ROW) };

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* By CLOCK_REALTIME, which may be set back. */
static double age(uint64_t then_ns)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	return then_ns > 0 && now > then_ns ? seconds(now - then_ns) : 0;
}

static void read_numbers(const struct status_facts *f, struct status_numbers *out)
{
	const struct capture_stats *c = &f->http->captures;

	*out = (struct status_numbers){
		.memory_bytes = f->config->memory_bytes,
		.bytes_max = f->config->bytes_max,
		.sampling = f->idle ? 0 : 1,
		.idle = f->idle ? f->idle : "",
		.cpu_budget = (double)f->config->cpu_permille / 1000,
		.interval_s = seconds(f->config->interval_ns),
		.written_age_s = seconds(f->written_age_ns),
		.oldest_age_s = age(f->store->oldest_ns),
		.newest_age_s = age(f->store->newest_ns),
		.cpu_s = { .agent = f->account->agent_cpu_s,
			.worker = f->account->worker.cpu_s,
			.keeper = seconds(clock_process_ns(f->keeper->child.pid)),
			.http = seconds(f->http->cpu_ns),
			.capture = seconds(c->cpu_ns) },
		.rss_bytes = { .agent = memory_resident(getpid()),
			.keeper = memory_resident(f->keeper->child.pid),
			.http = f->http->rss_bytes },
		.rss_max_bytes = { .agent = f->account->agent_rss_max_kb * 1024,
			.worker = f->account->worker.rss_max_kb * 1024 },
		.store = *f->store,
		.error = f->store->err < 0 ? f->store->why.text : "",
		.http = { .restarts = f->http->restarts, .refused = f->http->refused },
		.captures = { .running = c->running,
			.started = c->started,
			.done = c->done,
			.not_found = c->not_found,
			.failed = c->failed,
			.refused = c->refused },
	};
}

static json_t *text_json(const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	return utf8_put_clean(&clean, text) < 0 ? NULL : json_string(clean.data ? clean.data : "");
}

static json_t *row_json(const struct waiting *waiting, const struct waiting_row *r)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"container", text_json(r->container), "pod", text_json(r->pod), "namespace",
		text_json(r->namespace_), "unit", text_json(r->unit), "threads",
		(json_int_t)r->threads, "running_s", seconds(r->sum.running_ns), "runnable_s",
		seconds(r->sum.runnable_ns), "blocked_s", seconds(r->sum.blocked_ns), "other_s",
		seconds(r->sum.other_ns), "throttled_s", seconds(r->sum.throttled_ns),
		"throttled_percent", waiting_throttled_percent(waiting, r), "starved_percent",
		thread_split_starved_percent(&r->last));
}

/* Rows that had no thread yet have no time. */
static json_t *waiting_json(const struct waiting *waiting)
{
	json_t *list = json_array();
	size_t len;
	const struct waiting_row *rows = waiting_rows(waiting, &len);

	for (size_t i = 0; i < len; i++)
		if (rows[i].sum.wall_ns > 0 &&
			json_array_append_new(list, row_json(waiting, &rows[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

int status_write(const struct status_facts *facts, struct buf *out)
{
	json_t *daemon = json_object();
	json_t *waiting = waiting_json(facts->waiting);
	_cleanup_(freep) char *text = NULL, *rows = NULL;
	struct status_numbers numbers;

	read_numbers(facts, &numbers);
	if (counter_put_all(daemon, counters, ARRAY_SIZE(counters), &numbers) == 0)
		text = json_dumps(daemon, JSON_COMPACT | JSON_REAL_PRECISION(9));
	rows = waiting ? json_dumps(waiting, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(daemon);
	json_decref(waiting);
	buf_fail(out, text && rows ? 0 : -ENOMEM);
	buf_puts(out, "{\"account\": ");
	account_write_json(facts->account, out);
	buf_printf(out, ", \"daemon\": %s", text ? text : "");
	if (facts->waiting)
		buf_printf(out, ", \"waiting\": %s", rows ? rows : "[]");
	return buf_puts(out, "}\n");
}
