/* SPDX-License-Identifier: Apache-2.0 */
/* agent/agent.c - handles the sampler's events at once, because their process may end in a moment:
 * opens files, finds perf maps, looks up the paths of cgroups. Names wait for the next profile. */
#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/heap.h"
#include "cgroup/tree.h"
#include "containers/cgroup_view.h"
#include "containers/container.h"
#include "containers/containers.h"
#include "containers/tick_limits.h"
#include "agent/evidence.h"
#include "agent/fill.h"
#include "agent/deferred.h"
#include "agent/naming.h"
#include "files/objects.h"
#include "agent/privileges.h"
#include "files/file_time.h"
#include "files/java_codes.h"
#include "files/languages.h"
#include "files/processes.h"
#include "files/row_wishes.h"
#include "agent/upkeep.h"
#include "agent/waits.h"
#include "sampler/places.h"
#include "sampler/warnings.h"
#include "proc/pid_namespace.h"
#include "sampler/tally.h"
#include "unwind/publish.h"
#include "containers/inquiry.h"
#include "waiting/waiting.h"
#include "waiting/wall_kind.h"
#include "client/opener_call.h"

#define EXECS_MAX 4096
#define TICKS_PENDING 100000

struct agent {
	struct sampler *sampler;
	struct tally tally;
	struct languages *languages;
	struct objects *objects;
	struct processes *processes;
	struct java_codes *java; /* NULL: lines are not wanted */
	struct deferred *deferred;
	VEC(struct event_exec) execs; /* processes that run a file not met before */
	struct worker_client *worker;
	struct fetch *fetch;     /* NULL: no debuginfod server is to be asked */
	struct inquiry *inquiry; /* NULL: no container runtime is to be asked */
	bool stopped;
	uint64_t ended_ns;           /* when a daemon's agent was stopped; else 0 */
	int epoll;                   /* the ring, and the workers */
	struct cgroup_tree *cgroups; /* NULL: none is mounted */
	struct containers *containers;
	struct kernel_names *kernel;
	struct naming naming;
	struct account account;
	struct tick_limits tick_limits;
	struct upkeep upkeep;
	uint64_t opened_ns, last_profile_ns; /* CLOCK_MONOTONIC; CLOCK_BOOTTIME */
	uint64_t last_profile_real_ns, last_profile_tick_ns, stored_max;
	uint32_t hz, next_hz;
	struct warnings warnings;
	struct evidence *evidence; /* may be NULL */
	struct waiting *waiting;   /* the same, */
	struct walls *walls;       /* and the same */
	bool wait_kernel;          /* with frames of the kernel */
};

const char *agent_warning(const struct agent *agent, size_t i)
{
	return warnings_find(&agent->warnings, i);
}

static int on_object(void *ctx, const struct event_object *event)
{
	struct agent *agent = ctx;

	return upkeep_object(&agent->upkeep, event);
}

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	struct agent *agent = ctx;

	agent->upkeep.tables_due = true;
	if (agent->objects)
		objects_on_rows(agent->objects, rows);
}

static void on_process_dropped(void *ctx, uint64_t id)
{
	struct agent *agent = ctx;

	worker_client_drop_map(agent->worker, id);
}

static int on_task(void *ctx, const struct event_task *event)
{
	struct agent *agent = ctx;
	int met = containers_sampled(agent->containers, event->key.cgroup, event->key.tgid);
	bool open = objects_meet_view(
		agent->objects, event, containers_account(agent->containers, event->key.cgroup));

	if (met == CONTAINERS_KNOWN && open && !agent->evidence) /* evidence needs them alive */
		places_know(agent->sampler, event);
	tick_limits_met(&agent->tick_limits, event->key.cgroup);
	evidence_process(agent->evidence, event->key.tgid, event->key.start_ns);
	return tally_task(&agent->tally, event);
}

static int on_stack(void *ctx, const struct event_stack *event, const uint64_t *frames)
{
	struct agent *agent = ctx;

	objects_sampled(agent->objects, frames, event->frames_len);
	return tally_stack(&agent->tally, event, frames);
}

static int on_jit(void *ctx, const struct event_jit *event)
{
	struct agent *agent = ctx;

	return processes_runs(agent->processes, event->tgid, event->start_ns);
}

static int on_exec(void *ctx, const struct event_exec *event)
{
	struct agent *agent = ctx;
	struct event_exec *slot = agent->execs.len < EXECS_MAX ? vec_add(&agent->execs) : NULL;

	/* Scanned when the ring is read: a scan makes events of its own. */
	if (slot)
		*slot = *event;
	return slot ? 0 : -ENOSPC;
}

static int on_page(void *ctx, const struct event_page *event)
{
	struct agent *agent = ctx;
	const struct row_wishes wishes = {
		agent->objects, sampler_publish(agent->sampler), agent->worker, 0
	};

	agent->upkeep.tables_due = true;
	return row_wishes_tick(&wishes, event);
}

static int on_deferred(void *ctx, const struct event_deferred *event)
{
	struct agent *agent = ctx;
	const struct task_key *task = tally_task_key(&agent->tally, event->task);
	uint64_t account = task ? containers_account(agent->containers, task->cgroup) : 0;

	if (event->anon)
		processes_add(agent->processes, event->tgid, event->start_ns);
	return deferred_put(agent->deferred, event, account);
}

static int on_cgroup(void *ctx, const struct event_cgroup *event)
{
	struct agent *agent = ctx;

	return containers_changed(agent->containers, event);
}

static const struct sampler_events callbacks = {
	.object = on_object,
	.task = on_task,
	.stack = on_stack,
	.jit = on_jit,
	.exec = on_exec,
	.page = on_page,
	.deferred = on_deferred,
	.cgroup = on_cgroup,
};

static int open_objects(struct agent *agent, const struct agent_options *options, struct why *why)
{
	const struct objects_options objects = {
		.sampler = agent->sampler,
		.publish = sampler_publish(agent->sampler),
		.languages = agent->languages,
		.worker = agent->worker,
		.lines = options->lines,
		.debug_dirs = options->debug_dirs,
		.debug_dirs_len = options->debug_dirs_len,
		.fetch = agent->fetch,
	};

	languages_use(agent->languages, objects.publish, worker_client_call(agent->worker));
	return objects_new(&objects, &agent->objects, why);
}

static int open_parts(struct agent *agent, bool lines, struct why *why)
{
	const struct processes_options processes = { on_process_dropped, agent, agent->worker,
		container_account_of, agent->objects, agent->sampler };
	int err;

	agent->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = agent->epoll < 0 ? -errno : fd_watch(agent->epoll, sampler_fd(agent->sampler));
	if (err == 0)
		err = fd_watch(agent->epoll, worker_client_fd(agent->worker));
	if (err == 0 && agent->fetch)
		err = fd_watch(agent->epoll, fetch_fd(agent->fetch));
	if (err == 0)
		err = kernel_names_watch(agent->kernel, agent->epoll);
	if (err == 0)
		err = processes_new(&processes, &agent->processes);
	if (err == 0 && lines)
		err = java_codes_new(agent->processes, agent->worker, &agent->tally, &agent->java);
	if (err == 0)
		err = deferred_new(agent->sampler, &agent->tally, agent->objects, agent->worker,
			&agent->deferred);
	if (err == 0)
		err = kernel_names_begin(agent->kernel, &agent->warnings);
	if (err < 0)
		return why_set(why, err, "cannot start the agent: %s", fd_watch_text(err));
	privileges_warn(&agent->warnings);
	return 0;
}

static int open_clock(void *ctx, const struct cpu_clock *clock, int *fd)
{
	struct agent *agent = ctx;

	return worker_client_clock(agent->worker, clock, fd);
}

/* From here on its events can be read. */
static int open_sampler(struct agent *agent, const struct agent_options *options, struct why *why)
{
	struct sampler_options sampler = options->sampler;
	struct why cgroup_why;
	int err;

	sampler.open_clock = open_clock;
	sampler.scans = (struct scan_reader){ opener_call_scan, worker_client_call(agent->worker) };
	if (cgroup_tree_open(cgroup_view(), &agent->cgroups, &cgroup_why) < 0)
		warnings_add(&agent->warnings, cgroup_why.text);
	else
		sampler.v1 = cgroup_tree_v1(agent->cgroups, &sampler.v1_len, &sampler.v1_live);
	if (!pid_namespace_is_host()) {
		sampler.pid_namespace = pid_namespace_number();
		if (sampler.target == SAMPLER_ALL)
			warnings_add(&agent->warnings,
				"only the processes of this PID namespace are sampled; for the "
				"whole host share its own: --pid=host, or hostPID: true");
	}
	err = containers_new(agent->worker, agent->cgroups, &agent->containers);
	if (err == 0)
		err = languages_new(options->tables, agent->worker, &agent->languages);
	if (err < 0)
		return why_set(why, err, "cannot start the agent: %s", err_text(err));
	err = sampler_open(&sampler, &callbacks, agent, &agent->tally, &agent->sampler, why);
	containers_use(agent->containers, agent->inquiry, agent->sampler);
	if (err == 0 && options->waiting &&
		waiting_open(agent->cgroups, sampler.pid_namespace, options->waiting_processes,
			&agent->waiting, &cgroup_why) < 0)
		warnings_add(&agent->warnings, cgroup_why.text);
	agent->wait_kernel = options->sampler.kernel;
	return err == 0 && options->walls.hz ? wall_open(&options->walls, agent->sampler,
						       &agent->tally, agent->containers,
						       &agent->warnings, &agent->walls, why)
					     : err;
}

int agent_open(const struct agent_options *options, struct agent **out, struct why *why)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	int err = 0;

	if (!agent) {
		worker_client_free(options->worker);
		return why_set(why, -ENOMEM, "out of memory");
	}
	heap_give_back();
	agent->opened_ns = clock_ns(CLOCK_MONOTONIC);
	agent->hz = agent->next_hz = options->sampler.hz;
	agent->tally.timeline.unit_ns = timeline_unit_ns(
		options->sampler.hz_max ? options->sampler.hz_max : options->sampler.hz);
	agent->epoll = -1;
	agent->worker = options->worker;
	agent->evidence = options->evidence;
	if (!agent->worker)
		err = agent_open_workers(0, options->debuginfod || options->runtime_socket,
			&agent->worker, why);
	if (err == 0)
		worker_client_listen(agent->worker, on_rows, agent);
	evidence_ask(agent->evidence, agent->worker);
	if (err == 0 && options->debuginfod)
		err = fetch_open(options->debuginfod, worker_client_starter(agent->worker),
			&agent->fetch, why);
	if (err == 0 && options->runtime_socket)
		err = inquiry_open(options->runtime_socket, worker_client_starter(agent->worker),
			&agent->inquiry, why);
	if (err == 0)
		err = open_sampler(agent, options, why);
	if (err == 0)
		err = kernel_names_new(agent->sampler, &agent->kernel);
	/* Not before: with perf_event_paranoid above 2, as Debian has it, an event takes more than
	 * CAP_PERFMON to be opened, but not to run. */
	if (err == 0)
		err = privileges_drop(agent->inquiry ? FILTER_INQUIRER : FILTER_AGENT, why);
	if (err == 0)
		err = open_objects(agent, options, why);
	if (err == 0)
		err = open_parts(agent, options->lines, why);
	if (err < 0) {
		agent_free(agent);
		return err;
	}
	agent->naming = (struct naming){ .objects = agent->objects,
		.processes = agent->processes,
		.tables = java_codes_tables(agent->java),
		.worker = agent->worker,
		.kernel = agent->kernel,
		.tally = &agent->tally };
	naming_set(&agent->naming, options);
	agent->upkeep = (struct upkeep){
		.sampler = agent->sampler,
		.worker = agent->worker,
		.objects = agent->objects,
		.languages = agent->languages,
		.processes = agent->processes,
		.java = agent->java,
		.containers = agent->containers,
		.fetch = agent->fetch,
		.waiting = agent->waiting,
		.warnings = &agent->warnings,
		.ticks = options->sampler.share_ticks ? &agent->tick_limits.shares : NULL,
	};
	tick_limits_init(&agent->tick_limits, agent->sampler, agent->containers, &agent->tally,
		&agent->warnings);
	*out = agent;
	return 0;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	deferred_free(agent->deferred);
	java_codes_free(agent->java);
	processes_free(agent->processes);
	fetch_free(agent->fetch);
	inquiry_free(agent->inquiry);
	objects_free(agent->objects);
	languages_free(agent->languages);
	worker_client_free(agent->worker);
	walls_free(agent->walls);
	containers_free(agent->containers); /* gives its accounts back to the sampler */
	sampler_free(agent->sampler);
	tally_done(&agent->tally);
	fd_close(&agent->epoll);
	vec_done(&agent->execs);
	cgroup_tree_free(agent->cgroups);
	waiting_free(agent->waiting);
	kernel_names_free(agent->kernel);
	naming_done(&agent->naming);
	tick_limits_done(&agent->tick_limits);
	free(agent);
}

/* Meets the files of all processes before a tick does. */
static int meet(struct agent *agent)
{
	int err = upkeep_run(&agent->upkeep); /* files get their second of it */

	if (err == 0)
		err = containers_scan(agent->containers);
	/* A scan that a process holds up is given up: ticks meet files, too. */
	if (err == 0)
		err = sampler_scan(agent->sampler, 0, NULL, NULL);
	if (err == 0 || err == -ETIMEDOUT || err == -EAGAIN)
		err = sampler_poll(agent->sampler);
	publish_unmap(sampler_publish(agent->sampler));
	return err;
}

int agent_start(struct agent *agent, struct why *why)
{
	int err = meet(agent);

	if (err < 0)
		return why_set(why, err, "cannot scan the running processes: %s",
			fd_memory_text(err));
	err = upkeep_wait_for_tables(&agent->upkeep);
	if (err == 0)
		err = upkeep_run(&agent->upkeep); /* tables of runtimes are tried */
	if (err < 0)
		return why_set(why, err, "cannot read unwind tables: %s", fd_memory_text(err));
	agent->last_profile_ns = clock_ns(CLOCK_BOOTTIME);
	agent->last_profile_real_ns = clock_ns(CLOCK_REALTIME);
	agent->last_profile_tick_ns =
		timeline_round(&agent->tally.timeline, clock_ns(CLOCK_MONOTONIC));
	agent->account.start_ns = clock_ns(CLOCK_MONOTONIC) - agent->opened_ns;
	/* Without it there are no times of threads. */
	(void)waiting_visit(agent->waiting, agent->containers);
	err = walls_visit(agent->walls);
	if (err < 0)
		return why_set(why, err, "cannot visit the threads: %s", err_text(err));
	return sampler_start(agent->sampler, why);
}

void agent_stop(struct agent *agent)
{
	if (agent->stopped)
		return;
	sampler_stop(agent->sampler);
	(void)waiting_visit(agent->waiting, agent->containers);
	(void)walls_visit(agent->walls);
	agent->stopped = true;
	agent->ended_ns = agent->naming.spare ? clock_ns(CLOCK_MONOTONIC) : 0;
}

int agent_fd(const struct agent *agent)
{
	return agent->epoll;
}

bool agent_starter_lost(struct agent *agent)
{
	return worker_client_starter_lost(agent->worker);
}

int agent_poll(struct agent *agent)
{
	int err = upkeep_run(&agent->upkeep);

	if (err == 0)
		err = sampler_poll(agent->sampler);
	/* By index and value: the ring is read meanwhile, and more may come. */
	for (size_t i = 0; i < agent->execs.len; i++)
		deferred_watch(agent->deferred, agent->execs.data[i],
			containers_account(agent->containers, agent->execs.data[i].cgroup));
	if (agent->execs.len > 0 && err == 0)
		err = sampler_poll(agent->sampler);
	agent->execs.len = 0;
	if (err == 0)
		err = worker_client_poll(agent->worker);
	if (err == 0)
		err = kernel_names_poll(agent->kernel);
	deferred_finish(agent->deferred);
	containers_poll(agent->containers);
	if (err == 0 && !agent->stopped && clock_ns(CLOCK_MONOTONIC) >= walls_due_ns(agent->walls))
		err = walls_visit(agent->walls);
	if (err == 0 &&
		(sampler_pressed(agent->sampler) ||
			agent->tally.timeline.pending.len > TICKS_PENDING))
		err = sampler_drain(agent->sampler, agent->stopped);
	return err;
}

uint64_t agent_due_ns(const struct agent *agent)
{
	uint64_t due_ns = clock_sooner(
		upkeep_due_ns(&agent->upkeep), deferred_due_ns(agent->deferred));

	return agent->stopped ? due_ns : clock_sooner(due_ns, walls_due_ns(agent->walls));
}

void agent_set_hz(struct agent *agent, uint32_t hz)
{
	agent->next_hz = hz;
}

/* The interval ends here: counts are drained, deferred samples finished, ticks after the cut left
 * for the next interval. Even after an error the profile gets its times. */
static int cut(struct agent *agent, struct profile *out, uint64_t *drained_ns)
{
	uint64_t now_ns, cut_ns;
	int err, deferred_err;

	/* The first tick at it comes a whole period later: the count maps are switched then. */
	if (agent->next_hz != agent->hz && !agent->stopped &&
		sampler_set_hz(agent->sampler, agent->next_hz) < 0)
		warnings_add(&agent->warnings, "a CPU's clock did not accept another rate");
	now_ns = clock_ns(CLOCK_BOOTTIME);
	cut_ns = timeline_round(&agent->tally.timeline, clock_ns(CLOCK_MONOTONIC));
	err = sampler_drain(agent->sampler, agent->stopped);
	*drained_ns = clock_ns(CLOCK_MONOTONIC);
	deferred_err = upkeep_deferred(&agent->upkeep, agent->deferred,
		waits_until(*drained_ns + DEFERRED_WAIT_NS, agent->ended_ns, LAST_DEFERRED_NS));
	tally_cut(&agent->tally, agent->stopped ? UINT64_MAX : cut_ns);
	out->kinds[0].period_ns = NSEC_PER_SEC / agent->hz;
	out->start_ns = agent->last_profile_real_ns;
	out->start_tick_ns = agent->last_profile_tick_ns;
	out->duration_ns = now_ns - agent->last_profile_ns;
	agent->hz = agent->next_hz;
	agent->last_profile_ns = now_ns;
	agent->last_profile_real_ns =
		clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - now_ns);
	agent->last_profile_tick_ns = cut_ns;
	return err < 0 ? err : deferred_err;
}

int agent_profile(struct agent *agent, struct profile *out)
{
	uint64_t drained_ns;
	int cut_err, refresh_err, err;
	struct fill fill = {
		.profile = out,
		.tally = &agent->tally,
		.naming = &agent->naming,
		.objects = agent->objects,
		.processes = agent->processes,
		.containers = agent->containers,
		.account = &agent->account,
		.wait_kernel = agent->wait_kernel,
		.last = agent->stopped,
	};

	cut_err = cut(agent, out, &drained_ns);
	if (cut_err == 0)
		cut_err = wall_flush(agent->walls, agent->stopped, out, &fill.wall);
	java_codes_finish(agent->java,
		waits_until(drained_ns + JAVA_WAIT_NS, agent->ended_ns, LAST_JAVA_NS));
	/* The sources of names are read late, so that a JIT's map has its lines. */
	processes_refresh(agent->processes);
	containers_settle(agent->containers,
		waits_until(drained_ns + CONTAINERS_WAIT_NS, agent->ended_ns, LAST_CONTAINERS_NS));
	refresh_err = kernel_names_refresh(agent->kernel);
	agent->naming.containers = agent->containers;
	naming_begin(&agent->naming, out,
		waits_until(drained_ns + NAMES_WAIT_NS, agent->ended_ns, LAST_NAMES_NS),
		drained_ns);
	err = fill_names(&fill);
	warnings_add(&agent->warnings, agent->naming.note.text);
	if (err == 0)
		err = fill_samples(&fill);
	if (err == 0)
		err = fill_fit(&fill, agent->stored_max);
	warnings_add(&agent->warnings, fill.note.text);
	fill_done(&fill);
	kernel_names_next(agent->kernel);
	upkeep_next(&agent->upkeep, &agent->tally);
	return cut_err < 0 ? cut_err : refresh_err < 0 ? refresh_err : err;
}

void agent_set_cpu(struct agent *agent, uint64_t permille)
{
	file_time_limit(objects_time(agent->objects), permille);
	file_time_limit(processes_time(agent->processes), permille / 3);
}

void agent_set_stored_max(struct agent *agent, uint64_t bytes)
{
	agent->stored_max = bytes;
}

size_t agent_ticks(const struct agent *agent)
{
	return timeline_len(&agent->tally.timeline);
}

struct agent_parts agent_parts(struct agent *agent)
{
	return (struct agent_parts){ agent->containers, &agent->tick_limits, agent->processes,
		agent->waiting, agent->walls };
}

void agent_account(struct agent *agent, struct account *out)
{
	struct rusage usage;

	*out = agent->account;
	out->hz = agent->hz;
	sampler_stats(agent->sampler, &out->sampler);
	out->duration_s = out->sampler.running_s;
	objects_stats(agent->objects, &out->objects);
	languages_stats(agent->languages, &out->languages);
	out->files = agent->objects;
	processes_refused(agent->processes, out->maps_refused);
	java_codes_stats(agent->java, &out->java);
	out->java_undescribed = processes_undescribed(agent->processes);
	containers_stats(agent->containers, &out->containers);
	publish_stats(sampler_publish(agent->sampler), &out->tables);
	deferred_stats(agent->deferred, &out->deferred);
	walls_stats(agent->walls, &out->walls);
	out->threads_refused = waiting_refused(agent->waiting);
	worker_client_stats(agent->worker, &out->worker);
	getrusage(RUSAGE_SELF, &usage);
	out->agent_cpu_s = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
	out->agent_rss_max_kb = (uint64_t)usage.ru_maxrss;
}
