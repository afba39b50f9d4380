/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record.c - samples now, and writes one profile, or one each interval.
 * One loop waits for BPF's events, signals, the command's end and the clock. However the capture
 * ends, the samples so far are written. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/session.h"
#include "cmd/cmd.h"
#include "output/bundle.h"
#include "cmd/command.h"
#include "output/clerk.h"
#include "cmd/record_options.h"
#include "cmd/record_output.h"
#include "cmd/record_when.h"
#include "daemon/signals.h"
#include "agent/agent.h"
#include "agent/evidence.h"
#include "agent/privileges.h"
#include "client/client.h"
#include "daemon/capture.h"
#include "daemon/perf_maps.h"
#include "guard/kill_switch.h"
#include "containers/target.h"

#define TICK_NS (200 * NSEC_PER_MSEC)
/* A streaming format is written in chunks: late enough for good names, early enough for memory. */
#define CHUNK_NS (30 * NSEC_PER_SEC)
#define CHUNK_TICKS 200000

struct record {
	struct record_options options;
	struct command command;
	struct clerk clerk;
	struct perf_maps maps; /* of --jit */
	struct worker_client *worker; /* until the agent has it; NULL: not started yet */
	struct agent *agent;
	struct record_output output;
	struct clerk_tried tried;
	struct evidence *evidence; /* of --check; NULL: none */
	struct record_when when;
	bool ended_by_signal;
	struct log *log;
	int sampling_err;         /* while the clerk was waited for; 0: none */
	enum exit_status failure; /* what an error is reported as */
	int signals;
	struct kill_switch kill_switch;
	struct target cgroup;
	size_t warned;                         /* number of the agent's warnings that were logged */
	uint64_t started_ns, interval_ends_ns; /* CLOCK_MONOTONIC */
	uint64_t chunk_ends_ns, next_tick_ns, next_progress_ns, next_copy_ns;
};

static int check_options(struct record *r, struct why *why)
{
	int err = record_options_check(&r->options, why);

	return err < 0 ? err : record_options_servers(&r->options, r->log, why);
}

static int open_cgroup(struct record *r, struct why *why)
{
	const struct record_options *o = &r->options;
	bool fetches = o->debuginfod || o->runtime_socket;
	int err = o->cgroup ? agent_open_workers(capture_clocks_fd(), fetches, &r->worker, why) : 0;

	if (err < 0 || !o->cgroup)
		return err;
	err = target_find(r->worker, o->cgroup_kind, o->cgroup, &r->cgroup, why);
	r->failure = err == -ENOENT ? EXIT_NOT_FOUND
		: err == -ENOTUNIQ  ? EXIT_AMBIGUOUS
		: err == -EINVAL    ? EXIT_USAGE
				    : EXIT_FAILED;
	if (err == 0 && r->cgroup.fd < 0)
		log_note(r->log,
			"cannot attach to this cgroup; sampling the whole host and filtering "
			"(higher overhead)");
	return err;
}

static int start_command(struct record *r, struct why *why)
{
	uint32_t *id;
	int err;

	if (!r->options.argv[0])
		return 0;
	err = command_start(&r->command, r->options.argv, why);
	if (err < 0 || r->options.target_given)
		return err;
	id = vec_add(&r->options.ids);
	if (!id)
		return why_set(why, -ENOMEM, "out of memory");
	*id = (uint32_t)r->command.child.pid;
	r->options.target = SAMPLER_TREE;
	return 0;
}

static struct clerk_options clerk_options(const struct record *r)
{
	/* Only root has a folder that no other process may write to. */
	static const char *const notes[] = { PERF_MAPS_NOTES, NULL };
	const struct record_options *o = &r->options;

	return (struct clerk_options){
		.pattern = o->output,
		.gzip = (o->sink_format->needs & SINK_GZIP) != 0,
		.keep = r->tried.profile.tried.kind == PLACE_NEW,
		.bundle = o->when ? NULL : o->bundle,
		.stats_path = o->stats_path,
		.check_path = o->check_path,
		.jit_pids = o->ids.data,
		.jit_pids_len = o->target == SAMPLER_TGIDS ? o->ids.len : 0,
		.jit_notes = geteuid() == 0 ? notes : NULL,
		.log = r->log,
	};
}

/* Each ends when its socket is closed, which the second has inherited: it is closed first. */
static int open_clerks(struct record *r, struct why *why)
{
	const struct clerk_options options = clerk_options(r);
	int err = 0;

	setsid(); /* the command is the last that belongs to the terminal's */
	if (r->options.jit && capture_is_this())
		perf_maps_join(&r->maps, capture_maps_fd(), r->log);
	else if (r->options.jit)
		err = perf_maps_open(&r->maps, &options, why);
	r->clerk.signals = r->signals;
	return err < 0 ? err : clerk_open(&r->clerk, &options, why);
}

static int open_agent(struct record *r, struct why *why)
{
	const struct record_options *o = &r->options;
	uint32_t needs = sink_needs(o->sink_format, &o->sink);
	struct agent_options options = {
		.sampler = {
			.hz = o->hz,
			.target = o->target,
			.ids = o->ids.data,
			.ids_len = o->ids.len,
			.cgroup_fd = r->cgroup.fd,
			.cgroups = r->cgroup.cgroups.data,
			.cgroups_len = r->cgroup.cgroups.len,
			.by_tid = o->when || (needs & SINK_TIDS) ||
				sink_wants(&o->sink, PROFILE_KEY_TID),
			.times = o->when || (needs & SINK_TIMES) != 0,
			.by_cpu = sink_wants(&o->sink, PROFILE_KEY_CPU),
			.user = o->user,
			.kernel = o->kernel,
			.memory_bytes = o->memory_bytes,
			.tick_limit_ns = o->tick_limit_ns,
		},
		.demangle = !o->no_demangle,
		.keep_tiers = o->keep_tiers,
		.keep_native = o->keep_native,
		.lines = o->lines,
		.debug_dirs = o->debug_dirs.data,
		.debug_dirs_len = o->debug_dirs.len,
		.tables = o->tables,
		.debuginfod = o->debuginfod,
		.runtime_socket = o->runtime_socket,
		.walls = o->sources.walls,
		.evidence = r->evidence,
		.waiting = o->when != NULL,
		.waiting_processes = o->when != NULL,
		.worker = TAKE_PTR(r->worker),
	};

	return agent_open(&options, &r->agent, why);
}

static int try_outputs(struct record *r, struct why *why)
{
	const struct clerk_options options = clerk_options(r);
	int err = clerk_try(&options, &r->tried, why);

	r->failure = err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	return err;
}

static int open_signals(struct record *r, struct why *why)
{
	return signals_open(&r->signals, why);
}

static int make_folder(struct record *r, struct why *why)
{
	if (r->options.when)
		return record_when_make_folder(&r->options, why);
	return r->options.bundle ? clerk_make_folder(&r->clerk, why) : 0;
}

static int open_when(struct record *r, struct why *why)
{
	return r->options.when ? record_when_open(&r->when, &r->options, r->log, why) : 0;
}

static int open_evidence(struct record *r, struct why *why)
{
	return r->options.check_path && evidence_new(&r->evidence) < 0
		? why_set(why, -ENOMEM, "out of memory")
		: 0;
}

/* Before there is a process to end again. */
static int check_rights(struct record *r, struct why *why)
{
	int err = kill_switch_check(why);

	kill_switch_open(&r->kill_switch);
	return err < 0 ? err : privileges_check(why);
}

/* All that can fail before the first sample, cheapest first. */
static int prepare(struct record *r, struct why *why)
{
	static int (*const steps[])(struct record *, struct why *) = { check_options, try_outputs,
		check_rights, open_signals, start_command, open_clerks,
		/* After all forks: from here on this process has the agent's priority. */
		open_cgroup, make_folder, open_evidence, open_agent, open_when };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps) && err == 0; i++)
		err = steps[i](r, why);
	return err;
}

static void log_warnings(struct record *r)
{
	const char *warning;

	for (; (warning = agent_warning(r->agent, r->warned)); r->warned++)
		log_warn(r->log, "%s", warning);
}

static bool is_full(const struct record *r, uint64_t now)
{
	return r->options.duration_ns && now >= r->started_ns + r->options.duration_ns;
}

/* While the clerk waits for a reader. */
static int sample_meanwhile(void *ctx)
{
	struct record *r = ctx;

	if (is_full(r, clock_ns(CLOCK_MONOTONIC)))
		agent_stop(r->agent);
	r->sampling_err = agent_poll(r->agent);
	return r->sampling_err;
}

static int write_bundle(struct record *r, const struct profile *profile, struct why *why)
{
	const struct bundle_file *file = bundle_files();
	int err = 0;

	for (uint32_t i = 0; file[i].name && err == 0; i++) {
		r->output.sink = sink_find(file[i].format);
		r->output.file_index = i + 1;
		err = record_output_put(&r->output, profile, why);
		if (err == 0)
			err = record_output_end(&r->output, r->log, why);
	}
	return err < 0 ? err
		       : clerk_pack(&r->clerk, (time_t)(profile->start_ns / NSEC_PER_SEC), why);
}

/* All since the last call goes out. */
static int write_profile(struct record *r, struct why *why)
{
	_cleanup_(profile_done) struct profile profile;
	int err = profile_init(&profile);

	if (err < 0)
		return why_set(why, err, "cannot make a profile: %s", err_text(err));
	perf_maps_refresh(&r->maps);
	err = agent_profile(r->agent, &profile);
	if (err == 0)
		err = record_output_prepare(&r->output, r->agent, &r->maps, &profile);
	log_warnings(r);
	if (err < 0)
		log_warn(r->log, "the profile is incomplete: %s", err_text(err));
	r->chunk_ends_ns = clock_ns(CLOCK_MONOTONIC) + CHUNK_NS;
	return r->options.bundle ? write_bundle(r, &profile, why)
				 : record_output_put(&r->output, &profile, why);
}

/* A failure costs one interval where each has a file of its own. */
static bool outlives_failure(const struct record *r)
{
	return r->options.interval_ns && r->tried.profile.tried.kind == PLACE_NEW &&
		r->sampling_err == 0 && !clerk_is_lost(&r->clerk);
}

/* The same for the traps of --when. */
static int take_profile(struct record *r, struct why *why)
{
	int err;

	perf_maps_refresh(&r->maps);
	err = record_when_take(&r->when, r->agent, why);
	log_warnings(r);
	return err;
}

static int write_last(struct record *r, struct why *why)
{
	int err = r->options.when ? take_profile(r, why) : write_profile(r, why);

	if (r->options.when)
		return err < 0 ? err : record_when_finish(&r->when, r->ended_by_signal, why);
	if (err == 0)
		err = record_output_end(&r->output, r->log, why);
	if (!outlives_failure(r))
		return err;
	record_output_lose(&r->output, err, why, r->log);
	return 0;
}

static void show_progress(struct record *r, uint64_t now)
{
	struct account account;

	if (now < r->next_progress_ns)
		return;
	r->next_progress_ns = now + NSEC_PER_SEC;
	agent_account(r->agent, &account);
	log_progress(r->log, "sampling for %llu s: %llu samples (stop with Ctrl-C)",
		(unsigned long long)((now - r->started_ns) / NSEC_PER_SEC),
		(unsigned long long)account.sampler.samples);
}

static void copy_evidence(struct record *r, uint64_t now)
{
	if (!r->evidence)
		return;
	evidence_copy(r->evidence, now >= r->next_copy_ns);
	if (now >= r->next_copy_ns)
		r->next_copy_ns = now + NSEC_PER_SEC;
}

/* True when the capture is over. */
static bool is_over(struct record *r, uint64_t now)
{
	if (signals_take(r->signals)) {
		clerk_hurry(&r->clerk);
		r->ended_by_signal = true;
		return true;
	}
	if (is_full(r, now) || record_when_is_over(&r->when) || command_ended(&r->command, 0) ||
		r->kill_switch.found)
		return true;
	return now >= r->next_tick_ns &&
		!(record_options_alive(&r->options) && target_exists(&r->cgroup));
}

static int wait_ms(const struct record *r, uint64_t now)
{
	uint64_t until = clock_sooner(r->next_tick_ns, agent_due_ns(r->agent));

	until = clock_sooner(until, record_when_due_ns(&r->when));
	if (r->options.duration_ns)
		until = clock_sooner(until, r->started_ns + r->options.duration_ns);
	if (r->options.interval_ns)
		until = clock_sooner(until, r->interval_ends_ns);
	return until <= now ? 0 : (int)((until - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

static int take_events(struct record *r, struct why *why)
{
	int err = agent_poll(r->agent);

	if (err == 0)
		err = record_when_tick(&r->when, r->agent, clock_ns(CLOCK_MONOTONIC));
	return err < 0 ? why_set(why, err, "sampling stopped: %s", err_text(err)) : 0;
}

static int run_tick(struct record *r, uint64_t now, struct why *why)
{
	if (now < r->next_tick_ns)
		return 0;
	r->next_tick_ns = now + TICK_NS;
	kill_switch_look(&r->kill_switch);
	show_progress(r, now);
	copy_evidence(r, now);
	perf_maps_meet(&r->maps, r->agent);
	if (clerk_is_lost(&r->clerk))
		return why_set(why, -EPIPE, "the process that writes files was lost");
	if (agent_starter_lost(r->agent))
		return why_set(why, -EPIPE, "the process that starts workers was lost");
	return 0;
}

/* The profile of an interval, or of a piece of a stream, that is over. */
static int write_due(struct record *r, uint64_t now, struct why *why)
{
	if (record_when_is_due(&r->when, r->agent, now))
		return take_profile(r, why);
	if (r->options.interval_ns && now >= r->interval_ends_ns) {
		r->interval_ends_ns += r->options.interval_ns;
		return write_last(r, why);
	}
	if (r->options.sink_format->stream && !r->options.when &&
		(now >= r->chunk_ends_ns || agent_ticks(r->agent) >= CHUNK_TICKS)) {
		int err = write_profile(r, why);

		return outlives_failure(r) ? 0 : err;
	}
	return 0;
}

static int loop(struct record *r, struct why *why)
{
	struct pollfd fds[] = {
		{ .fd = agent_fd(r->agent), .events = POLLIN },
		{ .fd = r->signals, .events = POLLIN },
		{ .fd = r->command.child.pidfd, .events = POLLIN },
		{ .fd = r->kill_switch.fd, .events = POLLIN },
		{ .events = POLLIN },
	};
	int err = 0;

	while (err == 0) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (is_over(r, now))
			return 0;
		err = run_tick(r, now, why);
		if (err == 0)
			err = write_due(r, now, why);
		fds[4].fd = trapper_fd(&r->when.trapper);
		if (err == 0 && poll(fds, ARRAY_SIZE(fds), wait_ms(r, now)) < 0 && errno != EINTR)
			err = why_set(why, -errno, "cannot wait: %s", err_text(errno));
		if (err == 0)
			err = take_events(r, why);
		if (fds[3].revents)
			kill_switch_look(&r->kill_switch);
	}
	return err;
}

static int start(struct record *r, struct why *why)
{
	int err = agent_start(r->agent, why);

	log_warnings(r);
	r->started_ns = r->next_tick_ns = clock_ns(CLOCK_MONOTONIC);
	r->interval_ends_ns = r->started_ns + r->options.interval_ns;
	r->chunk_ends_ns = r->started_ns + CHUNK_NS;
	if (err == 0)
		log_note(r->log, "sampling at %u Hz", r->options.hz);
	if (err == 0 && r->command.child.pid > 0)
		err = command_go(&r->command, r->options.argv[0], why);
	return err;
}

static int write_account(struct record *r, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf json = BUF_INIT;
	struct account account;

	agent_account(r->agent, &account);
	perf_maps_stats(&r->maps, &account.jit);
	if (account_write_text(&account, &text) == 0)
		for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
			log_note(r->log, "%s", line);
	if (!r->options.stats_path)
		return 0;
	if (account_write_json(&account, &json) < 0)
		return why_set(why, -ENOMEM, "out of memory");
	return clerk_write_stats(&r->clerk, &json, why);
}

static int write_evidence(struct record *r, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct why left_out;

	if (!r->evidence)
		return 0;
	if (evidence_left_out(r->evidence, &left_out))
		log_warn(r->log, "%s", left_out.text);
	if (evidence_write(r->evidence, &text) < 0)
		return why_set(why, -ENOMEM, "out of memory");
	return clerk_write_check(&r->clerk, &text, why);
}

static int capture(struct record *r, struct why *why)
{
	struct why late;
	int err = prepare(r, why), late_err;

	if (err == 0)
		err = start(r, why);
	if (err < 0)
		return err;
	r->output = (struct record_output){
		.kinds = r->options.sources.cpu ? NULL : PROFILE_WALL,
		.clerk = &r->clerk,
		.sink = r->options.sink_format,
		.options = &r->options.sink,
	};
	r->clerk.meanwhile = sample_meanwhile;
	r->clerk.ctx = r;
	r->clerk.events = agent_fd(r->agent);
	r->maps.clerk.meanwhile = sample_meanwhile;
	r->maps.clerk.ctx = r;
	r->maps.clerk.events = agent_fd(r->agent);
	err = loop(r, why);
	if (r->kill_switch.found)
		log_warn(r->log, "%s exists: sampling ended", r->kill_switch.found);
	copy_evidence(r, UINT64_MAX);
	agent_stop(r->agent);
	if (command_stop(&r->command))
		log_note(
			r->log, "sampling ended before %s: sent SIGTERM to it", r->options.argv[0]);
	late_err = r->output.failed && !outlives_failure(r) ? 0 : write_last(r, &late);
	if (late_err == 0)
		late_err = record_output_lost(&r->output, &late);
	if (err == 0 && late_err < 0)
		err = why_set(why, late_err, "%s", late.text);
	late_err = write_account(r, &late);
	if (late_err == 0)
		late_err = write_evidence(r, &late);
	if (err < 0 && late_err < 0)
		log_error(r->log, "%s", late.text);
	if (err == 0 && late_err < 0)
		err = why_set(why, late_err, "%s", late.text);
	if (r->command.child.pid > 0)
		command_finish(&r->command, r->options.argv[0], r->kill_switch.found != NULL,
			r->signals, r->log);
	return err;
}

static void done(struct record *r)
{
	record_output_done(&r->output);
	record_when_close(&r->when);
	clerk_close(&r->clerk);
	perf_maps_close(&r->maps);
	worker_client_free(r->worker);
	clerk_tried_close(&r->tried);
	agent_free(r->agent);
	evidence_free(r->evidence);
	command_done(&r->command);
	fd_close(&r->signals);
	kill_switch_close(&r->kill_switch);
	target_done(&r->cgroup);
}

static int run(void *ctx)
{
	struct record *r = ctx;
	struct why why;
	int err = capture(r, &why);

	if (err < 0)
		log_error(r->log, "%s", why.text);
	done(r);
	return command_exit(
		&r->command, r->options.argv[0], err < 0 ? r->failure : EXIT_OK, r->log);
}

int cmd_record(int argc, char **argv, struct log *log)
{
	struct record r = { .log = log,
		.failure = EXIT_FAILED,
		.signals = -1,
		.kill_switch = KILL_SWITCH_INIT,
		.cgroup = TARGET_INIT,
		.command = COMMAND_INIT,
		.clerk = CLERK_INIT,
		.maps = PERF_MAPS_INIT };
	struct why why;
	int err = record_options_parse(&r.options, argc, argv, &why), status = EXIT_OK;

	log->quiet = r.options.quiet;
	if (err < 0) {
		log_error(log, "%s; see `stoker record --help`", why.text);
		status = command_exit_usage(argv);
	} else if (r.options.help) {
		record_options_help(stdout);
	} else {
		/* A capture is of a session already, and its daemon watches the kill switch. */
		status = capture_is_this() ? run(&r) : session_run(run, &r, log);
	}
	record_options_done(&r.options);
	return status;
}
