/* SPDX-License-Identifier: Apache-2.0 */
/* agent/account.c - the account as JSON and as text. Names come from bpf/reasons.h. */
#include "agent/account.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/own.h"
#include "agent/file_notes.h"

#define REASON_NAME(id, name, text) [id] = name,
static const char *const lost_names[] = { LOST_REASONS(REASON_NAME) };
static const char *const event_names[EVENT_KINDS_MAX] = { EVENT_LOSSES(REASON_NAME) };
static const char *const target_names[] = { TARGET_LOSSES(REASON_NAME) };
static const char *const end_names[] = { STACK_ENDS(REASON_NAME) };
static const char *const object_names[] = { OBJECT_REASONS(REASON_NAME) };
static const char *const fetch_names[] = { FETCH_REASONS(REASON_NAME) };
static const char *const debug_names[] = { DEBUG_REASONS(REASON_NAME) };
static const char *const file_names[] = { FILE_REASONS(REASON_NAME) };
static const char *const unnamed_names[] = { UNNAMED_REASONS(REASON_NAME) };

static const char *const source_names[NAME_SOURCES] = {
	[NAME_KALLSYMS] = "kallsyms",
	[NAME_SYMTAB] = "symtab",
	[NAME_DYNSYM] = "dynsym",
	[NAME_DEBUG_FILE] = "debug_file",
	[NAME_DEBUG_DATA] = "debug_data",
	[NAME_PLT] = "plt",
	[NAME_GO] = "gopclntab",
	[NAME_R2R] = "readytorun",
	[NAME_PERFMAP] = "perfmap",
	[NAME_JITDUMP] = "jitdump",
};

static uint64_t sum(const uint64_t *counts, size_t len)
{
	uint64_t total = 0;

	for (size_t i = 0; i < len; i++)
		total += counts[i];
	return total;
}

/* {"name": count, ...} of those that are not zero. */
static json_t *by_name(const uint64_t *counts, const char *const *names, size_t len)
{
	json_t *object = json_object();

	for (size_t i = 0; i < len; i++)
		if (names[i] && counts[i] > 0)
			json_object_set_new(object, names[i], json_integer((json_int_t)counts[i]));
	return object;
}

static json_t *ticks_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "expected",
		(json_int_t)a->sampler.expected, "samples", (json_int_t)a->sampler.samples, "idle",
		(json_int_t)a->sampler.idle, "filtered", (json_int_t)a->sampler.filtered, "stolen",
		(json_int_t)a->sampler.stolen, "skipped", (json_int_t)a->sampler.skipped, "lost",
		by_name(a->sampler.lost, lost_names, LOST_REASONS_LEN));
}

static json_t *lost_json(const uint64_t *counts, const char *const *names, size_t len)
{
	return json_pack("{s:o}", "lost", by_name(counts, names, len));
}

static json_t *stacks_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:o}", "total", (json_int_t)a->stacks_total, "complete",
		(json_int_t)a->stacks_complete, "truncated",
		by_name(a->stacks_truncated, end_names, STACK_ENDS_LEN));
}

static json_t *frames_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "total",
		(json_int_t)a->frames_total, "named", (json_int_t)a->frames_named, "inlined",
		(json_int_t)a->frames_inlined, "lines_given_up",
		(json_int_t)a->worker.lines_given_up, "names_cut", (json_int_t)a->names_cut,
		"by_source", by_name(a->frames_by_source, source_names, NAME_SOURCES), "unnamed",
		by_name(a->frames_unnamed, unnamed_names, UNNAMED_REASONS_LEN));
}

static json_t *debug_files_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:o, s:o, s:o}", "found", (json_int_t)a->objects.debug_found,
		"used", (json_int_t)a->objects.debug_used, "refused",
		by_name(a->objects.debug_refused, debug_names, DEBUG_REASONS_LEN), "refused_files",
		file_notes_refused(a->files), "unread",
		by_name(a->objects.debug_unread, file_names, FILE_REASONS_LEN));
}

static json_t *fetch_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:I, s:o}", "asked", (json_int_t)a->objects.fetch.asked,
		"fetched", (json_int_t)a->objects.fetch.fetched, "bytes",
		(json_int_t)a->objects.fetch.bytes, "failed",
		by_name(a->objects.fetch.failed, fetch_names, FETCH_REASONS_LEN));
}

static json_t *objects_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "known",
		(json_int_t)a->objects.known, "forgotten", (json_int_t)a->objects.forgotten,
		"tables", (json_int_t)a->tables.tables, "table_bytes", (json_int_t)a->tables.bytes,
		"symbol_loads", (json_int_t)a->worker.symbol_loads, "symbol_bytes",
		(json_int_t)a->worker.kept_bytes, "symbol_load_us",
		(json_int_t)(a->worker.symbol_ns / 1000), "failed",
		by_name(a->objects.failed, object_names, OBJECT_REASONS_LEN), "maps_refused",
		by_name(a->maps_refused, file_names, FILE_REASONS_LEN));
}

/* The unwind tables: what is in the kernel, and what it took to get it there. */
static json_t *tables_json(const struct account *a)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "rows",
		(json_int_t)a->tables.rows, "rules", (json_int_t)a->tables.rules, "page_bytes",
		(json_int_t)a->tables.bytes, "slab_bytes", (json_int_t)a->tables.slabs_bytes,
		"pages_loaded", (json_int_t)a->tables.pages_loaded, "pages_evicted",
		(json_int_t)a->tables.pages_evicted, "pages_refused",
		(json_int_t)a->tables.pages_refused, "rules_refused",
		(json_int_t)a->tables.rules_refused, "compile_us",
		(json_int_t)(a->objects.table_ns / 1000), "eh_frame_bytes",
		(json_int_t)a->objects.eh_frame_bytes, "stacks_held", (json_int_t)a->held.held,
		"stacks_finished", (json_int_t)a->held.finished);
}

/* Cgroups and containers that are known at the end, and files of container runtimes. */
static json_t *containers_json(const struct account *a)
{
	const struct containers_stats *c = &a->containers;
	json_t *files = json_pack("{s:I, s:I, s:I, s:o}", "read", (json_int_t)c->files.read,
		"damaged", (json_int_t)c->files.damaged, "failed", (json_int_t)c->files.failed,
		"unread", by_name(c->files.unread, file_names, FILE_REASONS_LEN));

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "cgroups",
		(json_int_t)c->cgroups, "containers", (json_int_t)c->containers, "named",
		(json_int_t)c->named, "made", (json_int_t)c->made, "removed",
		(json_int_t)c->removed, "renamed", (json_int_t)c->renamed, "refused",
		(json_int_t)c->refused, "rescans", (json_int_t)c->rescans, "files", files);
}

/* NULL: nothing governs the rate. */
static json_t *governor_json(const struct account *a)
{
	const struct account_governor *g = &a->governor;

	return g->hz_set == 0
		? NULL
		: json_pack("{s:i, s:i, s:I, s:I, s:I, s:I}", "hz", (int)g->hz, "hz_set",
			  (int)g->hz_set, "allowed_ppm", (json_int_t)g->allowed_ppm, "cost_ppm",
			  (json_int_t)g->cost_ppm, "stepped_down", (json_int_t)g->stepped_down,
			  "stepped_up", (json_int_t)g->stepped_up);
}

/* NULL: there are none. */
static json_t *traps_json(const struct account *a)
{
	const struct account_traps *t = a->traps;

	return !t ? NULL
		  : json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "rules_max", (json_int_t)t->rules,
			    "watched_max", (json_int_t)t->watched, "fired", (json_int_t)t->fired,
			    "refused", (json_int_t)t->refused, "written", (json_int_t)t->written,
			    "failed", (json_int_t)t->failed);
}

static json_t *account_json(const struct account *a)
{
	json_t *bpf = json_pack("{s:I, s:I, s:I, s:I}", "runs", (json_int_t)a->sampler.runs,
		"ns_total", (json_int_t)a->sampler.run_ns, "bytes_out",
		(json_int_t)a->sampler.bytes_out, "memory_bytes",
		(json_int_t)a->sampler.memory_bytes);
	json_t *worker = json_pack("{s:f, s:I, s:I, s:I, s:I}", "cpu_s", a->worker.cpu_s,
		"rss_max_kb", (json_int_t)a->worker.rss_max_kb, "restarts",
		(json_int_t)a->worker.restarts, "refused", (json_int_t)a->worker.refused, "late",
		(json_int_t)a->worker.late);
	json_t *agent = json_pack("{s:f, s:I, s:I}", "cpu_s", a->agent_cpu_s, "rss_max_kb",
		(json_int_t)a->agent_rss_max_kb, "start_us", (json_int_t)(a->start_ns / 1000));

	return json_pack("{s:f, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:o*, s:o*}",
		"duration_s", a->duration_s, "hz", (int)a->hz, "cpus", (int)a->sampler.cpus,
		"ticks", ticks_json(a), "events",
		lost_json(a->sampler.events_lost, event_names, EVENT_KINDS_MAX), "targets",
		lost_json(a->sampler.targets_lost, target_names, TARGET_LOSSES_LEN), "user_stacks",
		stacks_json(a), "frames", frames_json(a), "objects", objects_json(a), "debug_files",
		debug_files_json(a), "debuginfod", fetch_json(a), "containers", containers_json(a),
		"unnamed_files", file_notes_unnamed(a->files), "tables", tables_json(a), "bpf", bpf,
		"agent", agent, "worker", worker, "governor", governor_json(a), "traps",
		traps_json(a));
}

int account_write_json(const struct account *account, struct buf *out)
{
	json_t *root = account_json(account);
	_cleanup_(freep) char *text =
		root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
	int err = text ? buf_puts(out, text) : -ENOMEM;

	json_decref(root);
	return err < 0 ? err : buf_putc(out, '\n');
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* ", 3 of them ring_full, ..." behind a line. */
static int put_reasons(
	struct buf *out, const uint64_t *counts, const char *const *names, size_t len)
{
	const char *before = "  (";
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++) {
		if (!names[i] || counts[i] == 0)
			continue;
		err = buf_printf(out, "%s%s %llu", before, names[i], (unsigned long long)counts[i]);
		before = ", ";
	}
	if (err == 0)
		err = buf_puts(out, before[0] == ' ' ? "\n" : ")\n");
	return err;
}

static int put_ticks(const struct account *a, struct buf *out)
{
	const struct sampler_stats *s = &a->sampler;
	int err = buf_printf(out,
		"ticks    %llu expected = %llu samples + %llu idle + %llu skipped + %llu lost",
		(unsigned long long)s->expected, (unsigned long long)s->samples,
		(unsigned long long)s->idle, (unsigned long long)s->skipped,
		(unsigned long long)sum(s->lost, LOST_REASONS_LEN));

	return err < 0 ? err : put_reasons(out, s->lost, lost_names, LOST_REASONS_LEN);
}

/* Nothing, or how many of what were lost and how many of each name. */
static int put_lost(struct buf *out, const char *what, const uint64_t *counts,
	const char *const *names, size_t len)
{
	uint64_t all = sum(counts, len);
	int err = all > 0 ? buf_printf(out, what, (unsigned long long)all) : 0;

	return err < 0 || all == 0 ? err : put_reasons(out, counts, names, len);
}

static int put_events(const struct account *a, struct buf *out)
{
	int err = put_lost(out, "events   %llu lost: the ring buffer was full, or memory was short",
		a->sampler.events_lost, event_names, EVENT_KINDS_MAX);

	return err < 0
		? err
		: put_lost(out, "targets  %llu not remembered: the table of targets was full",
			  a->sampler.targets_lost, target_names, TARGET_LOSSES_LEN);
}

static int put_refused(struct buf *out, const char *what, const uint64_t *counts)
{
	uint64_t all = sum(counts, FILE_REASONS_LEN);
	int err = all > 0 ? buf_printf(out, "refused  %llu %s", (unsigned long long)all, what) : 0;

	return err < 0 || all == 0 ? err : put_reasons(out, counts, file_names, FILE_REASONS_LEN);
}

static int put_fetched(const struct account *a, struct buf *out)
{
	int err = buf_printf(out, "fetched  %llu of %llu debug files from debuginfod, %.1f MB",
		(unsigned long long)a->objects.fetch.fetched,
		(unsigned long long)a->objects.fetch.asked, (double)a->objects.fetch.bytes / 1e6);

	return err < 0 ? err
		       : put_reasons(out, a->objects.fetch.failed, fetch_names, FETCH_REASONS_LEN);
}

static int put_names(const struct account *a, struct buf *out)
{
	int err = buf_printf(out, "stacks   %llu user stacks, %.2f %% complete",
		(unsigned long long)a->stacks_total, percent(a->stacks_complete, a->stacks_total));

	if (err == 0)
		err = put_reasons(out, a->stacks_truncated, end_names, STACK_ENDS_LEN);
	if (err == 0)
		err = buf_printf(out, "frames   %llu, %.2f %% named",
			(unsigned long long)a->frames_total,
			percent(a->frames_named, a->frames_total));
	if (err == 0)
		err = put_reasons(out, a->frames_unnamed, unnamed_names, UNNAMED_REASONS_LEN);
	if (err == 0 && a->frames_inlined > 0)
		err = buf_printf(
			out, "inlined  %llu frames more\n", (unsigned long long)a->frames_inlined);
	if (err == 0 && a->worker.lines_given_up > 0)
		err = buf_printf(out, "lines    of %llu places were not read, for want of time\n",
			(unsigned long long)a->worker.lines_given_up);
	if (err == 0 && a->names_cut > 0)
		err = buf_printf(out, "names    %llu were cut, as there was too much text\n",
			(unsigned long long)a->names_cut);
	if (err == 0)
		err = buf_printf(out,
			"files    %llu met, %llu symbol tables loaded (%.1f MB, %.0f ms), %llu "
			"unwind tables (%.1f MB, %.0f ms)",
			(unsigned long long)a->objects.known,
			(unsigned long long)a->worker.symbol_loads,
			(double)a->worker.kept_bytes / 1e6, (double)a->worker.symbol_ns / 1e6,
			(unsigned long long)a->tables.tables, (double)a->tables.bytes / 1e6,
			(double)a->objects.table_ns / 1e6);
	if (err == 0)
		err = put_reasons(out, a->objects.failed, object_names, OBJECT_REASONS_LEN);
	if (err == 0)
		err = put_refused(out, "debug files", a->objects.debug_unread);
	if (err == 0)
		err = put_refused(out, "perf maps", a->maps_refused);
	if (err == 0)
		err = put_refused(out, "files of container runtimes", a->containers.files.unread);
	if (err == 0 && a->containers.files.damaged > 0)
		err = buf_printf(out, "damaged  %llu files of container runtimes\n",
			(unsigned long long)a->containers.files.damaged);
	if (err == 0 && a->objects.fetch.asked > 0)
		err = put_fetched(a, out);
	return err < 0 ? err : file_notes_write(a->files, out);
}

int account_write_text(const struct account *a, struct buf *out)
{
	const struct sampler_stats *s = &a->sampler;
	int err = buf_printf(
		out, "capture  %.2f s at %u Hz on %u CPUs\n", a->duration_s, a->hz, s->cpus);

	if (err == 0)
		err = put_ticks(a, out);
	if (err == 0)
		err = put_events(a, out);
	if (err == 0)
		err = put_names(a, out);
	if (err == 0)
		err = buf_printf(out,
			"cost     %.1f bytes a sample left the kernel, BPF maps %.1f MB, ",
			s->samples ? (double)s->bytes_out / (double)s->samples : 0.0,
			(double)s->memory_bytes / 1e6);
	if (err == 0 && s->run_ns > 0 && s->runs > 0)
		err = buf_printf(out, "%.0f ns a tick, ", (double)s->run_ns / (double)s->runs);
	if (err == 0)
		err = buf_printf(out, "agent %.3f s CPU, %.1f MB, workers %.3f s, %.1f MB\n",
			a->agent_cpu_s, (double)a->agent_rss_max_kb / 1e3, a->worker.cpu_s,
			(double)a->worker.rss_max_kb / 1e3);
	return err;
}
