/* SPDX-License-Identifier: Apache-2.0 */
/* wire/counters.h - every number of the account and of the daemon's status, once. The JSON, the
 * lines that are printed, the Prometheus metrics and stoker-account(5) are made from these rows:
 *     X(place, type, field, metric, text, help)
 * place: the key in the JSON, '.' between the names of objects inside each other.
 * type: COUNTER_type of wire/counter.h: how the field becomes JSON and a metric.
 * field: of the list's struct, which its owner has: http/ reads places alone.
 * metric: its name, and its label where it is one of a family that rows share; a counter ends with
 *     _total, others are gauges. NULL: none.
 * text: the line of the printed account where the number is not 0. NULL: none, or a line that
 *     agent/account.c writes by hand.
 * help: a sentence for the metric's HELP and for the manual page. */
#pragma once

/* Where a frame's name is from. Ids are positions. */
#define NAME_SOURCES(X)                  \
	X(NAME_KALLSYMS, "kallsyms")     \
	X(NAME_SYMTAB, "symtab")         \
	X(NAME_DYNSYM, "dynsym")         \
	X(NAME_DEBUG_FILE, "debug_file") \
	X(NAME_DEBUG_DATA, "debug_data") \
	X(NAME_PLT, "plt")               \
	X(NAME_GO, "gopclntab")          \
	X(NAME_R2R, "readytorun")        \
	X(NAME_PERFMAP, "perfmap")       \
	X(NAME_JITDUMP, "jitdump")

#define NAME_SOURCE_ID(id, name) id,
enum name_source { NAME_SOURCES(NAME_SOURCE_ID) NAME_SOURCES_LEN };
#undef NAME_SOURCE_ID

/* Of struct account. */
#define ACCOUNT_COUNTERS(X)                                                                        \
	X("duration_s", REAL, duration_s, "stoker_sampling_seconds_total", NULL,                   \
		"Time that was sampled.")                                                          \
	X("hz", U32, hz, "stoker_sample_rate_hertz", NULL, "Ticks a second on each CPU, now.")     \
	X("cpus", U32, sampler.cpus, "stoker_cpus", NULL, "CPUs that are sampled.")                \
	X("ticks.expected", U64, sampler.expected, "stoker_ticks_expected_total", NULL,            \
		"Ticks that were due: samples + idle + lost + skipped.")                           \
	X("ticks.samples", U64, sampler.samples, "stoker_samples_total", NULL,                     \
		"Samples that were taken.")                                                        \
	X("ticks.idle", U64, sampler.idle, "stoker_ticks_idle_total", NULL,                        \
		"Ticks of an idle CPU.")                                                           \
	X("ticks.filtered", U64, sampler.filtered, "stoker_ticks_filtered_total", NULL,            \
		"Ticks of tasks that are not asked for.")                                          \
	X("ticks.stolen", U64, sampler.stolen, "stoker_ticks_stolen_total", NULL,                  \
		"Ticks that a hypervisor kept from us.")                                           \
	X("ticks.skipped", U64, sampler.skipped, "stoker_ticks_skipped_total", NULL,               \
		"Ticks that came late.")                                                           \
	X("ticks.lost", LOST, sampler.lost, "stoker_ticks_lost_total", NULL,                       \
		"Ticks that gave no sample.")                                                      \
	X("events.lost", EVENTS, sampler.events_lost, "stoker_events_lost_total",                  \
		"events   %llu lost: the ring buffer was full, or memory was short",               \
		"Events that were lost: the ring buffer was full.")                                \
	X("targets.lost", TARGETS, sampler.targets_lost, "stoker_targets_lost_total",              \
		"targets  %llu not remembered: the table of targets was full",                     \
		"Parts of the target for which there was no room.")                                \
	X("user_stacks.total", U64, stacks_total, "stoker_user_stacks_total", NULL,                \
		"Samples with a user stack.")                                                      \
	X("user_stacks.complete", U64, stacks_complete, "stoker_user_stacks_complete_total", NULL, \
		"Of those, walked to the outermost frame.")                                        \
	X("user_stacks.truncated", ENDS, stacks_truncated, "stoker_user_stacks_truncated_total",   \
		NULL, "Of those, cut.")                                                            \
	X("frames.total", U64, frames_total, "stoker_frames_total", NULL,                          \
		"Frames, weighted by samples.")                                                    \
	X("frames.named", U64, frames_named, "stoker_frames_named_total", NULL,                    \
		"Of those, with a name.")                                                          \
	X("frames.inlined", U64, frames_inlined, NULL, "inlined  %llu frames more",                \
		"Frames of inlined functions, beside the total.")                                  \
	X("frames.lines_given_up", U64, worker.lines_given_up, NULL,                               \
		"lines    of %llu places were not read, for want of time",                         \
		"Places whose lines and inlined functions were not read, for want of time.")       \
	X("frames.names_cut", U64, names_cut, "stoker_frames_names_cut_total",                     \
		"names    %llu were cut, as there was too much text",                              \
		"Frames whose name was too long.")                                                 \
	X("frames.by_source", SOURCES, frames_by_source, "stoker_frames_named_by_source_total",    \
		NULL, "Frames with a name, by where it is from.")                                  \
	X("frames.unnamed", UNNAMED, frames_unnamed, "stoker_frames_unnamed_total", NULL,          \
		"Frames without a name.")                                                          \
	X("objects.known", U64, objects.known, "stoker_objects", NULL,                             \
		"Mapped files that are known.")                                                    \
	X("objects.forgotten", U64, objects.forgotten, "stoker_objects_forgotten_total", NULL,     \
		"Files that were forgotten for others.")                                           \
	X("objects.tables", U64, tables.tables, NULL, NULL,                                        \
		"Files whose unwind tables were built.")                                           \
	X("objects.table_bytes", U64, tables.bytes, NULL, NULL, "The same as tables.page_bytes.")  \
	X("objects.symbol_loads", U64, worker.symbol_loads, "stoker_symbol_loads_total", NULL,     \
		"Symbol tables that were loaded.")                                                 \
	X("objects.symbol_bytes", U64, worker.kept_bytes, "stoker_symbol_bytes", NULL,             \
		"Memory of kept symbols.")                                                         \
	X("objects.symbol_load_us", US, worker.symbol_ns, "stoker_symbol_load_seconds_total",      \
		NULL, "Time that loading symbols took.")                                           \
	X("objects.failed", OBJECTS, objects.failed, "stoker_objects_failed_total", NULL,          \
		"Files that could not be used.")                                                   \
	X("objects.maps_refused", FILES, maps_refused, "stoker_perf_maps_refused_total",           \
		"refused  %llu perf maps", "Perf maps that were not read.")                        \
	X("debug_files.found", U64, objects.debug_found, "stoker_debug_files_found", NULL,         \
		"Separate debug files that were found.")                                           \
	X("debug_files.used", U64, objects.debug_used, "stoker_debug_files_used", NULL,            \
		"Of those, used.")                                                                 \
	X("debug_files.refused", DEBUG, objects.debug_refused, "stoker_debug_files_refused_total", \
		NULL, "Debug files that do not fit.")                                              \
	X("debug_files.refused_files", NOTES, files, NULL, NULL,                                   \
		"The first ten files with a debug file that does not fit: file, debug_file, "      \
		"reason and why in words.")                                                        \
	X("debug_files.unread", FILES, objects.debug_unread, "stoker_debug_files_unread_total",    \
		"refused  %llu debug files", "Debug files that could not be read.")                \
	X("debuginfod.asked", U64, objects.fetch.asked, "stoker_debuginfod_asked_total", NULL,     \
		"Files that a debuginfod server was asked for.")                                   \
	X("debuginfod.fetched", U64, objects.fetch.fetched, "stoker_debuginfod_fetched_total",     \
		NULL, "Of those, had.")                                                            \
	X("debuginfod.bytes", U64, objects.fetch.bytes, "stoker_debuginfod_bytes_total", NULL,     \
		"Bytes of those.")                                                                 \
	X("debuginfod.failed", FETCH, objects.fetch.failed, "stoker_debuginfod_failed_total",      \
		NULL, "Of those, not had.")                                                        \
	X("containers.cgroups", U64, containers.cgroups, "stoker_cgroups", NULL,                   \
		"Cgroups that are known.")                                                         \
	X("containers.containers", U64, containers.containers, "stoker_containers", NULL,          \
		"Of those, containers.")                                                           \
	X("containers.named", U64, containers.named, "stoker_containers_named", NULL,              \
		"Of those, with a name.")                                                          \
	X("containers.made", U64, containers.made, "stoker_cgroups_made_total", NULL,              \
		"Cgroups that came.")                                                              \
	X("containers.removed", U64, containers.removed, "stoker_cgroups_removed_total", NULL,     \
		"Cgroups that went.")                                                              \
	X("containers.renamed", U64, containers.renamed, "stoker_cgroups_renamed_total", NULL,     \
		"Cgroups that were renamed.")                                                      \
	X("containers.refused", U64, containers.refused, "stoker_cgroups_refused_total", NULL,     \
		"Cgroups beyond those that are kept.")                                             \
	X("containers.rescans", U64, containers.rescans, "stoker_cgroup_rescans_total", NULL,      \
		"Times that all cgroups were looked through, for events that were lost.")          \
	X("containers.files.read", U64, containers.files.read, "stoker_runtime_files_read_total",  \
		NULL, "Files of container runtimes that were read.")                               \
	X("containers.files.damaged", U64, containers.files.damaged,                               \
		"stoker_runtime_files_damaged_total", "damaged  %llu files of container runtimes", \
		"Of those, damaged.")                                                              \
	X("containers.files.failed", U64, containers.files.failed,                                 \
		"stoker_runtime_files_failed_total", NULL,                                         \
		"Of those, over which a worker was lost.")                                         \
	X("containers.files.unread", FILES, containers.files.unread,                               \
		"stoker_runtime_files_unread_total", "refused  %llu files of container runtimes",  \
		"Files of container runtimes that could not be read.")                             \
	X("unnamed_files", NOTES, files, NULL, NULL,                                               \
		"The ten files with the most frames without a name: file, frames, reason, why in " \
		"words; build_id and advice where there are any.")                                 \
	X("tables.rows", U64, tables.rows, "stoker_unwind_rows", NULL,                             \
		"Unwind rows in the kernel.")                                                      \
	X("tables.rules", U64, tables.rules, "stoker_unwind_rules", NULL,                          \
		"Different rules of those.")                                                       \
	X("tables.page_bytes", U64, tables.bytes, "stoker_unwind_bytes", NULL,                     \
		"Memory of unwind tables.")                                                        \
	X("tables.slab_bytes", U64, tables.slabs_bytes, "stoker_unwind_budget_bytes", NULL,        \
		"Memory that unwind tables may take.")                                             \
	X("tables.pages_loaded", U64, tables.pages_loaded, "stoker_unwind_pages_loaded_total",     \
		NULL, "Pages of rows that were loaded.")                                           \
	X("tables.pages_evicted", U64, tables.pages_evicted, "stoker_unwind_pages_evicted_total",  \
		NULL, "Pages that went for others.")                                               \
	X("tables.pages_refused", U64, tables.pages_refused, "stoker_unwind_pages_refused_total",  \
		NULL, "Pages that there was no room for.")                                         \
	X("tables.rules_refused", U64, tables.rules_refused, "stoker_unwind_rules_refused_total",  \
		NULL, "Rules that there was no room for.")                                         \
	X("tables.compile_us", US, objects.table_ns, "stoker_unwind_compile_seconds_total", NULL,  \
		"Time that making rows took.")                                                     \
	X("tables.eh_frame_bytes", U64, objects.eh_frame_bytes,                                    \
		"stoker_unwind_compiled_bytes_total", NULL,                                        \
		"Bytes of CFI that were made into rows.")                                          \
	X("tables.stacks_held", U64, held.held, "stoker_stacks_held_total", NULL,                  \
		"Stacks that came before their table.")                                            \
	X("tables.stacks_finished", U64, held.finished, "stoker_stacks_finished_total", NULL,      \
		"Of those, walked when it was there.")                                             \
	X("bpf.runs", U64, sampler.runs, "stoker_bpf_runs_total", NULL,                            \
		"Runs of the BPF program.")                                                        \
	X("bpf.ns_total", NS, sampler.run_ns, "stoker_bpf_seconds_total", NULL,                    \
		"Time in the BPF program; 0 without kernel.bpf_stats_enabled.")                    \
	X("bpf.bytes_out", U64, sampler.bytes_out, "stoker_bpf_output_bytes_total", NULL,          \
		"Bytes that left the kernel.")                                                     \
	X("bpf.memory_bytes", U64, sampler.memory_bytes, "stoker_bpf_memory_bytes", NULL,          \
		"Memory of BPF maps.")                                                             \
	X("agent.cpu_s", REAL, agent_cpu_s, NULL, NULL, "CPU time of the process that samples.")   \
	X("agent.rss_max_kb", U64, agent_rss_max_kb, NULL, NULL,                                   \
		"The most resident memory that it had.")                                           \
	X("agent.start_us", US, start_ns, "stoker_start_seconds", NULL,                            \
		"From the start to the first tick.")                                               \
	X("worker.cpu_s", REAL, worker.cpu_s, NULL, NULL,                                          \
		"CPU time of the two processes that read files.")                                  \
	X("worker.rss_max_kb", U64, worker.rss_max_kb, NULL, NULL,                                 \
		"The most resident memory that they had together.")                                \
	X("worker.restarts", U64, worker.restarts, "stoker_worker_restarts_total", NULL,           \
		"Workers that were lost and replaced.")                                            \
	X("worker.refused", U64, worker.refused, "stoker_worker_refused_total", NULL,              \
		"Requests for files over which a worker was lost.")                                \
	X("worker.late", U64, worker.late, "stoker_worker_late_total", NULL,                       \
		"Requests that a worker was too busy for.")

/* Of struct account_governor, where the daemon has a CPU budget. */
#define GOVERNOR_COUNTERS(X)                                                                   \
	X("governor.hz", U32, hz, NULL, NULL,                                                  \
		"The current frequency, which the CPU budget allows.")                         \
	X("governor.hz_set", U32, hz_set, "stoker_sample_rate_asked_hertz", NULL,              \
		"Ticks a second on each CPU, as configured.")                                  \
	X("governor.allowed_ppm", PPM, allowed_ppm, NULL, NULL,                                \
		"CPU budget, in millionths of a core.")                                        \
	X("governor.cost_ppm", PPM, cost_ppm, "stoker_cpu_used_cores", NULL,                   \
		"What is held against that, of the last seconds.")                             \
	X("governor.stepped_down", U64, stepped_down, "stoker_sample_rate_stepped_down_total", \
		NULL, "Times that the rate was halved to cost less.")                          \
	X("governor.stepped_up", U64, stepped_up, "stoker_sample_rate_stepped_up_total", NULL, \
		"Times that it was doubled again.")

/* Of struct account_traps, where the daemon has traps. */
#define TRAPS_COUNTERS(X)                                                                          \
	X("traps.rules_max", U64, rules, NULL, NULL, "The most rules there were.")                 \
	X("traps.watched_max", U64, watched, NULL, NULL,                                           \
		"The most containers that rules watched at a time.")                               \
	X("traps.fired", U64, fired, "stoker_traps_fired_total", NULL, "Times that a trap fired.") \
	X("traps.refused", U64, refused, "stoker_traps_refused_total", NULL,                       \
		"Of those, given up for others that were being captured.")                         \
	X("traps.written", U64, written, "stoker_trap_bundles_written_total", NULL,                \
		"Bundles of traps that were written.")                                             \
	X("traps.failed", U64, failed, "stoker_trap_bundles_failed_total", NULL,                   \
		"Bundles of traps that could not be written.")

/* Of struct status_numbers: the daemon's own. */
#define DAEMON_COUNTERS(X)                                                                         \
	X("memory_bytes", U64, memory_bytes, "stoker_bpf_memory_budget_bytes", NULL,               \
		"Memory that BPF maps may take.")                                                  \
	X("cpu_budget", REAL, cpu_budget, "stoker_cpu_budget_cores", NULL,                         \
		"Above it the rate steps down.")                                                   \
	X("interval_s", REAL, interval_s, "stoker_interval_seconds", NULL,                         \
		"Length of an interval.")                                                          \
	X("written_age_s", REAL, written_age_s, "stoker_interval_written_age_seconds", NULL,       \
		"Time since an interval was written.")                                             \
	X("cpu_s.agent", REAL, cpu_s.agent, "stoker_cpu_seconds_total{process=\"agent\"}", NULL,   \
		"CPU time that stoker took itself.")                                               \
	X("cpu_s.worker", REAL, cpu_s.worker, "stoker_cpu_seconds_total{process=\"worker\"}",      \
		NULL, "CPU time that stoker took itself.")                                         \
	X("cpu_s.keeper", REAL, cpu_s.keeper, "stoker_cpu_seconds_total{process=\"keeper\"}",      \
		NULL, "CPU time that stoker took itself.")                                         \
	X("cpu_s.http", REAL, cpu_s.http, "stoker_cpu_seconds_total{process=\"http\"}", NULL,      \
		"CPU time that stoker took itself.")                                               \
	X("cpu_s.capture", REAL, cpu_s.capture, "stoker_cpu_seconds_total{process=\"capture\"}",   \
		NULL, "CPU time that stoker took itself.")                                         \
	X("rss_bytes.agent", U64, rss_bytes.agent,                                                 \
		"stoker_resident_memory_bytes{process=\"agent\"}", NULL,                           \
		"Resident memory of stoker's own processes.")                                      \
	X("rss_bytes.keeper", U64, rss_bytes.keeper,                                               \
		"stoker_resident_memory_bytes{process=\"keeper\"}", NULL,                          \
		"Resident memory of stoker's own processes.")                                      \
	X("rss_bytes.http", U64, rss_bytes.http, "stoker_resident_memory_bytes{process=\"http\"}", \
		NULL, "Resident memory of stoker's own processes.")                                \
	X("rss_max_bytes.agent", U64, rss_max_bytes.agent,                                         \
		"stoker_resident_memory_max_bytes{process=\"agent\"}", NULL,                       \
		"The most that it was.")                                                           \
	X("rss_max_bytes.worker", U64, rss_max_bytes.worker,                                       \
		"stoker_resident_memory_max_bytes{process=\"worker\"}", NULL,                      \
		"The most that it was.")                                                           \
	X("store.segments", U64, store.segments, "stoker_store_segments", NULL,                    \
		"Profiles in the store.")                                                          \
	X("store.bytes", U64, store.bytes, "stoker_store_bytes", NULL, "Bytes of those.")          \
	X("store.bytes_max", U64, bytes_max, "stoker_store_budget_bytes", NULL,                    \
		"Above it the oldest go.")                                                         \
	X("store.oldest_age_s", REAL, oldest_age_s, "stoker_store_oldest_age_seconds", NULL,       \
		"Age of the oldest profile.")                                                      \
	X("store.newest_age_s", REAL, newest_age_s, "stoker_store_newest_age_seconds", NULL,       \
		"Age of the newest profile.")                                                      \
	X("store.written", U64, store.written, "stoker_store_written_total", NULL,                 \
		"Intervals that were written.")                                                    \
	X("store.failed", U64, store.failed, "stoker_store_failed_total", NULL,                    \
		"Intervals that were not.")                                                        \
	X("store.expired", U64, store.expired, "stoker_store_expired_total", NULL,                 \
		"Profiles that went for age or room.")                                             \
	X("store.compacted", U64, store.compacted, "stoker_store_compacted_total", NULL,           \
		"Profiles that became part of an hour.")                                           \
	X("store.damaged", U64, store.damaged, "stoker_store_damaged_total", NULL,                 \
		"Files that were damaged and set aside.")                                          \
	X("store.error", TEXT, error, NULL, NULL,                                                  \
		"Why the last interval was not written; empty if it was.")                         \
	X("captures.running", U64, captures.running, "stoker_captures_running", NULL,              \
		"Captures on demand, now.")                                                        \
	X("captures.started", U64, captures.started, "stoker_captures_started_total", NULL,        \
		"Captures on demand.")                                                             \
	X("captures.done", U64, captures.done, "stoker_captures_done_total", NULL,                 \
		"Of those, done.")                                                                 \
	X("captures.failed", U64, captures.failed, "stoker_captures_failed_total", NULL,           \
		"Of those, failed or given up.")                                                   \
	X("captures.refused", U64, captures.refused, "stoker_captures_refused_total", NULL,        \
		"Captures that were refused, for being too many.")                                 \
	X("http.restarts", U64, http.restarts, "stoker_http_restarts_total", NULL,                 \
		"Times that the process that serves HTTP was lost.")                               \
	X("http.refused", U64, http.refused, "stoker_http_messages_refused_total", NULL,           \
		"Times that the daemon did not take what that process said.")
