/* SPDX-License-Identifier: Apache-2.0 */
/* http/metrics.c - finds the number of each row of wire/counters.h in the status by its place, and
 * writes it as a metric. A place with an object is a metric with a label, which has all its values
 * from the start, with zeros: a counter that appears with its first number has no rate there. */
#include "http/metrics.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "wire/counter.h"

static const struct counter account_counters[] = { ACCOUNT_COUNTERS(COUNTER_PLACE)
		GOVERNOR_COUNTERS(COUNTER_PLACE) TRAPS_COUNTERS(COUNTER_PLACE) };
static const struct counter daemon_counters[] = { DAEMON_COUNTERS(COUNTER_PLACE) };

/* ---- text ----------------------------------------------------------------------------------- */

/* The name of a metric without the label that it may have. */
static int name_len(const char *metric)
{
	return (int)strcspn(metric, "{");
}

static void put_head(struct buf *out, const char *metric, const char *help)
{
	int len = name_len(metric);
	bool is_total = len > 6 && strncmp(metric + len - 6, "_total", 6) == 0;

	buf_printf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", len, metric, help, len, metric,
		is_total ? "counter" : "gauge");
}

/* number NULL: 0. */
static void put_number(struct buf *out, const json_t *number, double scale)
{
	if (!number || (json_is_integer(number) && scale == 1))
		buf_printf(out, " %lld\n", (long long)json_integer_value(number));
	else
		buf_printf(out, " %.9g\n", json_number_value(number) * scale);
}

static void put_labelled(const struct counter *row, const struct counter_names *list,
	const char *name, const json_t *number, struct buf *out)
{
	buf_printf(out, "%s{%s=\"%s\"}", row->metric, list->label, name);
	put_number(out, number, 1);
}

static void put_family(const struct counter *row, const struct counter_names *list,
	const json_t *object, struct buf *out)
{
	put_head(out, row->metric, row->help);
	for (size_t i = 0; i < list->len; i++) {
		const json_t *number;

		if (!list->names[i])
			continue;
		number = json_object_get(object, list->names[i]);
		put_labelled(row, list, list->names[i], number, out);
		if (counter_old_name(list, i))
			put_labelled(row, list, counter_old_name(list, i), number, out);
	}
}

/* The rows of one part of the status. Rows that share a metric follow each other. */
static void put_rows(const struct counter *rows, size_t len, const json_t *status, struct buf *out)
{
	const char *last = "";

	for (size_t i = 0; i < len; i++) {
		const struct counter *row = &rows[i];
		const struct counter_names *list = counter_names(row->type);
		const json_t *value = row->metric ? counter_find(status, row->place) : NULL;

		if (list && json_is_object(value))
			put_family(row, list, value, out);
		if (list || !json_is_number(value))
			continue;
		if (name_len(last) != name_len(row->metric) ||
			strncmp(last, row->metric, (size_t)name_len(last)) != 0)
			put_head(out, row->metric, row->help);
		last = row->metric;
		buf_puts(out, row->metric);
		put_number(out, value, counter_scale(row->type));
	}
}

static void put_counts(const struct http_counts *counts, struct buf *out)
{
	put_head(out, "stoker_http_answers_total", "HTTP answers, by status code.");
	for (size_t i = 0; i < ARRAY_SIZE(counts->answers); i++)
		if (i == 200 || counts->answers[i] > 0)
			buf_printf(out, "stoker_http_answers_total{code=\"%zu\"} %llu\n", i,
				(unsigned long long)counts->answers[i]);
	put_head(out, "stoker_http_connections", "HTTP connections that are open now.");
	buf_printf(out, "stoker_http_connections %llu\n", (unsigned long long)counts->connections);
	put_head(out, "stoker_http_connections_displaced_total",
		"HTTP connections without a whole request that were closed to make room.");
	buf_printf(out, "stoker_http_connections_displaced_total %llu\n",
		(unsigned long long)counts->displaced);
	put_head(out, "stoker_http_requests_limited_total",
		"HTTP requests that were refused because their peer, or all peers together, had "
		"too many at once.");
	buf_printf(out, "stoker_http_requests_limited_total %llu\n",
		(unsigned long long)counts->limited);
}

/* ---- what threads did --------------------------------------------------------------------- */

/* The rows of a family have its number under `key`. */
static const struct {
	const char *metric, *key, *help;
} waiting_families[] = {
	{ "stoker_container_threads", "threads",
		"Threads of a container, or of a unit or cgroup outside of containers." },
	{ "stoker_container_cpu_seconds_total", "running_s", "Time that its threads ran." },
	{ "stoker_container_runnable_seconds_total", "runnable_s",
		"Time that its threads waited for a CPU: woken, preempted or throttled." },
	{ "stoker_container_blocked_seconds_total", "blocked_s",
		"Time that its threads waited for something else." },
	{ "stoker_container_other_seconds_total", "other_s",
		"Time that interrupts and the hypervisor took from its threads, where the kernel "
		"does not count it as running." },
	{ "stoker_container_throttled_seconds_total", "throttled_s",
		"Time in which its quota of CPU time was used up, all CPUs together." },
	{ "stoker_container_throttled_percent", "throttled_percent",
		"Part of the time in which its quota was used up, all CPUs together, in per cent, "
		"between the latest two visits." },
	{ "stoker_container_starved_percent", "starved_percent",
		"Part of the time in which its threads wanted a CPU and had none, in per cent, "
		"between the latest two visits." },
};

/* A backslash, a quote and the end of a line are escaped: containers name themselves. */
static void put_text(struct buf *out, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '\n') {
			buf_puts(out, "\\n");
			continue;
		}
		if (*text == '"' || *text == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *text);
	}
}

static void put_row_labels(struct buf *out, const json_t *row)
{
	static const char *const names[] = { "container", "pod", "namespace", "unit" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		buf_printf(out, "%s%s=\"", i > 0 ? "," : "{", names[i]);
		put_text(out, json_string_value(json_object_get(row, names[i])));
		buf_putc(out, '"');
	}
	buf_putc(out, '}');
}

static void put_waiting(const json_t *rows, struct buf *out)
{
	if (json_array_size(rows) == 0)
		return;
	for (size_t f = 0; f < ARRAY_SIZE(waiting_families); f++) {
		put_head(out, waiting_families[f].metric, waiting_families[f].help);
		for (size_t i = 0; i < json_array_size(rows); i++) {
			const json_t *row = json_array_get(rows, i);

			buf_puts(out, waiting_families[f].metric);
			put_row_labels(out, row);
			put_number(out, json_object_get(row, waiting_families[f].key), 1);
		}
	}
}

int http_metrics_write(const json_t *status, const struct http_counts *counts, struct buf *out)
{
	put_head(out, "stoker_build_info", "Version of the running stoker.");
	buf_puts(out, "stoker_build_info{version=\"" STOKER_VERSION "\"} 1\n");
	put_rows(account_counters, ARRAY_SIZE(account_counters), counter_find(status, "account"),
		out);
	put_rows(daemon_counters, ARRAY_SIZE(daemon_counters), counter_find(status, "daemon"), out);
	put_counts(counts, out);
	put_waiting(json_object_get(status, "waiting"), out);
	return buf_err(out);
}

/* ---- health --------------------------------------------------------------------------------- */

int http_metrics_health(const json_t *status, struct why *text)
{
	double age = json_number_value(counter_find(status, "daemon.written_age_s"));
	double interval = json_number_value(counter_find(status, "daemon.interval_s"));
	json_int_t written = json_integer_value(counter_find(status, "daemon.store.written"));
	const char *store = json_string_value(counter_find(status, "daemon.store.error"));
	const char *idle = json_string_value(counter_find(status, "daemon.idle"));

	if (idle && *idle)
		return why_set(text, -EIO, "idle: %s", idle);
	if (store && *store)
		return why_set(text, -EIO, "the last interval was not written: %s", store);
	if (interval <= 0 || age > 2 * interval + 5)
		return why_set(text, -EIO,
			"no interval was written for %.0f s; one is due every %.0f s", age,
			interval);
	if (written == 0)
		return why_set(text, 0, "ok: sampling for %.0f s, no interval is over yet", age);
	return why_set(text, 0, "ok: the last interval was written %.0f s ago", age);
}
