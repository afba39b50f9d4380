/* SPDX-License-Identifier: Apache-2.0 */
/* http/metrics.c - one table from places in the status to metrics. A place that holds an
 * object is a metric with a label, whose values are the object's names; those of lists that are
 * known are there from the start, as zeros. */
#include "http/metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "bpf/reasons.h"

#define PLACE_MAX 64

#define REASON_NAME(id, name, text) name,
static const char *const lost_names[] = { LOST_REASONS(REASON_NAME) NULL };
static const char *const event_names[] = { EVENT_LOSSES(REASON_NAME) NULL };
static const char *const target_names[] = { TARGET_LOSSES(REASON_NAME) NULL };
static const char *const end_names[] = { STACK_ENDS(REASON_NAME) NULL };
static const char *const unnamed_names[] = { UNNAMED_REASONS(REASON_NAME) NULL };
static const char *const object_names[] = { OBJECT_REASONS(REASON_NAME) NULL };

enum type { COUNTER, GAUGE };

struct metric {
	const char *place; /* names with '.' between them */
	const char *name;
	enum type type;
	double unit; /* what one of the status's is in the metric's */
	const char *help;
	const char *label;
	const char *const *values; /* that are there even when the status does not have them */
};

#define A "account."
#define D "daemon."
static const struct metric metrics[] = {
	{ A "duration_s", "stoker_sampling_seconds_total", COUNTER, 1, "Time that was sampled.",
		NULL, NULL },
	{ A "hz", "stoker_sample_rate_hertz", GAUGE, 1, "Ticks a second on each CPU, now.", NULL,
		NULL },
	{ A "cpus", "stoker_cpus", GAUGE, 1, "CPUs that are sampled.", NULL, NULL },
	{ A "ticks.expected", "stoker_ticks_expected_total", COUNTER, 1,
		"Ticks that were due: samples + idle + lost + skipped.", NULL, NULL },
	{ A "ticks.samples", "stoker_samples_total", COUNTER, 1, "Samples that were taken.", NULL,
		NULL },
	{ A "ticks.idle", "stoker_ticks_idle_total", COUNTER, 1, "Ticks of an idle CPU.", NULL,
		NULL },
	{ A "ticks.filtered", "stoker_ticks_filtered_total", COUNTER, 1,
		"Ticks of tasks that are not asked for.", NULL, NULL },
	{ A "ticks.stolen", "stoker_ticks_stolen_total", COUNTER, 1,
		"Ticks that a hypervisor kept from us.", NULL, NULL },
	{ A "ticks.skipped", "stoker_ticks_skipped_total", COUNTER, 1, "Ticks that came late.",
		NULL, NULL },
	{ A "ticks.lost", "stoker_ticks_lost_total", COUNTER, 1, "Ticks that gave no sample.",
		"reason", lost_names },
	{ A "events.lost", "stoker_events_lost_total", COUNTER, 1,
		"Events that were lost: the ring buffer was full.", "kind", event_names },
	{ A "targets.lost", "stoker_targets_lost_total", COUNTER, 1,
		"Parts of the target for which there was no room.", "kind", target_names },
	{ A "user_stacks.total", "stoker_user_stacks_total", COUNTER, 1,
		"Samples with a user stack.", NULL, NULL },
	{ A "user_stacks.complete", "stoker_user_stacks_complete_total", COUNTER, 1,
		"Of those, walked to the outermost frame.", NULL, NULL },
	{ A "user_stacks.truncated", "stoker_user_stacks_truncated_total", COUNTER, 1,
		"Of those, cut.", "reason", end_names },
	{ A "frames.total", "stoker_frames_total", COUNTER, 1, "Frames, weighted by samples.", NULL,
		NULL },
	{ A "frames.named", "stoker_frames_named_total", COUNTER, 1, "Of those, with a name.", NULL,
		NULL },
	{ A "frames.names_cut", "stoker_frames_names_cut_total", COUNTER, 1,
		"Frames whose name was too long.", NULL, NULL },
	{ A "frames.by_source", "stoker_frames_named_by_source_total", COUNTER, 1,
		"Frames with a name, by where it is from.", "source", NULL },
	{ A "frames.unnamed", "stoker_frames_unnamed_total", COUNTER, 1, "Frames without a name.",
		"reason", unnamed_names },
	{ A "objects.known", "stoker_objects", GAUGE, 1, "Mapped files that are known.", NULL,
		NULL },
	{ A "objects.forgotten", "stoker_objects_forgotten_total", COUNTER, 1,
		"Files that were forgotten for others.", NULL, NULL },
	{ A "objects.failed", "stoker_objects_failed_total", COUNTER, 1,
		"Files that could not be used.", "reason", object_names },
	{ A "objects.maps_refused", "stoker_perf_maps_refused_total", COUNTER, 1,
		"Perf maps that were not read.", "reason", NULL },
	{ A "objects.symbol_loads", "stoker_symbol_loads_total", COUNTER, 1,
		"Symbol tables that were loaded.", NULL, NULL },
	{ A "objects.symbol_bytes", "stoker_symbol_bytes", GAUGE, 1, "Memory of kept symbols.",
		NULL, NULL },
	{ A "objects.symbol_load_us", "stoker_symbol_load_seconds_total", COUNTER, 1e-6,
		"Time that loading symbols took.", NULL, NULL },
	{ A "debug_files.found", "stoker_debug_files_found", GAUGE, 1,
		"Separate debug files that were found.", NULL, NULL },
	{ A "debug_files.used", "stoker_debug_files_used", GAUGE, 1, "Of those, used.", NULL,
		NULL },
	{ A "debug_files.refused", "stoker_debug_files_refused_total", COUNTER, 1,
		"Debug files that do not fit.", "reason", NULL },
	{ A "debug_files.unread", "stoker_debug_files_unread_total", COUNTER, 1,
		"Debug files that could not be read.", "reason", NULL },
	{ A "debuginfod.asked", "stoker_debuginfod_asked_total", COUNTER, 1,
		"Files that a debuginfod server was asked for.", NULL, NULL },
	{ A "debuginfod.fetched", "stoker_debuginfod_fetched_total", COUNTER, 1, "Of those, had.",
		NULL, NULL },
	{ A "debuginfod.bytes", "stoker_debuginfod_bytes_total", COUNTER, 1, "Bytes of those.",
		NULL, NULL },
	{ A "debuginfod.failed", "stoker_debuginfod_failed_total", COUNTER, 1, "Of those, not had.",
		"reason", NULL },
	{ A "containers.cgroups", "stoker_cgroups", GAUGE, 1, "Cgroups that are known.", NULL,
		NULL },
	{ A "containers.containers", "stoker_containers", GAUGE, 1, "Of those, containers.", NULL,
		NULL },
	{ A "containers.named", "stoker_containers_named", GAUGE, 1, "Of those, with a name.", NULL,
		NULL },
	{ A "containers.made", "stoker_cgroups_made_total", COUNTER, 1, "Cgroups that came.", NULL,
		NULL },
	{ A "containers.removed", "stoker_cgroups_removed_total", COUNTER, 1, "Cgroups that went.",
		NULL, NULL },
	{ A "containers.renamed", "stoker_cgroups_renamed_total", COUNTER, 1,
		"Cgroups that were renamed.", NULL, NULL },
	{ A "containers.refused", "stoker_cgroups_refused_total", COUNTER, 1,
		"Cgroups beyond those that are kept.", NULL, NULL },
	{ A "containers.rescans", "stoker_cgroup_rescans_total", COUNTER, 1,
		"Times that all cgroups were looked through, for events that were lost.", NULL,
		NULL },
	{ A "containers.files.read", "stoker_runtime_files_read_total", COUNTER, 1,
		"Files of container runtimes that were read.", NULL, NULL },
	{ A "containers.files.damaged", "stoker_runtime_files_damaged_total", COUNTER, 1,
		"Of those, damaged.", NULL, NULL },
	{ A "containers.files.failed", "stoker_runtime_files_failed_total", COUNTER, 1,
		"Of those, over which a worker was lost.", NULL, NULL },
	{ A "containers.files.unread", "stoker_runtime_files_unread_total", COUNTER, 1,
		"Files of container runtimes that could not be read.", "reason", NULL },
	{ A "tables.rows", "stoker_unwind_rows", GAUGE, 1, "Unwind rows in the kernel.", NULL,
		NULL },
	{ A "tables.rules", "stoker_unwind_rules", GAUGE, 1, "Different rules of those.", NULL,
		NULL },
	{ A "tables.page_bytes", "stoker_unwind_bytes", GAUGE, 1, "Memory of unwind tables.", NULL,
		NULL },
	{ A "tables.slab_bytes", "stoker_unwind_budget_bytes", GAUGE, 1,
		"Memory that unwind tables may take.", NULL, NULL },
	{ A "tables.pages_loaded", "stoker_unwind_pages_loaded_total", COUNTER, 1,
		"Pages of rows that were loaded.", NULL, NULL },
	{ A "tables.pages_evicted", "stoker_unwind_pages_evicted_total", COUNTER, 1,
		"Pages that went for others.", NULL, NULL },
	{ A "tables.pages_refused", "stoker_unwind_pages_refused_total", COUNTER, 1,
		"Pages that there was no room for.", NULL, NULL },
	{ A "tables.rules_refused", "stoker_unwind_rules_refused_total", COUNTER, 1,
		"Rules that there was no room for.", NULL, NULL },
	{ A "tables.compile_us", "stoker_unwind_compile_seconds_total", COUNTER, 1e-6,
		"Time that making rows took.", NULL, NULL },
	{ A "tables.eh_frame_bytes", "stoker_unwind_compiled_bytes_total", COUNTER, 1,
		"Bytes of CFI that were made into rows.", NULL, NULL },
	{ A "tables.stacks_held", "stoker_stacks_held_total", COUNTER, 1,
		"Stacks that came before their table.", NULL, NULL },
	{ A "tables.stacks_finished", "stoker_stacks_finished_total", COUNTER, 1,
		"Of those, walked when it was there.", NULL, NULL },
	{ A "bpf.runs", "stoker_bpf_runs_total", COUNTER, 1, "Runs of the BPF program.", NULL,
		NULL },
	{ A "bpf.ns_total", "stoker_bpf_seconds_total", COUNTER, 1e-9,
		"Time in the BPF program; 0 without kernel.bpf_stats_enabled.", NULL, NULL },
	{ A "bpf.bytes_out", "stoker_bpf_output_bytes_total", COUNTER, 1,
		"Bytes that left the kernel.", NULL, NULL },
	{ A "bpf.memory_bytes", "stoker_bpf_memory_bytes", GAUGE, 1, "Memory of BPF maps.", NULL,
		NULL },
	{ D "memory_bytes", "stoker_bpf_memory_budget_bytes", GAUGE, 1,
		"Memory that BPF maps may take.", NULL, NULL },
	{ A "worker.restarts", "stoker_worker_restarts_total", COUNTER, 1,
		"Workers that were lost and replaced.", NULL, NULL },
	{ A "worker.refused", "stoker_worker_refused_total", COUNTER, 1,
		"Requests for files over which a worker was lost.", NULL, NULL },
	{ A "worker.late", "stoker_worker_late_total", COUNTER, 1,
		"Requests that a worker was too busy for.", NULL, NULL },
	{ A "agent.start_us", "stoker_start_seconds", GAUGE, 1e-6,
		"From the start to the first tick.", NULL, NULL },
	{ D "cpu_s", "stoker_cpu_seconds_total", COUNTER, 1, "CPU time that stoker took itself.",
		"process", NULL },
	{ D "rss_bytes", "stoker_resident_memory_bytes", GAUGE, 1,
		"Resident memory of stoker's own processes.", "process", NULL },
	{ D "rss_max_bytes", "stoker_resident_memory_max_bytes", GAUGE, 1, "The most that it was.",
		"process", NULL },
	{ D "cpu_budget", "stoker_cpu_budget_cores", GAUGE, 1, "Above it the rate steps down.",
		NULL, NULL },
	{ A "governor.cost_ppm", "stoker_cpu_used_cores", GAUGE, 1e-6,
		"What is held against that, of the last seconds.", NULL, NULL },
	{ A "governor.hz_set", "stoker_sample_rate_asked_hertz", GAUGE, 1,
		"Ticks a second on each CPU, as configured.", NULL, NULL },
	{ A "governor.stepped_down", "stoker_sample_rate_stepped_down_total", COUNTER, 1,
		"Times that the rate was halved to cost less.", NULL, NULL },
	{ A "governor.stepped_up", "stoker_sample_rate_stepped_up_total", COUNTER, 1,
		"Times that it was doubled again.", NULL, NULL },
	{ D "interval_s", "stoker_interval_seconds", GAUGE, 1, "Length of an interval.", NULL,
		NULL },
	{ D "written_age_s", "stoker_interval_written_age_seconds", GAUGE, 1,
		"Time since an interval was written.", NULL, NULL },
	{ D "store.segments", "stoker_store_segments", GAUGE, 1, "Profiles in the store.", NULL,
		NULL },
	{ D "store.bytes", "stoker_store_bytes", GAUGE, 1, "Bytes of those.", NULL, NULL },
	{ D "store.bytes_max", "stoker_store_budget_bytes", GAUGE, 1, "Above it the oldest go.",
		NULL, NULL },
	{ D "store.oldest_age_s", "stoker_store_oldest_age_seconds", GAUGE, 1,
		"Age of the oldest profile.", NULL, NULL },
	{ D "store.newest_age_s", "stoker_store_newest_age_seconds", GAUGE, 1,
		"Age of the newest profile.", NULL, NULL },
	{ D "store.written", "stoker_store_written_total", COUNTER, 1,
		"Intervals that were written.", NULL, NULL },
	{ D "store.failed", "stoker_store_failed_total", COUNTER, 1, "Intervals that were not.",
		NULL, NULL },
	{ D "store.expired", "stoker_store_expired_total", COUNTER, 1,
		"Profiles that went for age or room.", NULL, NULL },
	{ D "store.compacted", "stoker_store_compacted_total", COUNTER, 1,
		"Profiles that became part of an hour.", NULL, NULL },
	{ D "store.damaged", "stoker_store_damaged_total", COUNTER, 1,
		"Files that were damaged and set aside.", NULL, NULL },
	{ D "captures.running", "stoker_captures_running", GAUGE, 1, "Captures on demand, now.",
		NULL, NULL },
	{ D "captures.started", "stoker_captures_started_total", COUNTER, 1, "Captures on demand.",
		NULL, NULL },
	{ D "captures.done", "stoker_captures_done_total", COUNTER, 1, "Of those, done.", NULL,
		NULL },
	{ D "captures.failed", "stoker_captures_failed_total", COUNTER, 1,
		"Of those, failed or given up.", NULL, NULL },
	{ D "captures.refused", "stoker_captures_refused_total", COUNTER, 1,
		"Captures that were refused, for being too many.", NULL, NULL },
	{ A "traps.fired", "stoker_traps_fired_total", COUNTER, 1, "Times that a trap fired.", NULL,
		NULL },
	{ A "traps.refused", "stoker_traps_refused_total", COUNTER, 1,
		"Of those, given up for others that were being captured.", NULL, NULL },
	{ A "traps.written", "stoker_trap_bundles_written_total", COUNTER, 1,
		"Bundles of traps that were written.", NULL, NULL },
	{ A "traps.failed", "stoker_trap_bundles_failed_total", COUNTER, 1,
		"Bundles of traps that could not be written.", NULL, NULL },
	{ D "http.restarts", "stoker_http_restarts_total", COUNTER, 1,
		"Times that the process that serves HTTP was lost.", NULL, NULL },
	{ D "http.refused", "stoker_http_messages_refused_total", COUNTER, 1,
		"Times that the daemon did not take what that process said.", NULL, NULL },
};

/* ---- text ----------------------------------------------------------------------------------- */

/* A label's value: \, " and the end of a line are escaped. */
static int put_value(struct buf *out, const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	int err = utf8_put_clean(&clean, text);

	for (const char *at = clean.data; err == 0 && at && *at; at++) {
		if (*at == '\\' || *at == '"')
			err = buf_putc(out, '\\');
		if (err == 0)
			err = buf_putc(out, *at);
	}
	return err;
}

static int put_head(struct buf *out, const char *name, enum type type, const char *help)
{
	return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
		type == COUNTER ? "counter" : "gauge");
}

static int put_sample(struct buf *out, const char *name, const char *label, const char *value,
	const json_t *number, double unit)
{
	int err = buf_puts(out, name);

	if (err == 0 && label)
		err = buf_printf(out, "{%s=\"", label);
	if (err == 0 && label)
		err = put_value(out, value);
	if (err == 0 && label)
		err = buf_puts(out, "\"}");
	if (err < 0)
		return err;
	if (!number || (json_is_integer(number) && unit == 1))
		return buf_printf(out, " %lld\n", (long long)json_integer_value(number));
	return buf_printf(out, " %.9g\n", json_number_value(number) * unit);
}

static const json_t *find(const json_t *root, const char *place)
{
	char name[PLACE_MAX];

	while (root && *place) {
		size_t len = strcspn(place, ".");

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, place, len);
		name[len] = '\0';
		root = json_object_get(root, name);
		place += len + (place[len] == '.');
	}
	return root;
}

static int put_family(const struct metric *m, const json_t *object, struct buf *out)
{
	const char *name;
	json_t *value;
	int err = 0;

	for (size_t i = 0; err == 0 && m->values && m->values[i]; i++)
		err = put_sample(out, m->name, m->label, m->values[i],
			json_object_get(object, m->values[i]), m->unit);
	json_object_foreach ((json_t *)object, name, value) {
		bool known = false;

		for (size_t i = 0; m->values && m->values[i]; i++)
			known |= strcmp(name, m->values[i]) == 0;
		if (err == 0 && !known && json_is_number(value))
			err = put_sample(out, m->name, m->label, name, value, m->unit);
	}
	return err;
}

static int put_metric(const struct metric *m, const json_t *status, struct buf *out)
{
	const json_t *value = find(status, m->place);
	int err;

	if (!(m->label ? json_is_object(value) : json_is_number(value)))
		return 0;
	if (m->label && !m->values && json_object_size(value) == 0)
		return 0;
	err = put_head(out, m->name, m->type, m->help);
	if (err < 0)
		return err;
	return m->label ? put_family(m, value, out)
			: put_sample(out, m->name, NULL, NULL, value, m->unit);
}

static int put_counts(const struct http_counts *counts, struct buf *out)
{
	int err = put_head(out, "stoker_http_answers_total", COUNTER, "Answers, by status.");

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(counts->answers); i++)
		if (i == 200 || counts->answers[i] > 0)
			err = buf_printf(out, "stoker_http_answers_total{code=\"%zu\"} %llu\n", i,
				(unsigned long long)counts->answers[i]);
	if (err == 0)
		err = put_head(out, "stoker_http_connections", GAUGE, "Connections, now.");
	return err < 0 ? err
		       : buf_printf(out, "stoker_http_connections %llu\n",
				 (unsigned long long)counts->connections);
}

int http_metrics_write(const json_t *status, const struct http_counts *counts, struct buf *out)
{
	int err = put_head(out, "stoker_build_info", GAUGE, "The version that runs.");

	if (err == 0)
		err = buf_puts(out, "stoker_build_info{version=\"" STOKER_VERSION "\"} 1\n");
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(metrics); i++)
		err = put_metric(&metrics[i], status, out);
	return err < 0 ? err : put_counts(counts, out);
}

/* ---- health --------------------------------------------------------------------------------- */

int http_metrics_health(const json_t *status, struct why *text)
{
	double age = json_number_value(find(status, D "written_age_s"));
	double interval = json_number_value(find(status, D "interval_s"));
	const char *store = json_string_value(find(status, D "store.error"));

	if (store && *store)
		return why_set(text, -EIO, "the last interval was not written: %s", store);
	if (interval <= 0 || age > 2 * interval + 5)
		return why_set(text, -EIO,
			"no interval was written for %.0f s, where there should be one each %.0f s",
			age, interval);
	return why_set(text, 0, "ok: the last interval was written %.0f s ago", age);
}
