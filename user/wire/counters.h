/* SPDX-License-Identifier: Apache-2.0 */
/* wire/counters.h - every number of the account and of the daemon's status, once. The JSON, the
 * lines that are printed, the Prometheus metrics and stoker-account(5) are made from these rows:
 *     X(place, type, field, metric, text, help)
 * place: the key in the JSON, '.' between the names of objects inside each other.
 * type: COUNTER_type of wire/counter.h: how the field becomes JSON and a metric.
 * field: of the list's struct, which its owner has: http/ reads places alone.
 * metric: its name, and its label where it is one of a family that rows share; a counter ends with
 *     _total, others are gauges. NULL: none.
 * text: the line of the printed account where the number is not 0; agent/account.c prints the
 *     lines of a part of the account together. NULL: not in the account,
 *     or its line there is written by hand.
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
	X(NAME_JITDUMP, "jitdump")       \
	X(NAME_CODE, "code")

#define NAME_SOURCE_ID(id, name) id,
enum name_source { NAME_SOURCES(NAME_SOURCE_ID) NAME_SOURCES_LEN };
#undef NAME_SOURCE_ID

/* Why a worker was lost, and replaced. */
#define WORKER_LOSSES(X)                                                                     \
	X(LANE_ENDED, "ended", "it died or exited")                                          \
	X(LANE_KILLED, "killed", "SIGKILL from outside, such as the out-of-memory killer's") \
	X(LANE_HUNG, "hung", "it took too long")                                             \
	X(LANE_BAD_REPLY, "bad_reply", "it sent an unexpected reply")                        \
	X(LANE_DROPPED, "dropped",                                                           \
		"stoker ended it, mostly because it had grown; its request is not to blame")

#define WORKER_LOSS_ID(id, name, text) id,
enum lane_cause { WORKER_LOSSES(WORKER_LOSS_ID) LANE_CAUSES };
#undef WORKER_LOSS_ID

/* Of struct account. */
#define ACCOUNT_COUNTERS(X)                                                                        \
	X("duration_s", REAL, duration_s, "stoker_sampling_seconds_total", NULL,                   \
		"Seconds that were sampled.")                                                      \
	X("hz", U32, hz, "stoker_sample_rate_hertz", NULL, "Current sampling frequency, in Hz.")   \
	X("cpus", U32, sampler.cpus, "stoker_cpus", NULL, "CPUs that are sampled.")                \
	X("ticks.expected", U64, sampler.expected, "stoker_ticks_expected_total", NULL,            \
		"Ticks that were due while the clocks ran: samples + idle + skipped + lost.")      \
	X("ticks.samples", U64, sampler.samples, "stoker_samples_total", NULL,                     \
		"Ticks that became a sample.")                                                     \
	X("ticks.idle", U64, sampler.idle, "stoker_ticks_idle_total", NULL,                        \
		"Ticks of an idle CPU.")                                                           \
	X("ticks.filtered", U64, sampler.filtered, "stoker_ticks_filtered_total", NULL,            \
		"Ticks of tasks outside the target; no part of the expected ticks.")               \
	X("ticks.stolen", U64, sampler.stolen, "stoker_ticks_stolen_total", NULL,                  \
		"Ticks that were due while the hypervisor ran something else; most of them are "   \
		"skipped.")                                                                        \
	X("ticks.skipped", U64, sampler.skipped, "stoker_ticks_skipped_total", NULL,               \
		"Ticks that the kernel did not deliver, because a timer was late by whole "        \
		"periods; for a target by cgroup the difference to the expected ones.")            \
	X("ticks.lost", LOST, sampler.lost, "stoker_ticks_lost_total", NULL,                       \
		"Ticks that became neither a sample nor idle time.")                               \
	X("tick_time.ns_total", NS, sampler.took_ns, "stoker_tick_seconds_total", NULL,            \
		"Time that the ticks of samples took.")                                            \
	X("tick_time.whole.longest_us", US, sampler.times[TICK_WHOLE].longest_ns,                  \
		"stoker_tick_longest_seconds{part=\"whole\"}", NULL,                               \
		"Longest time that a sample's tick took, with the time in which the hypervisor "   \
		"took its CPU (ticks.stolen).")                                                    \
	X("tick_time.kernel.longest_us", US, sampler.times[TICK_KERNEL].longest_ns,                \
		"stoker_tick_longest_seconds{part=\"kernel\"}", NULL,                              \
		"Longest time of a tick up to the end of its kernel half.")                        \
	X("tick_time.user.longest_us", US, sampler.times[TICK_USER].longest_ns,                    \
		"stoker_tick_longest_seconds{part=\"user\"}", NULL,                                \
		"Longest time of a tick after its kernel half: user half, copies, sending.")       \
	X("tick_time.whole.p999_us", US, sampler.times[TICK_WHOLE].p999_ns,                        \
		"stoker_tick_p999_seconds{part=\"whole\"}", NULL,                                  \
		"Time within which 99.9 % of the samples' ticks ended, rounded up by 12.5 % at "   \
		"most.")                                                                           \
	X("tick_time.kernel.p999_us", US, sampler.times[TICK_KERNEL].p999_ns,                      \
		"stoker_tick_p999_seconds{part=\"kernel\"}", NULL,                                 \
		"Time within which the kernel half had ended in 99.9 % of the ticks that had a "   \
		"kernel stack; ticks without one are not counted here.")                           \
	X("tick_time.user.p999_us", US, sampler.times[TICK_USER].p999_ns,                          \
		"stoker_tick_p999_seconds{part=\"user\"}", NULL,                                   \
		"Time within which 99.9 % of the ticks ended after their kernel half.")            \
	X("events.lost", EVENTS, sampler.events_lost, "stoker_events_lost_total",                  \
		"events   %llu lost: no room in the ring buffer, or memory was short",             \
		"Events that were lost: the ring buffer (for a deferred sample half of it) or an " \
		"account's share was full, or memory was short. The kinds who and held are "       \
		"deprecated: they are task and deferred.")                                         \
	X("targets.lost", TARGETS, sampler.targets_lost, "stoker_targets_lost_total",              \
		"targets  the table of targets was full %llu times",                               \
		"Times that a cgroup or process of the target did not fit into the table of "      \
		"targets; a process is counted again at each of its ticks.")                       \
	X("user_stacks.total", U64, stacks_total, "stoker_user_stacks_total", NULL,                \
		"Samples with a user stack.")                                                      \
	X("user_stacks.complete", U64, stacks_complete, "stoker_user_stacks_complete_total", NULL, \
		"User stacks that were walked to the outermost frame, each step proven.")          \
	X("user_stacks.guessed", U64, stacks_guessed, "stoker_user_stacks_guessed_total", NULL,    \
		"User stacks that reach the outermost frame, with a step that nothing proves.")    \
	X("user_stacks.truncated", ENDS, stacks_truncated, "stoker_user_stacks_truncated_total",   \
		NULL, "User stacks that were cut.")                                                \
	X("user_stacks.calls_checked", U64, calls_checked, "stoker_calls_checked_total", NULL,     \
		"Different pairs of caller and callee on guessed stacks whose call was checked.")  \
	X("user_stacks.calls_impossible", U64, calls_impossible, "stoker_calls_impossible_total",  \
		NULL, "Pairs of frames without a call, or with one that leads elsewhere.")         \
	X("user_stacks.calls_unchecked", U64, calls_unchecked, "stoker_calls_unchecked_total",     \
		NULL,                                                                              \
		"Pairs that were not checked: the file was gone, no worker was ready, or "         \
		"there were too many.")                                                            \
	X("frames.total", U64, frames_total, "stoker_frames_total", NULL,                          \
		"Frames of all samples, without inlined ones.")                                    \
	X("frames.named", U64, frames_named, "stoker_frames_named_total", NULL,                    \
		"Frames with a name.")                                                             \
	X("frames.inlined", U64, frames_inlined, NULL,                                             \
		"inlined  %llu frames of inlined functions",                                       \
		"Frames of inlined functions; no part of the total.")                              \
	X("frames.lines_given_up", U64, worker.lines_given_up, NULL,                               \
		"lines    %llu places have no source lines, because reading them took too long",   \
		"Places without source lines and inlined functions, because reading them took "    \
		"too long.")                                                                       \
	X("frames.names_cut", U64, names_cut, "stoker_frames_names_cut_total",                     \
		"names    %llu were cut, because the profile had too much text",                   \
		"Names that were cut because the profile had too much text.")                      \
	X("frames.left_out", U64, samples_left_out, "stoker_samples_left_out_total",               \
		"left out %llu samples, as their containers had more text than their share",       \
		"Samples without their stacks, because their container had more text than its "    \
		"share of an interval.")                                                           \
	X("frames.by_source", SOURCES, frames_by_source, "stoker_frames_named_by_source_total",    \
		NULL, "Frames with a name, by the source of the name.")                            \
	X("frames.unnamed", UNNAMED, frames_unnamed, "stoker_frames_unnamed_total", NULL,          \
		"Frames without a name.")                                                          \
	X("objects.met", U64, objects.met, "stoker_objects_met_total", NULL,                       \
		"Mapped files that were met, also those that were forgotten.")                     \
	X("objects.known", U64, objects.met, "stoker_objects", NULL,                               \
		"Deprecated: the same as objects.met, as a gauge.")                                \
	X("objects.forgotten", U64, objects.forgotten, "stoker_objects_forgotten_total", NULL,     \
		"Mapped files that were forgotten to make room for others.")                       \
	X("objects.evicted", U64, objects.evicted, "stoker_objects_evicted_total", NULL,           \
		"Mapped files whose places went to containers that have fewer; they are counted "  \
		"as forgotten, too.")                                                              \
	X("objects.late", U64, objects.late, "stoker_objects_late_total", NULL,                    \
		"New files, and pages, refused because those of their container took much CPU "    \
		"time lately.")  \
	X("objects.tables", U64, tables.tables, NULL, NULL, "Mapped files with an unwind table.")  \
	X("objects.table_bytes", U64, tables.bytes, NULL, NULL, "The same as tables.page_bytes.")  \
	X("objects.symbol_loads", U64, worker.symbol_loads, "stoker_symbol_loads_total", NULL,     \
		"Symbol tables that were loaded.")                                                 \
	X("objects.symbol_bytes", U64, worker.kept_bytes, "stoker_symbol_bytes", NULL,             \
		"Memory of the loaded symbols.")                                                   \
	X("objects.symbol_load_us", US, worker.symbol_ns, "stoker_symbol_load_seconds_total",      \
		NULL, "Time that loading symbols took.")                                           \
	X("objects.failed", OBJECTS, objects.failed, "stoker_objects_failed_total", NULL,          \
		"Mapped files that could not be used.")                                            \
	X("objects.openers_given_up", U64, worker.openers_given_up,                                \
		"stoker_openers_given_up_total",                                                   \
		"openers  %llu given up: a file system did not answer",                            \
		"Openers that were given up, because a file system did not answer.")               \
	X("objects.maps_refused", FILES, maps_refused, "stoker_perf_maps_refused_total",           \
		"maps     %llu perf maps were not read",                                           \
		"Perf maps of processes that exist and were not read.")                            \
	X("jit.on_max", U64, jit.on, "stoker_perf_maps_on", NULL,                                  \
		"Processes that stoker made write perf maps, and that live.")                      \
	X("jit.asked", U64, jit.asked, "stoker_perf_maps_asked_total", NULL,                       \
		"Processes that stoker asked to write perf maps.")                                 \
	X("jit.failed", U64, jit.failed, "stoker_perf_maps_failed_total",                          \
		"jit      %llu processes did not switch their perf maps on",                       \
		"Of these: no runtime that can, or it refused.")                                   \
	X("jit.hung", U64, jit.hung, "stoker_perf_maps_hung_total",                                \
		"jit      %llu runtimes did not answer in time",                                   \
		"Times that a runtime did not answer in time.")                                    \
	X("jit.limited", U64, jit.limited, "stoker_perf_maps_limited_total",                       \
		"jit      %llu processes were not asked, by the share of their containers",        \
		"Processes that were not asked for perf maps, as those of their container are "    \
		"many, took long or did not answer.")                                              \
	X("jit.unnoted", U64, jit.unnoted, "stoker_perf_maps_unnoted_total",                       \
		"jit      %llu processes were not asked, because no note of it could be written",  \
		"Processes that were not asked for perf maps, because no note could be written.")  \
	X("jit.left", U64, jit.left, "stoker_perf_maps_left_total", NULL,                          \
		"Processes whose perf maps a stoker that was killed had left on, and that were "   \
		"switched off at the start.")                                                      \
	X("threads.refused", U64, threads_refused, "stoker_threads_refused_total", NULL,           \
		"Threads at visits for whose times there was no room.")                            \
	X("wall.visits", U64, walls.visits, "stoker_wall_visits_total", NULL,                      \
		"Visits to the threads of the target, of -e wall.")                                \
	X("wall.hz", REAL, walls.hz, "stoker_wall_rate_hertz", NULL,                               \
		"Rate of the latest visits, in Hz: less where they would take too much of a CPU.") \
	X("wall.threads", U64, walls.threads, "stoker_wall_threads_total", NULL,                   \
		"Threads that were visited, added up.")                                            \
	X("wall.refused", U64, walls.refused, "stoker_wall_refused_total",                         \
		"wall     %llu threads at visits found no room: their waits are missing",          \
		"Threads at visits for which there was no room: their waits are missing.")         \
	X("wall.unwalked", U64, walls.unwalked, "stoker_wall_unwalked_total", NULL,                \
		"Stacks at visits that were not walked: their container's time was over.")         \
	X("wall.waiting_ns", U64, walls.waiting_ns, NULL, NULL,                                    \
		"Time that threads waited in stacks that are known.")                              \
	X("wall.lost_ns", U64, walls.lost_ns, NULL, NULL,                                          \
		"Time that threads waited in stacks for which there was no time or no room.")      \
	X("wall.stacks", U64, waits_total, "stoker_wall_stacks_total", NULL,                       \
		"Stacks of threads that wait, with a user half, one for each visit.")              \
	X("wall.complete", U64, waits_complete, "stoker_wall_complete_total", NULL,                \
		"Those of wall.stacks whose root was reached.")                                    \
	X("wall.cpu_ns", U64, walls.cpu_ns, NULL, NULL,                                            \
		"CPU time of the visits, with what the agent makes of them.")                      \
	X("java.read", U64, java.read, "stoker_java_codes_read_total", NULL,                       \
		"Codes of HotSpot whose inlined methods and lines were read.")                     \
	X("java.changed", U64, java.changed, "stoker_java_codes_changed_total", NULL,              \
		"Codes of HotSpot that were gone when they were read: they have a name alone.")    \
	X("java.refused", U64, java.refused, "stoker_java_codes_refused_total",                    \
		"java     %llu codes without lines: their containers had their share",           \
		"Codes of HotSpot that were not read, as their container had its share of time "   \
		"or memory, or too many waited.")                                                  \
	X("java.failed", U64, java.failed, "stoker_java_codes_failed_total",                       \
		"java     %llu codes without lines: they could not be read",                     \
		"Codes of HotSpot that could not be read.")                                        \
	X("java.undescribed", U64, java_undescribed, "stoker_java_undescribed_total",              \
		"java     %llu JVMs without names: their containers had their share of places",  \
		"Times that a JVM found no place for its description: its functions have no "      \
		"names.")                                                                          \
	X("languages.files_used", U64, languages.files_used, "stoker_language_tables_used", NULL,  \
		"Files with tables of language runtimes that are used (stoker-tables(5)).")        \
	X("languages.files_refused", U64, languages.files_refused,                                 \
		"stoker_language_tables_refused", NULL,                                            \
		"Files in their folder that are not used; `stoker doctor` says why.")              \
	X("languages.tried", U64, languages.tried, "stoker_languages_tried_total", NULL,           \
		"Files of runtimes for which a file has a table, which a process is to confirm: "  \
		"their frames are native until then.")                                             \
	X("languages.checked", U64, languages.checked, "stoker_languages_checked_total", NULL,     \
		"Files of runtimes whose table is a file's, and was right for a process.")         \
	X("languages.unknown", U64, languages.unknown, "stoker_languages_unknown_total", NULL,     \
		"Files of runtimes of versions without a table: their frames are native.")         \
	X("languages.wrong", U64, languages.wrong, "stoker_languages_wrong_total",                 \
		"tables   %llu runtimes do not look in memory as the table in a file says: their " \
		"frames are native; see `stoker doctor` for the file, and remove it",              \
		"Files of runtimes for which a file's table is wrong: their frames are native.")   \
	X("debug_files.found", U64, objects.debug_found, "stoker_debug_files_found", NULL,         \
		"Separate debug files that were found.")                                           \
	X("debug_files.used", U64, objects.debug_used, "stoker_debug_files_used", NULL,            \
		"Separate debug files that were used.")                                            \
	X("debug_files.refused", DEBUG, objects.debug_refused, "stoker_debug_files_refused_total", \
		NULL, "Separate debug files that do not belong to their file.")                    \
	X("debug_files.refused_files", NOTES, files, NULL, NULL,                                   \
		"The first ten refused debug files: file, debug_file, reason, and why in words.")  \
	X("debug_files.unread", FILES, objects.debug_unread, "stoker_debug_files_unread_total",    \
		"debug    %llu debug files were not read",                                         \
		"Separate debug files that exist and could not be opened.")                        \
	X("debuginfod.asked", U64, objects.fetch.asked, "stoker_debuginfod_asked_total", NULL,     \
		"Debug files that were requested from debuginfod servers.")                        \
	X("debuginfod.fetched", U64, objects.fetch.fetched, "stoker_debuginfod_fetched_total",     \
		NULL, "Debug files that debuginfod servers sent.")                                 \
	X("debuginfod.bytes", U64, objects.fetch.bytes, "stoker_debuginfod_bytes_total", NULL,     \
		"Bytes that debuginfod servers sent.")                                             \
	X("debuginfod.failed", FETCH, objects.fetch.failed, "stoker_debuginfod_failed_total",      \
		NULL, "Debug files that no debuginfod server sent.")                               \
	X("containers.cgroups", U64, containers.cgroups, "stoker_cgroups", NULL,                   \
		"Cgroups that are known now.")                                                     \
	X("containers.containers", U64, containers.containers, "stoker_containers", NULL,          \
		"Cgroups that are containers.")                                                    \
	X("containers.named", U64, containers.named, "stoker_containers_named", NULL,              \
		"Containers with a name.")                                                         \
	X("containers.made", U64, containers.made, "stoker_cgroups_made_total", NULL,              \
		"Cgroups that were created.")                                                      \
	X("containers.removed", U64, containers.removed, "stoker_cgroups_removed_total", NULL,     \
		"Cgroups that were removed.")                                                      \
	X("containers.renamed", U64, containers.renamed, "stoker_cgroups_renamed_total", NULL,     \
		"Cgroups that were renamed.")                                                      \
	X("containers.refused", U64, containers.refused, "stoker_cgroups_refused_total", NULL,     \
		"Cgroups that found no place in the table of cgroups, or gave it up: they "        \
		"have no name.")             \
	X("containers.rescans", U64, containers.rescans, "stoker_cgroup_rescans_total", NULL,      \
		"Times that all cgroups were read again because events of some were lost.")        \
	X("containers.postponed", U64, containers.postponed,                                       \
		"stoker_container_searches_postponed_total", NULL,                                 \
		"Look-ups of a container's name that wait, as those of its account took long.")    \
	X("containers.files.read", U64, containers.files.read, "stoker_runtime_files_read_total",  \
		NULL, "Files of container runtimes that were read.")                               \
	X("containers.files.damaged", U64, containers.files.damaged,                               \
		"stoker_runtime_files_damaged_total", "damaged  %llu files of container runtimes", \
		"Files of container runtimes that were damaged.")                                  \
	X("containers.files.failed", U64, containers.files.failed,                                 \
		"stoker_runtime_files_failed_total", NULL,                                         \
		"Files of container runtimes that a worker did not finish.")                       \
	X("containers.files.other_pod", U64, containers.files.other_pod,                           \
		"stoker_runtime_files_other_pod_total",                                            \
		"pods     %llu files of container runtimes were not used, because they name "      \
		"another pod than the container's cgroup",                                         \
		"Files of container runtimes whose keys are of another pod.")                      \
	X("containers.files.unread", FILES, containers.files.unread,                               \
		"stoker_runtime_files_unread_total",                                               \
		"runtimes %llu files of container runtimes were not read",                         \
		"Files of container runtimes that exist and could not be opened.")                 \
	X("unnamed_files", NOTES, files, NULL, NULL,                                               \
		"The ten files with the most frames without a name: file, frames, reason, and "    \
		"why in words; build_id and advice where there are any.")                          \
	X("tables.rows", U64, tables.rows, "stoker_unwind_rows", NULL,                             \
		"Unwind rows in kernel memory.")                                                   \
	X("tables.rules", U64, tables.rules, "stoker_unwind_rules", NULL,                          \
		"Different rules of the unwind rows.")                                             \
	X("tables.page_bytes", U64, tables.bytes, "stoker_unwind_bytes", NULL,                     \
		"Kernel memory of the unwind rows.")                                               \
	X("tables.slab_bytes", U64, tables.slabs_bytes, "stoker_unwind_budget_bytes", NULL,        \
		"Kernel memory that is set aside for unwind rows.")                                \
	X("tables.pages_loaded", U64, tables.pages_loaded, "stoker_unwind_pages_loaded_total",     \
		NULL, "Pages of unwind rows that were loaded into kernel memory.")                 \
	X("tables.pages_evicted", U64, tables.pages_evicted, "stoker_unwind_pages_evicted_total",  \
		NULL, "Pages of unwind rows that were removed to make room for others.")           \
	X("tables.pages_refused", U64, tables.pages_refused, "stoker_unwind_pages_refused_total",  \
		NULL, "Pages of unwind rows that did not fit.")                                    \
	X("tables.tables_refused", U64, tables.tables_refused,                                     \
		"stoker_unwind_tables_refused_total", NULL,                                        \
		"Unwind tables that did not fit: no room for page numbers, or no memory.")         \
	X("tables.tables_evicted", U64, tables.tables_evicted,                                     \
		"stoker_unwind_tables_evicted_total", NULL,                                        \
		"Tables that gave their page numbers to those of containers that hold less.")      \
	X("tables.rules_refused", U64, tables.rules_refused, "stoker_unwind_rules_refused_total",  \
		NULL, "Unwind rules that did not fit, counted for each table that has them.")      \
	X("tables.languages_refused", U64, tables.languages_refused,                               \
		"stoker_languages_refused_total", NULL,                                            \
		"Language runtimes whose frames are native, as there was no room for more.")       \
	X("tables.compile_us", US, objects.table_ns, "stoker_unwind_compile_seconds_total", NULL,  \
		"CPU time that making unwind tables took.")                                        \
	X("tables.eh_frame_bytes", U64, objects.eh_frame_bytes,                                    \
		"stoker_unwind_compiled_bytes_total", NULL,                                        \
		"Bytes of CFI that unwind tables were made from.")                                 \
	X("tables.stacks_deferred", U64, deferred.deferred, "stoker_stacks_deferred_total", NULL,  \
		"Samples that came before an unwind table of theirs was ready.")                   \
	X("tables.stacks_held", U64, deferred.deferred, "stoker_stacks_held_total", NULL,          \
		"Deprecated: the same as tables.stacks_deferred.")                                 \
	X("tables.stacks_finished", U64, deferred.finished, "stoker_stacks_finished_total", NULL,  \
		"Deferred samples whose walk ended for a reason other than the missing table.")    \
	X("tables.stacks_crowded", U64, deferred.crowded, "stoker_stacks_crowded_total", NULL,     \
		"Deferred samples that were given up because those of their container took too "   \
		"much room.")                                                                      \
	X("bpf.runs", U64, sampler.runs, "stoker_bpf_runs_total", NULL,                            \
		"Runs of the BPF program.")                                                        \
	X("bpf.ns_total", NS, sampler.run_ns, "stoker_bpf_seconds_total", NULL,                    \
		"Time in the BPF program; 0 unless the sysctl kernel.bpf_stats_enabled is set.")   \
	X("bpf.bytes_out", U64, sampler.bytes_out, "stoker_bpf_output_bytes_total", NULL,          \
		"Bytes that left the kernel.")                                                     \
	X("bpf.memory_bytes", U64, sampler.memory_bytes, "stoker_bpf_memory_bytes", NULL,          \
		"Memory of all BPF maps.")                                                         \
	X("agent.cpu_s", REAL, agent_cpu_s, NULL, NULL,                                            \
		"CPU time of the process that samples, in seconds.")                               \
	X("agent.rss_max_kb", U64, agent_rss_max_kb, NULL, NULL,                                   \
		"Largest resident memory of the process that samples, in KiB.")                    \
	X("agent.start_us", US, start_ns, "stoker_start_seconds", NULL,                            \
		"Time from the start to the first tick.")                                          \
	X("worker.cpu_s", REAL, worker.cpu_s, NULL, NULL,                                          \
		"CPU time of the processes that open and read files, in seconds.")                 \
	X("worker.rss_max_kb", U64, worker.rss_max_kb, NULL, NULL,                                 \
		"Largest resident memory of the processes that read files, together, in KiB.")     \
	X("worker.restarts", U64, worker.restarts, "stoker_worker_restarts_total", NULL,           \
		"Workers that were lost and replaced.")                                            \
	X("worker.lost", WORKERS, worker.lost, "stoker_worker_lost_total", NULL,                   \
		"Workers that were lost, by reason.")                                              \
	X("worker.refused", U64, worker.refused, "stoker_worker_refused_total", NULL,              \
		"Requests that were not made because one like it had cost a worker.")              \
	X("worker.late", U64, worker.late, "stoker_worker_late_total", NULL,                       \
		"Requests whose answer was not waited for: names of that interval are "            \
		"missing.")                                                                        \
	X("worker.unsent", U64, worker.unsent, "stoker_worker_unsent_total", NULL,                 \
		"Descriptors that could not be sent at once, because processes of the same user "  \
		"had too many in flight on unix sockets.")                                         \
	X("worker.stopped", U64, worker.stopped, "stoker_worker_stopped_total", NULL,              \
		"Times that a process that opens or reads files, or starts these, was found "      \
		"stopped by a signal, and continued.")

/* Of struct account_governor, where the daemon has a CPU budget. */
#define GOVERNOR_COUNTERS(X)                                                                   \
	X("governor.hz", U32, hz, NULL, NULL,                                                  \
		"Current sampling frequency, in Hz, that the CPU budget allows.")              \
	X("governor.hz_set", U32, hz_set, "stoker_sample_rate_asked_hertz", NULL,              \
		"Configured sampling frequency, in Hz.")                                       \
	X("governor.allowed_ppm", PPM, allowed_ppm, NULL, NULL,                                \
		"CPU budget, in millionths of a core: of each CPU for ticks, and of one core " \
		"for all the rest.")                                                           \
	X("governor.cost_ppm", PPM, cost_ppm, "stoker_cpu_used_cores", NULL,                   \
		"CPU that stoker's processes took of their budget, over the latest seconds.")  \
	X("governor.ticks_ppm", PPM, ticks_ppm, "stoker_tick_cpu_used_cores", NULL,            \
		"CPU that ticks took on the CPU where they took most, over the latest seconds.") \
	X("governor.limited_max", U32, limited, "stoker_tick_limited_accounts", NULL,          \
		"Containers and users whose stacks are cut sooner, because their ticks took "  \
		"more than their share of the time.")                                          \
	X("governor.stepped_down", U64, stepped_down, "stoker_sample_rate_stepped_down_total", \
		NULL, "Times that the frequency was halved to cost less.")                     \
	X("governor.stepped_up", U64, stepped_up, "stoker_sample_rate_stepped_up_total", NULL, \
		"Times that the frequency was doubled again.")

/* Of struct account_traps, where the daemon has traps. */
#define TRAPS_COUNTERS(X)                                                                          \
	X("traps.rules_max", U64, rules, NULL, NULL, "Rules of the configuration.")                \
	X("traps.watched_max", U64, watched, NULL, NULL, "Cgroups that the rules watch.")          \
	X("traps.fired", U64, fired, "stoker_traps_fired_total", NULL, "Times that a trap fired.") \
	X("traps.refused", U64, refused, "stoker_traps_refused_total", NULL,                       \
		"Times that a trap fired and nothing was captured, because others were being "     \
		"captured.")                                                                       \
	X("traps.written", U64, written, "stoker_trap_bundles_written_total", NULL,                \
		"Bundles of traps that were written.")                                             \
	X("traps.failed", U64, failed, "stoker_trap_bundles_failed_total", NULL,                   \
		"Bundles of traps that could not be written.")

/* Of struct status_numbers: the daemon's own. */
#define DAEMON_COUNTERS(X)                                                                         \
	X("memory_bytes", U64, memory_bytes, "stoker_bpf_memory_budget_bytes", NULL,               \
		"Memory that BPF maps may take.")                                                  \
	X("cpu_budget", REAL, cpu_budget, "stoker_cpu_budget_cores", NULL,                         \
		"CPU budget, in cores: of each CPU for ticks, and of one core for all the rest; "  \
		"above it the frequency steps down.")                                              \
	X("sampling", U64, sampling, "stoker_sampling", NULL,                                      \
		"1 while the daemon samples, 0 while it is idle by order.")                        \
	X("idle", TEXT, idle, NULL, NULL, "Why nothing is sampled; empty if it is.")               \
	X("interval_s", REAL, interval_s, "stoker_interval_seconds", NULL,                         \
		"Length of an interval.")                                                          \
	X("written_age_s", REAL, written_age_s, "stoker_interval_written_age_seconds", NULL,       \
		"Time since an interval was written.")                                             \
	X("cpu_s.agent", REAL, cpu_s.agent, "stoker_cpu_seconds_total{process=\"agent\"}", NULL,   \
		"CPU time of stoker's processes; agent is the one that samples.")                  \
	X("cpu_s.worker", REAL, cpu_s.worker, "stoker_cpu_seconds_total{process=\"worker\"}",      \
		NULL, "CPU time of the workers.")                                                  \
	X("cpu_s.keeper", REAL, cpu_s.keeper, "stoker_cpu_seconds_total{process=\"keeper\"}",      \
		NULL, "CPU time of the process that writes the store.")                            \
	X("cpu_s.http", REAL, cpu_s.http, "stoker_cpu_seconds_total{process=\"http\"}", NULL,      \
		"CPU time of the process that serves HTTP.")                                       \
	X("cpu_s.capture", REAL, cpu_s.capture, "stoker_cpu_seconds_total{process=\"capture\"}",   \
		NULL, "CPU time of captures on demand that have ended.")                           \
	X("rss_bytes.agent", U64, rss_bytes.agent,                                                 \
		"stoker_resident_memory_bytes{process=\"agent\"}", NULL,                           \
		"Resident memory of stoker's processes; agent is the one that samples.")           \
	X("rss_bytes.keeper", U64, rss_bytes.keeper,                                               \
		"stoker_resident_memory_bytes{process=\"keeper\"}", NULL,                          \
		"Resident memory of the process that writes the store.")                           \
	X("rss_bytes.http", U64, rss_bytes.http, "stoker_resident_memory_bytes{process=\"http\"}", \
		NULL, "Resident memory of the process that serves HTTP.")                          \
	X("rss_max_bytes.agent", U64, rss_max_bytes.agent,                                         \
		"stoker_resident_memory_max_bytes{process=\"agent\"}", NULL,                       \
		"Largest resident memory of stoker's processes; agent is the one that samples.")   \
	X("rss_max_bytes.worker", U64, rss_max_bytes.worker,                                       \
		"stoker_resident_memory_max_bytes{process=\"worker\"}", NULL,                      \
		"Largest resident memory of the workers, together.")                               \
	X("store.segments", U64, store.segments, "stoker_store_segments", NULL,                    \
		"Segments in the store.")                                                          \
	X("store.bytes", U64, store.bytes, "stoker_store_bytes", NULL,                             \
		"Bytes of the segments in the store.")                                             \
	X("store.bytes_max", U64, bytes_max, "stoker_store_budget_bytes", NULL,                    \
		"Bytes that the store may have; above it the oldest segments are removed.")        \
	X("store.oldest_age_s", REAL, oldest_age_s, "stoker_store_oldest_age_seconds", NULL,       \
		"Age of the oldest segment.")                                                      \
	X("store.newest_age_s", REAL, newest_age_s, "stoker_store_newest_age_seconds", NULL,       \
		"Age of the newest segment.")                                                      \
	X("store.written", U64, store.written, "stoker_store_written_total", NULL,                 \
		"Intervals that were written to the store.")                                       \
	X("store.failed", U64, store.failed, "stoker_store_failed_total", NULL,                    \
		"Intervals that could not be written to the store.")                               \
	X("store.expired", U64, store.expired, "stoker_store_expired_total", NULL,                 \
		"Segments that were removed for their age or to make room.")                       \
	X("store.compacted", U64, store.compacted, "stoker_store_compacted_total", NULL,           \
		"Segments that were merged into one of an hour.")                                  \
	X("store.damaged", U64, store.damaged, "stoker_store_damaged_total", NULL,                 \
		"Damaged files of the store that were set aside.")                                 \
	X("store.error", TEXT, error, NULL, NULL,                                                  \
		"Why the latest interval was not written; empty if it was.")                       \
	X("captures.running", U64, captures.running, "stoker_captures_running", NULL,              \
		"Captures on demand that run now.")                                                \
	X("captures.started", U64, captures.started, "stoker_captures_started_total", NULL,        \
		"Captures on demand that were started: running, done, failed or not found.")       \
	X("captures.done", U64, captures.done, "stoker_captures_done_total", NULL,                 \
		"Captures on demand that succeeded.")                                              \
	X("captures.failed", U64, captures.failed, "stoker_captures_failed_total", NULL,           \
		"Captures on demand that failed or were cancelled.")                               \
	X("captures.not_found", U64, captures.not_found, "stoker_captures_not_found_total", NULL,  \
		"Captures on demand whose target was not found, or was more than one; nothing "    \
		"was sampled.")                                                                    \
	X("captures.refused", U64, captures.refused, "stoker_captures_refused_total", NULL,        \
		"Captures on demand that were refused because there were too many.")               \
	X("http.restarts", U64, http.restarts, "stoker_http_restarts_total", NULL,                 \
		"Times that the process that serves HTTP was lost and replaced.")                  \
	X("http.refused", U64, http.refused, "stoker_http_messages_refused_total", NULL,           \
		"Messages of the process that serves HTTP that the daemon refused.")
