/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.c - runs continuously and writes a profile each interval into the store. Sampling
 * never waits for the store: while the last interval is being written the current one continues,
 * and gets longer. A problem with the store is reported once, and writing is tried again. */
#include "daemon/daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/signals.h"
#include "agent/agent.h"
#include "daemon/account_since.h"
#include "agent/privileges.h"
#include "client/client.h"
#include "daemon/config.h"
#include "daemon/governor.h"
#include "daemon/http_front.h"
#include "daemon/keeper.h"
#include "daemon/notify.h"
#include "daemon/perf_maps.h"
#include "daemon/serve.h"
#include "daemon/status.h"
#include "daemon/timer.h"
#include "containers/target.h"
#include "containers/tick_limits.h"
#include "traps/trapper.h"
#include "sink/sink.h"

/* For all that is still to be written; the rest of DAEMON_END_NS is for our own end. */
#define FINISH_NS (DAEMON_END_NS - NSEC_PER_SEC / 2)
#define TURN_NS (20 * NSEC_PER_MSEC)
#define TURNS_AT_ONCE 50
#define WALL_SPANS_NS (5 * NSEC_PER_SEC)

struct daemon {
	struct daemon_options options;
	struct config config;
	struct sink_options sink;
	struct worker_client *worker; /* until the agent has it */
	struct agent *agent;
	struct keeper keeper;
	struct keeper_status status;
	struct perf_maps maps; /* of [jit] */
	struct target target;
	struct notify notify;
	struct http_front *http; /* NULL: off */
	struct log *log;
	struct utsname host;
	json_t *account; /* up to the last interval */
	struct governor governor;
	struct trapper trapper;
	char trap_folder[CONFIG_TEXT_MAX + sizeof(TRAP_BUNDLE_FOLDER) + 1];
	bool governed; /* the interval is sampled at the governor's rate, and not at a trap's */
	uint64_t used_ns, used_at_ns; /* by all of ours up to then, CLOCK_MONOTONIC */
	int signals, timer;
	int reported; /* latest error of the store that was logged */
	bool over;
	size_t warned;
	uint64_t interval_ends_ns, written_ns; /* CLOCK_BOOTTIME */
	uint64_t turn_ns; /* CLOCK_MONOTONIC; when the next turn would be due at TURN_NS each */
};

/* ---- configuration -------------------------------------------------------------------------- */

static struct retention retention(const struct config *c)
{
	return (struct retention){
		.keep_ns = c->keep_ns,
		.bytes_max = c->bytes_max,
		.whole_ns = c->whole_ns,
		.segments_max = STORE_SEGMENTS_MAX,
	};
}

/* The supervisor has decided what may differ. */
static void hear_config(struct daemon *d)
{
	const struct rules traps = d->config.traps;
	bool captures = d->config.captures;

	if (!notify_take(&d->notify, &d->config))
		return;
	trapper_reload(&d->trapper, &traps, &d->config.traps);
	if (captures && !d->config.captures && d->http)
		http_front_end_captures(d->http);
	d->governor.permille = d->config.cpu_permille;
	agent_set_cpu(d->agent, d->config.cpu_permille);
	/* The open one, too, if it gets shorter. */
	d->interval_ends_ns =
		clock_sooner(d->interval_ends_ns, d->written_ns + d->config.interval_ns);
	notify_report(&d->notify, NOTIFY_READY);
}

/* ---- intervals ------------------------------------------------------------------------------ */

static void log_warnings(struct daemon *d)
{
	const char *warning;

	for (; (warning = agent_warning(d->agent, d->warned)); d->warned++)
		log_warn(d->log, "%s", warning);
}

/* ---- what it costs ------------------------------------------------------------------------- */

static uint64_t used_ns(struct daemon *d)
{
	struct account account;

	agent_account(d->agent, &account);
	return (uint64_t)((account.agent_cpu_s + account.worker.cpu_s) * 1e9) +
		clock_process_ns(d->keeper.child.pid);
}

/* An interval ends: the next one's rate. */
static void govern(struct daemon *d)
{
	struct governor *g = &d->governor;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), used = used_ns(d);
	uint32_t before = g->hz, trap_hz = trapper_hz(&d->trapper, now);
	const struct governor_cost cost = {
		.wall_ns = now - d->used_at_ns,
		/* A process that was replaced has begun from nothing. */
		.used_ns = used > d->used_ns ? used - d->used_ns : 0,
		.ticks_ns = tick_limits_dearest_ns(agent_parts(d->agent).tick_limits),
	};

	g->ended = false;
	if (d->governed && governor_feed(g, &cost))
		governor_log(g, before, d->log);
	d->governed = trap_hz <= g->hz;
	agent_set_hz(d->agent, d->governed ? g->hz : trap_hz);
	d->used_ns = used;
	d->used_at_ns = now;
}

/* The window's ticks have been charged: who gives some of their time back? */
static void share_ticks(struct daemon *d)
{
	struct tick_load load = governor_load(&d->governor);
	struct tick_limits *limits = agent_parts(d->agent).tick_limits;

	if (d->governor.ended)
		d->governor.spent = tick_limits_judge(limits, &load) == TICK_SHARES_SPENT;
}

static void read_account(struct daemon *d, uint32_t hz, struct account *out)
{
	agent_account(d->agent, out);
	out->hz = hz;
	governor_account(&d->governor, &agent_parts(d->agent).tick_limits->shares, &out->governor);
	out->traps = trapper_stats(&d->trapper);
	perf_maps_stats(&d->maps, &out->jit);
}

/* The account of the interval that ends, as JSON; the caller's. NULL: no memory. */
static char *take_account(struct daemon *d, uint32_t hz)
{
	struct account account;

	read_account(d, hz, &account);
	return account_since(&account, &d->account);
}

static int put_profile(struct daemon *d, const struct profile *profile, struct why *why)
{
	uint32_t hz = (uint32_t)(NSEC_PER_SEC / profile->kinds[0].period_ns);
	_cleanup_(freep) char *account = take_account(d, hz);
	const struct retention r = retention(&d->config);
	struct segment_about about = { .host = d->host.nodename,
		.by = d->config.by,
		.account = account ? account : "",
		.start_ns = profile->start_ns,
		.end_ns = profile->start_ns + profile->duration_ns,
		.hz = hz };

	return keeper_put_profile(&d->keeper, &about, &r, profile, &d->sink, why);
}

/* The samples since the last call, to the keeper. */
static int end_interval(struct daemon *d, struct why *why)
{
	_cleanup_(profile_done) struct profile profile;
	const struct retention r = retention(&d->config);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err = profile_init(&profile);

	if (err < 0) {
		log_warn(d->log, "%s: the samples of this interval go into the next profile",
			err_text(err));
		return 0;
	}
	govern(d);
	agent_set_stored_max(d->agent, retention_interval_bytes(&r, d->config.interval_ns));
	err = agent_profile(d->agent, &profile);
	share_ticks(d);
	if (err == 0)
		err = trapper_take(&d->trapper, d->agent, &profile, now);
	log_warnings(d);
	if (err < 0)
		log_warn(d->log, "the profile is incomplete: %s", err_text(err));
	perf_maps_begin_refresh(&d->maps);
	err = put_profile(d, &profile, why);
	if (err < 0 && err != -EPIPE && !d->over) { /* memory may be short only now */
		log_error(d->log, "%s", why->text);
		err = 0;
	}
	return err;
}

/* A full disk is logged when it fills, not once a minute. */
static void log_store_error(struct daemon *d)
{
	if (d->status.err == d->reported)
		return;
	d->reported = d->status.err;
	if (d->reported < 0)
		log_error(d->log, "%s; profiles are lost until the store can be written again",
			d->status.why.text);
	else
		log_note(d->log, "the store can be written again");
}

static int hear_keeper(struct daemon *d, uint64_t until_ns, struct why *why)
{
	switch (keeper_take(&d->keeper, until_ns, &d->status)) {
	case KEEPER_NOTHING_NEW:
		return 0;
	case KEEPER_GIVEN_UP:
		return why_set(why, -EPIPE, "the process that writes the store was lost");
	case KEEPER_ANSWERED:
		break;
	}
	if (d->status.err == 0)
		d->written_ns = clock_ns(CLOCK_BOOTTIME);
	if (d->status.err == 0 && d->http)
		http_front_save_tokens(d->http);
	log_store_error(d);
	return 0;
}

static int run_interval(struct daemon *d, struct why *why)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	bool over = now >= d->interval_ends_ns;

	if (d->keeper.busy || (!over && trapper_cut_ns(&d->trapper) > clock_ns(CLOCK_MONOTONIC)))
		return 0;
	/* After a suspend there is one long interval, and not many empty ones. */
	if (over)
		d->interval_ends_ns += d->config.interval_ns;
	if (d->interval_ends_ns <= now)
		d->interval_ends_ns = now + d->config.interval_ns;
	return end_interval(d, why);
}

/* ---- HTTP ----------------------------------------------------------------------------------- */

static int put_status(void *ctx, struct buf *out)
{
	struct daemon *d = ctx;
	struct http_front_stats http;
	struct account account;
	const struct status_facts facts = { .account = &account,
		.config = &d->config,
		.keeper = &d->keeper,
		.store = &d->status,
		.http = &http,
		.waiting = agent_parts(d->agent).waiting,
		.written_age_ns = clock_ns(CLOCK_BOOTTIME) - d->written_ns };

	read_account(d, d->governor.hz, &account);
	http_front_stats(d->http, &http);
	return status_write(&facts, out);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void hear_signals(struct daemon *d)
{
	struct signalfd_siginfo signal;

	while (read(d->signals, &signal, sizeof(signal)) == sizeof(signal))
		d->over |= signal.ssi_signo != SIGHUP;
}

/* Handles the events that came and the work that is due. */
static int run_agent(struct daemon *d, struct why *why)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err;

	notify_alive(&d->notify, now);
	err = agent_poll(d->agent);
	if (err == 0)
		err = trapper_tick(&d->trapper, d->agent, now);
	if (err < 0)
		return why_set(why, err, "sampling stopped: %s", err_text(err));
	perf_maps_meet(&d->maps, d->agent);
	/* A lost worker could not be replaced, and nobody may take the starter's place: we have
	 * given up the rights that it had. */
	if (agent_starter_lost(d->agent) || (d->http && http_front_starter_lost(d->http)))
		return why_set(why, -EPIPE, "the process that starts others was lost");
	/* The removal of its cgroup is an event that has woken us. */
	return target_exists(&d->target) ? 0 : why_set(why, -ESRCH, "%s is gone", d->config.target);
}

/* For the first of all that is due. */
static void set_timer(const struct daemon *d)
{
	uint64_t due_ns = clock_sooner(agent_due_ns(d->agent), notify_due_ns(&d->notify));

	due_ns = clock_sooner(due_ns, trapper_due_ns(&d->trapper));
	if (d->http)
		due_ns = clock_sooner(due_ns, http_front_due_ns(d->http));
	/* The keeper's answer is an event; until then no interval ends. */
	due_ns = clock_sooner(due_ns,
		d->keeper.busy ? keeper_due_ns(&d->keeper) : trapper_cut_ns(&d->trapper));
	timer_set(d->timer, due_ns, d->keeper.busy ? CLOCK_NEVER_NS : d->interval_ends_ns);
}

/* Most of a turn is to look whether anything else has come. Where much happens, or somebody makes
 * it happen, each event would be a turn of its own: so there are TURNS_AT_ONCE of them, and from
 * then on one each TURN_NS takes what has gathered. */
static void let_events_gather(struct daemon *d)
{
	struct pollfd order = { .fd = d->signals, .events = POLLIN };
	uint64_t now = clock_ns(CLOCK_MONOTONIC), least_ns = now - TURNS_AT_ONCE * TURN_NS;

	d->turn_ns = (d->turn_ns > least_ns ? d->turn_ns : least_ns) + TURN_NS;
	if (d->turn_ns > now)
		poll(&order, 1, clock_wait_ms(now, d->turn_ns));
}

static int wait_for_events(struct daemon *d, struct why *why)
{
	struct pollfd fds[] = {
		{ .fd = agent_fd(d->agent), .events = POLLIN },
		{ .fd = d->timer, .events = POLLIN },
		{ .fd = d->signals, .events = POLLIN },
		{ .fd = d->keeper.child.fd, .events = POLLIN },
		{ .fd = d->http ? http_front_fd(d->http) : -1, .events = POLLIN },
		{ .fd = trapper_fd(&d->trapper), .events = POLLIN },
		{ .fd = d->notify.from, .events = POLLIN },
	};

	set_timer(d);
	let_events_gather(d);
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0
				      : why_set(why, -errno, "cannot wait: %s", err_text(errno));
	if (fds[2].revents)
		hear_signals(d);
	if (fds[6].revents)
		hear_config(d);
	return 0;
}

static int loop(struct daemon *d, struct why *why)
{
	int err = 0;

	while (err == 0 && !d->over) {
		err = run_agent(d, why);
		if (err == 0)
			err = hear_keeper(d, 0, why);
		if (err == 0)
			err = run_interval(d, why);
		if (err == 0 && d->http)
			http_front_poll(d->http);
		if (err == 0)
			err = wait_for_events(d, why);
	}
	return err;
}

static int find_target(struct daemon *d, struct why *why)
{
	enum target_kind kind = TARGET_NONE;
	const char *name = target_parse(d->config.target, &kind);
	struct why text;
	int err = kind == TARGET_NONE ? 0 : target_find(d->worker, kind, name, &d->target, &text);

	return err < 0
		? config_refuse(&d->config, d->options.config_path, "sample", "target", err,
			  text.text, why)
		: 0;
}

static int open_agent(struct daemon *d, struct why *why)
{
	bool with_traps = d->config.traps.len > 0;
	const struct agent_options options = {
		.sampler = {
			.hz = (uint32_t)d->config.hz,
			.hz_max = rules_hz_max(&d->config.traps, d->config.hz),
			.target = strcmp(d->config.target, "all") == 0 ? SAMPLER_ALL
								       : SAMPLER_CGROUP,
			.cgroup_fd = d->target.fd,
			.cgroups = d->target.cgroups.data,
			.cgroups_len = d->target.cgroups.len,
			.by_tid = with_traps || sink_wants(&d->sink, PROFILE_KEY_TID),
			.times = with_traps,
			.by_cpu = sink_wants(&d->sink, PROFILE_KEY_CPU),
			.user = true,
			.kernel = true,
			.share_ticks = true,
			.memory_bytes = d->config.memory_bytes,
			.tick_limit_ns = d->config.tick_limit_us * 1000,
		},
		.walls = {
			.hz = (uint32_t)d->config.wall_hz,
			.part = WALLS_DAEMON_PART,
			.user = true,
			.spans_ns = with_traps ? WALL_SPANS_NS : 0,
			.optional = true,
		},
		.waiting = true,
		.waiting_processes = rules_of_processes(&d->config.traps),
		.demangle = true,
		.spare = true,
		.tables = d->config.tables,
		.worker = TAKE_PTR(d->worker),
	};

	return agent_open(&options, &d->agent, why);
}

static int open_traps(struct daemon *d, struct why *why)
{
	const struct trap_bundle bundle = {
		.folder = d->trap_folder,
		.store = d->config.store,
		.host = d->host.nodename,
		.sink = &d->sink,
		.log = d->log,
	};

	snprintf(d->trap_folder, sizeof(d->trap_folder), "%s/" TRAP_BUNDLE_FOLDER, d->config.store);
	return trapper_open(&d->trapper, &d->config.traps, d->config.hz, &bundle, why);
}

/* On disk before anything is attached. Without it the host is sampled, and not guarded. */
static void put_mark(struct daemon *d)
{
	struct why why;

	notify_report(&d->notify, NOTIFY_MARKED);
	if (guard_save(d->config.store, d->options.mark, &why) < 0)
		log_warn(d->log, "%s; if this host goes down now, the next start does not know",
			why.text);
}

static int start(struct daemon *d, struct why *why)
{
	int err = signals_open(&d->signals, why);

	if (err == 0)
		err = timer_open(&d->timer, why);
	if (err == 0)
		err = keeper_open(&d->keeper, d->config.store,
			d->http ? http_front_listener(d->http) : -1, d->log, &d->status, why);
	if (err == 0)
		log_store_error(d);
	if (err == 0)
		put_mark(d);
	err = err < 0 ? err
		      : perf_maps_open_daemon(&d->maps, d->config.store,
				config_jit(&d->config) == CONFIG_JIT_ALWAYS, d->log, why);
	privileges_raise(); /* of captures, too; what the caller names is open */
	err = err == 0 && d->http ? http_front_start(d->http, why) : err;
	/* After all forks: from here on this process has the agent's priority. */
	err = err < 0 ? err : agent_open_workers(0, false, &d->worker, why);
	err = err < 0 ? err : find_target(d, why);
	err = err < 0 ? err : open_agent(d, why);
	uname(&d->host);
	err = err < 0 ? err : open_traps(d, why);
	if (err == 0)
		err = agent_start(d->agent, why);
	if (err < 0)
		return err;
	log_warnings(d);
	agent_set_cpu(d->agent, d->config.cpu_permille);
	governor_init(&d->governor, (uint32_t)d->config.hz, d->config.cpu_permille);
	d->governed = true;
	d->used_ns = used_ns(d);
	d->used_at_ns = clock_ns(CLOCK_MONOTONIC);
	d->written_ns = clock_ns(CLOCK_BOOTTIME);
	d->interval_ends_ns = d->written_ns + d->config.interval_ns;
	log_note(d->log, "sampling at %llu Hz into %s: %llu profiles there",
		(unsigned long long)d->config.hz, d->config.store,
		(unsigned long long)d->status.segments);
	notify_report(&d->notify, NOTIFY_READY);
	return 0;
}

/* So that no sample is lost. */
static int write_last(struct daemon *d, uint64_t until_ns, struct why *why)
{
	int err = hear_keeper(d, until_ns, why);

	if (err == 0 && d->keeper.busy)
		return why_set(why, -ETIMEDOUT,
			"the open interval is lost: the one before is still being written to %s",
			d->config.store);
	if (err == 0)
		err = end_interval(d, why);
	perf_maps_end(&d->maps);
	if (err == 0)
		err = hear_keeper(d, until_ns, why);
	if (err == 0 && d->keeper.busy)
		return why_set(why, -ETIMEDOUT,
			"the last interval is not in %s yet: the process that writes it goes on",
			d->config.store);
	return err == 0 && d->status.err < 0 ? why_set(why, d->status.err, "%s", d->status.why.text)
					     : err;
}

/* Writes before anything is closed: to close may take a time that only the supervisor limits. */
static int finish(struct daemon *d, struct why *why)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + FINISH_NS;
	int err;

	agent_stop(d->agent);
	err = write_last(d, until_ns, why);
	trapper_finish(&d->trapper, until_ns);
	perf_maps_wait(&d->maps, until_ns);
	if (err == 0)
		notify_report(&d->notify, NOTIFY_STOPPING);
	return err;
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	http_front_free(d->http);
	trapper_close(&d->trapper);
	worker_client_free(d->worker);
	agent_free(d->agent);
	keeper_close(&d->keeper);
	target_done(&d->target);
	json_decref(d->account);
	fd_close(&d->timer);
	fd_close(&d->signals);
	free(d);
}

int daemon_open(const struct daemon_options *options, struct daemon **out, struct why *why)
{
	struct daemon *d = malloc(sizeof(*d));
	int err;

	if (!d)
		return why_set(why, -ENOMEM, "out of memory");
	*d = (struct daemon){ .options = *options,
		.config = *options->config,
		.keeper = KEEPER_INIT,
		.maps = PERF_MAPS_INIT,
		.target = TARGET_INIT,
		.log = options->log,
		.signals = -1,
		.timer = -1 };
	notify_to(&d->notify, options->supervisor_fd, options->watchdog_ns);
	d->sink.lines_only = true;
	err = sink_parse_by(d->config.by, &d->sink, why);
	if (err == 0)
		err = serve_open(&d->config, options->config_path, options->listener, NULL,
			put_status, d, d->log, &d->http, why);
	if (err < 0) {
		daemon_free(d);
		return err;
	}
	*out = d;
	return 0;
}

int daemon_run(struct daemon *d, struct why *why)
{
	int err = start(d, why), late_err;
	struct why late;

	if (err < 0)
		return err;
	err = loop(d, why);
	late_err = finish(d, &late);
	return err == 0 && late_err < 0 ? why_set(why, late_err, "%s", late.text) : err;
}
