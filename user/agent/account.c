/* SPDX-License-Identifier: Apache-2.0 */
/* agent/account.c - the account as JSON and as text. wire/counters.h has its numbers; here are the
 * fields that they are read from, and the printed lines that have more than one number in them. */
#include "agent/account.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/file_notes.h"
#include "agent/jit_advice.h"
#include "base/own.h"
#include "wire/counter.h"

#define TABLE_ADVICE_PART 100 /* one stack in so many is worth a word */
#define ACCOUNT_ROW(...) COUNTER_OF(struct account, __VA_ARGS__)
#define GOVERNOR_ROW(...) COUNTER_OF(struct account_governor, __VA_ARGS__)
#define TRAPS_ROW(...) COUNTER_OF(struct account_traps, __VA_ARGS__)

static const struct counter counters[] = { ACCOUNT_COUNTERS(ACCOUNT_ROW) };
static const struct counter governor_counters[] = { GOVERNOR_COUNTERS(GOVERNOR_ROW) };
static const struct counter traps_counters[] = { TRAPS_COUNTERS(TRAPS_ROW) };

/* ---- JSON ----------------------------------------------------------------------------------- */

static int put_notes(json_t *root, const char *place, json_t *notes)
{
	int err = json_array_extend(counter_find(root, place), notes) < 0 ? -ENOMEM : 0;

	json_decref(notes);
	return err;
}

static int put_json(const struct account *a, json_t *root)
{
	if (counter_put_all(root, counters, ARRAY_SIZE(counters), a) < 0)
		return -ENOMEM;
	if (put_notes(root, "debug_files.refused_files", file_notes_refused(a->files)) < 0)
		return -ENOMEM;
	if (put_notes(root, "unnamed_files", file_notes_unnamed(a->files)) < 0)
		return -ENOMEM;
	if (a->governor.hz_set > 0 &&
		counter_put_all(
			root, governor_counters, ARRAY_SIZE(governor_counters), &a->governor) < 0)
		return -ENOMEM;
	return a->traps
		? counter_put_all(root, traps_counters, ARRAY_SIZE(traps_counters), a->traps)
		: 0;
}

int account_write_json(const struct account *account, struct buf *out)
{
	json_t *root = json_object();
	_cleanup_(freep) char *text = put_json(account, root) == 0
		? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
		: NULL;

	json_decref(root);
	buf_fail(out, text ? 0 : -ENOMEM);
	buf_puts(out, text ? text : "");
	return buf_putc(out, '\n');
}

/* ---- text ----------------------------------------------------------------------------------- */

static const struct counter *row_of(const char *place)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(counters) && strcmp(counters[i].place, place) != 0)
		i++;
	assert(i < ARRAY_SIZE(counters));
	return &counters[i];
}

/* "  (ring_full 3, ...)", which ends a line; nothing for a number that is no array. */
static void put_reasons(struct buf *out, const struct account *a, const struct counter *row)
{
	const struct counter_names *list = counter_names(row->type);
	const uint64_t *counts = (const void *)((const char *)a + row->at);
	const char *before = "  (";

	for (size_t i = 0; list && i < list->len; i++) {
		if (!list->names[i] || counts[i] == 0)
			continue;
		buf_printf(out, "%s%s %llu", before, list->names[i], (unsigned long long)counts[i]);
		before = ", ";
	}
	buf_puts(out, before[0] == ' ' ? "\n" : ")\n");
}

/* The lines of all rows whose place begins so. */
static void put_lines(struct buf *out, const struct account *a, const char *part)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		const struct counter *row = &counters[i];
		uint64_t sum;

		if (!row->text || strncmp(row->place, part, strlen(part)) != 0)
			continue;
		sum = counter_sum(row, a);
		if (sum == 0)
			continue;
		buf_printf(out, row->text, (unsigned long long)sum);
		put_reasons(out, a, row);
	}
}

static void put_time(struct buf *out, const char *what, const struct tick_time *time)
{
	buf_printf(out, "%s within %.0f us, longest %.0f us\n", what, (double)time->p999_ns / 1e3,
		(double)time->longest_ns / 1e3);
}

static void put_times(const struct sampler_stats *s, struct buf *out)
{
	const struct tick_time *whole = &s->times[TICK_WHOLE];
	const struct tick_time *kernel = &s->times[TICK_KERNEL], *user = &s->times[TICK_USER];

	if (whole->longest_ns == 0)
		return;
	put_time(out, "time     99.9 % of ticks", whole);
	put_time(out, "         99.9 % of user halves", user);
	if (kernel->longest_ns > 0)
		put_time(out, "         99.9 % of kernel halves (ticks with a kernel stack)",
			kernel);
	if (s->stolen > 0)
		buf_printf(out, "stolen   the hypervisor took the CPUs for %llu periods\n",
			(unsigned long long)s->stolen);
}

static void put_ticks(const struct account *a, struct buf *out)
{
	const struct sampler_stats *s = &a->sampler;

	buf_printf(out, "capture  %.2f s at %u Hz on %u CPUs\n", a->duration_s, a->hz, s->cpus);
	buf_printf(out,
		"ticks    %llu expected = %llu samples + %llu idle + %llu skipped + %llu lost",
		(unsigned long long)s->expected, (unsigned long long)s->samples,
		(unsigned long long)s->idle, (unsigned long long)s->skipped,
		(unsigned long long)counter_sum(row_of("ticks.lost"), a));
	put_reasons(out, a, row_of("ticks.lost"));
	put_times(s, out);
	put_lines(out, a, "events.");
	put_lines(out, a, "targets.");
}

/* Where many of the stacks end at a file without a table: the thing that was short. */
static void put_table_advice(const struct account *a, struct buf *out)
{
	uint64_t stacks = a->stacks_truncated[END_NO_TABLE];
	uint64_t refused = a->tables.pages_refused + a->tables.tables_refused;
	uint64_t unsent = a->sampler.events_lost[EVENT_DEFERRED];

	if (stacks == 0 || stacks < a->stacks_total / TABLE_ADVICE_PART)
		return;
	buf_printf(out, "tables   %llu stacks end where there was no unwind table",
		(unsigned long long)stacks);
	if (refused + a->tables.pages_evicted > 0)
		buf_printf(out,
			": %llu pages of tables found no room and %llu made room for others; "
			"more memory (--memory, [sample] memory) helps",
			(unsigned long long)refused, (unsigned long long)a->tables.pages_evicted);
	else if (unsent + a->deferred.crowded > 0)
		buf_printf(out,
			": %llu samples could not wait for it; there are fewer at a lower rate",
			(unsigned long long)(unsent + a->deferred.crowded));
	else
		buf_puts(out, ": those who make them got too little of the CPUs");
	buf_putc(out, '\n');
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_wall(const struct account *a, struct buf *out)
{
	if (a->walls.visits > 0) {
		buf_printf(out, "wall     %.1f s of waiting in %llu visits",
			(double)a->walls.waiting_ns / 1e9, (unsigned long long)a->walls.visits);
		if (a->walls.hz > 0 && a->walls.hz * 2 < a->walls.asked_hz)
			buf_printf(out, " (%.1f a second of %u, for what they cost)", a->walls.hz,
				a->walls.asked_hz);
		if (a->waits_total > 0) {
			buf_puts(out, ", ");
			buf_put_percent(out, a->waits_complete, a->waits_total);
			buf_puts(out, " % of stacks complete");
		}
		if (a->walls.lost_ns > 0)
			buf_printf(out, "; %.1f s more in stacks that are not known",
				(double)a->walls.lost_ns / 1e9);
		buf_putc(out, '\n');
	}
	put_lines(out, a, "wall.");
}

static void put_names(const struct account *a, struct buf *out)
{
	if (a->stacks_total == 0) {
		buf_puts(out, "stacks   no user stacks");
	} else {
		buf_printf(out, "stacks   %llu user stack%s, ", (unsigned long long)a->stacks_total,
			plural(a->stacks_total));
		buf_put_percent(out, a->stacks_complete, a->stacks_total);
		buf_puts(out, " % complete");
	}
	if (a->stacks_guessed > 0) {
		buf_puts(out, ", ");
		buf_put_percent(out, a->stacks_guessed, a->stacks_total);
		buf_puts(out, " % guessed");
	}
	put_reasons(out, a, row_of("user_stacks.truncated"));
	put_table_advice(a, out);
	put_wall(a, out);
	buf_printf(out, "frames   %llu, ", (unsigned long long)a->frames_total);
	buf_put_percent(out, a->frames_named, a->frames_total);
	buf_puts(out, " % named");
	put_reasons(out, a, row_of("frames.unnamed"));
	jit_advice_put(a, out);
	put_lines(out, a, "frames.");
}

static void put_files(const struct account *a, struct buf *out)
{
	const struct fetch_stats *fetch = &a->objects.fetch;

	buf_printf(out,
		"files    %llu met, %llu symbol table%s loaded (%.1f MB, %.0f ms), %llu unwind "
		"table%s (%.1f MB, %.0f ms)",
		(unsigned long long)a->objects.met, (unsigned long long)a->worker.symbol_loads,
		plural(a->worker.symbol_loads), (double)a->worker.kept_bytes / 1e6,
		(double)a->worker.symbol_ns / 1e6, (unsigned long long)a->tables.tables,
		plural(a->tables.tables), (double)a->tables.bytes / 1e6,
		(double)a->objects.table_ns / 1e6);
	put_reasons(out, a, row_of("objects.failed"));
	put_lines(out, a, "objects.");
	put_lines(out, a, "jit.");
	put_lines(out, a, "java.");
	put_lines(out, a, "languages.");
	put_lines(out, a, "debug_files.");
	put_lines(out, a, "containers.");
	if (fetch->asked == 0)
		return;
	buf_printf(out, "fetched  %llu of %llu debug file%s from debuginfod, %.1f MB",
		(unsigned long long)fetch->fetched, (unsigned long long)fetch->asked,
		plural(fetch->asked),
		(double)fetch->bytes / 1e6);
	put_reasons(out, a, row_of("debuginfod.failed"));
}

static double mb_of_kb(uint64_t kib)
{
	return (double)kib * 1024 / 1e6;
}

static void put_cost(const struct account *a, struct buf *out)
{
	const struct sampler_stats *s = &a->sampler;

	buf_printf(out, "cost     %.1f bytes a sample left the kernel, BPF maps %.1f MB, ",
		s->samples ? (double)s->bytes_out / (double)s->samples : 0.0,
		(double)s->memory_bytes / 1e6);
	if (s->run_ns > 0 && s->runs > 0)
		buf_printf(out, "%.0f ns a tick, ", (double)s->run_ns / (double)s->runs);
	buf_printf(out, "agent %.3f s CPU, %.1f MB, workers %.3f s, %.1f MB\n", a->agent_cpu_s,
		mb_of_kb(a->agent_rss_max_kb), a->worker.cpu_s,
		mb_of_kb(a->worker.rss_max_kb));
}

int account_write_text(const struct account *a, struct buf *out)
{
	put_ticks(a, out);
	put_names(a, out);
	put_files(a, out);
	file_notes_write(a->files, out);
	put_cost(a, out);
	return buf_err(out);
}
