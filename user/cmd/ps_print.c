/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ps_print.c - prints rows as a table and as JSON. Names are untrusted. */
#include "cmd/ps_print.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/utf8.h"
#include "cmd/print.h"

#define NAME_WIDTH 28
#define POD_NAME_MAX (2 * STATE_NAME_MAX + 2)

static double percent_of_cpu(const struct ps_row *row, unsigned int hz, double seconds)
{
	return seconds > 0 ? 100.0 * (double)row->samples / (hz * seconds) : 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Sums of all threads: 100 is one thread all the time. */
static double percent_of_wall(uint64_t ns, double seconds)
{
	return seconds > 0 ? (double)ns / 1e7 / seconds : 0;
}

static void print_split(const struct ps_row *row, double seconds)
{
	const struct thread_split *s = &row->split;

	if (s->wall_ns == 0) {
		printf("%7s %6s %10s %8s %6s ", "-", "-", "-", "-", "-");
		return;
	}
	printf("%7u %6.1f %10.1f %8.1f %6.1f ", row->threads,
		percent_of_wall(s->runnable_ns, seconds), percent_of_wall(s->throttled_ns, seconds),
		percent_of_wall(s->blocked_ns, seconds), percent_of_wall(s->other_ns, seconds));
}

static void print_row(const struct ps_row *row, unsigned int hz, double seconds)
{
	char pod[POD_NAME_MAX];

	snprintf(pod, sizeof(pod), "%s%s%s", row->namespace_, row->namespace_[0] ? "/" : "",
		row->pod);
	printf("%-10s ", row->kind);
	print_clean(row->name, NAME_WIDTH);
	putchar(' ');
	print_clean(pod[0] ? pod : "-", NAME_WIDTH);
	printf(" %6.1f ", percent_of_cpu(row, hz, seconds));
	if (row->walked > 0)
		printf("%9.1f ", 100.0 * (double)row->complete / (double)row->walked);
	else
		printf("%9s ", "-");
	print_split(row, seconds);
	printf("%-8s ", row->runtime.name ? row->runtime.name : "-");
	if (row->runtime.processes > 0)
		printf("%zu/%zu\n", row->runtime.mapped, row->runtime.processes);
	else
		printf("-\n");
}

void ps_print_table(const struct ps_row *rows, size_t len, unsigned int hz, double seconds)
{
	printf("%-10s %-*s %-*s %6s %9s %7s %6s %10s %8s %6s %-8s %s\n", "KIND", NAME_WIDTH, "NAME",
		NAME_WIDTH, "POD", "CPU%", "COMPLETE%", "THREADS", "READY%", "THROTTLED%",
		"BLOCKED%", "OTHER%", "RUNTIME", "MAPS");
	for (size_t i = 0; i < len; i++)
		print_row(&rows[i], hz, seconds);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *text_json(const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	return utf8_put_clean(&clean, text) < 0 ? NULL : json_string(clean.data ? clean.data : "");
}

/* Of two that are the same when cleaned the later one counts. */
static json_t *labels_json(const struct state_facts *facts)
{
	json_t *labels = json_object();
	const char *at = facts ? facts->labels : NULL;
	const char *end = facts ? at + facts->labels_len : NULL;

	while (at < end) {
		_cleanup_(buf_done) struct buf key = BUF_INIT;
		const char *value = at + strlen(at) + 1;

		if (utf8_put_clean(&key, at) < 0 ||
			json_object_set_new(labels, key.data ? key.data : "", text_json(value)) <
				0) {
			json_decref(labels);
			return NULL;
		}
		at = value + strlen(value) + 1;
	}
	return labels;
}

/* Seconds of all threads together. */
static int put_split(json_t *to, uint32_t threads, const struct thread_split *s)
{
	return json_object_set_new(to, "threads", json_integer(threads)) |
		json_object_set_new(to, "running_s", json_real((double)s->running_ns / 1e9)) |
		json_object_set_new(to, "runnable_s", json_real((double)s->runnable_ns / 1e9)) |
		json_object_set_new(to, "blocked_s", json_real((double)s->blocked_ns / 1e9)) |
		json_object_set_new(to, "other_s", json_real((double)s->other_ns / 1e9)) |
		json_object_set_new(to, "throttled_s", json_real((double)s->throttled_ns / 1e9)) |
		json_object_set_new(
			to, "starved_percent", json_real(thread_split_starved_percent(s)));
}

static json_t *process_json(const struct wait_sum *p)
{
	json_t *one =
		json_pack("{s:I, s:o}", "pid", (json_int_t)p->tgid, "comm", text_json(p->comm));

	if (one && put_split(one, p->threads, &p->split) == 0)
		return one;
	json_decref(one);
	return NULL;
}

static json_t *row_json(const struct ps_row *row, unsigned int hz, double seconds)
{
	json_t *one = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:s,"
				" s:I, s:I}",
		"kind", row->kind, "name", text_json(row->name), "id", text_json(row->id), "pod",
		text_json(row->pod), "namespace", text_json(row->namespace_), "image",
		text_json(row->facts ? row->facts->image : ""), "labels", labels_json(row->facts),
		"cgroup", text_json(row->cgroup), "cpu_percent", percent_of_cpu(row, hz, seconds),
		"samples", (json_int_t)row->samples, "user_stacks", (json_int_t)row->walked,
		"complete", (json_int_t)row->complete, "runtime",
		row->runtime.name ? row->runtime.name : "", "runtime_processes",
		(json_int_t)row->runtime.processes, "with_maps", (json_int_t)row->runtime.mapped);

	if (one && put_split(one, row->threads, &row->split) == 0)
		return one;
	json_decref(one);
	return NULL;
}

int ps_print_json(const struct ps_row *rows, size_t len, unsigned int hz, double seconds,
	const struct wait_sum *processes, size_t processes_len)
{
	json_t *list = json_array(), *pids = json_array();
	json_t *all = NULL;
	_cleanup_(freep) char *text = NULL;
	int err = list && pids ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < len; i++)
		if (json_array_append_new(list, row_json(&rows[i], hz, seconds)) < 0)
			err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < processes_len; i++)
		if (json_array_append_new(pids, process_json(&processes[i])) < 0)
			err = -ENOMEM;
	all = json_pack("{s:f, s:i, s:o, s:o}", "duration_s", seconds, "hz", (int)hz, "rows", list,
		"processes", pids);
	if (all && err == 0)
		text = json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(all);
	if (!text)
		return -ENOMEM;
	puts(text);
	return 0;
}
