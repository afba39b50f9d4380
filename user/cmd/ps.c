/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ps.c - lists containers, pods and units with their current CPU use and how well they can be
 * profiled, both from a short capture of the whole host; the labels of samples select a row. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "cgroup/tree.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/ps_print.h"
#include "agent/agent.h"
#include "client/client.h"
#include "guard/kill_switch.h"
#include "containers/cgroup_view.h"
#include "containers/container_list.h"
#include "profile/stack_state.h"
#include "waiting/waiting.h"

#define HZ 99
#define MEMORY_BYTES (32UL << 20)
#define TICK_MS 200
#define SHORT_ID 12

enum {
	OPT_JSON = 256,
};

struct ps {
	struct cgroup_tree *tree;
	struct container_list list;
	struct worker_client *worker; /* until the agent has it */
	struct worker_client *lent;   /* the same, as long as the agent is open */
	struct agent *agent;
	VEC(struct ps_row) rows;
	uint64_t duration_ns;
	double seconds;
	bool all, json, help;
};

static const struct option_row option_rows[] = {
	{ 'a', "all", NULL, "also list idle units" },
	{ 'd', "duration", "TIME", "length of the measurement; default 1s" },
	{ OPT_JSON, "json", NULL, "print JSON, with ids, images, labels and cgroups" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker ps [options]",
	.text = "Lists containers, pods and systemd units: current CPU use (100 is one CPU), share "
		"of\ncomplete user stacks, language runtime, and number of its processes with perf "
		"maps; and\nwhat its threads did: share of waiting for a CPU (READY%), of other "
		"waits (BLOCKED%), of\ninterrupts and the hypervisor (OTHER%), where 100 is one "
		"thread.",
	.rows = option_rows,
	.rows_len = ARRAY_SIZE(option_rows),
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_row(
	struct ps *ps, const char *kind, const char *name, const char *path, struct ps_row **out)
{
	struct ps_row *row = vec_add(&ps->rows);

	if (!row)
		return -ENOMEM;
	row->kind = kind;
	row->cgroup = path;
	row->id = row->pod = row->namespace_ = "";
	/* Ids as samples have them: as much of one as is usual. */
	snprintf(row->name, sizeof(row->name), "%.*s",
		strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64 ? SHORT_ID : 255,
		name);
	*out = row;
	return 0;
}

static void describe_container(struct ps_row *row, const struct container_list_item *item)
{
	const struct state_facts *facts = item->facts;

	row->id = item->identity.container;
	row->facts = facts;
	row->pod = item->identity.pod_uid;
	if (facts && facts->pod[0]) {
		row->pod = facts->pod;
		row->namespace_ = facts->namespace_;
	}
}

/* The processes of all cgroups below the row's. */
static void look_at_processes(struct ps *ps, struct ps_row *row)
{
	size_t len = strlen(row->cgroup);

	vec_each (&ps->list.all, item) {
		_cleanup_fd_ int fd = -1;

		if (strncmp(item->path, row->cgroup, len) != 0 ||
			(item->path[len] != '\0' && item->path[len] != '/'))
			continue;
		if (cgroup_tree_open_id(ps->tree, item->cgroup, &fd) == 0)
			runtimes_look(ps->lent, fd, &row->runtime);
	}
}

static int add_items(struct ps *ps)
{
	int err = 0;

	vec_each (&ps->list.all, item) {
		bool container = container_list_is_container(item);
		struct ps_row *row;

		if (err < 0 ||
			(!container &&
				!(container_list_is_unit(item) &&
					item->identity.kind != CGROUP_SLICE)))
			continue;
		err = add_row(ps,
			item->identity.kind == CGROUP_OTHER ? "containerd"
							    : cgroup_kind_name(item->identity.kind),
			container_list_name(item), item->path, &row);
		if (err < 0)
			continue;
		if (container)
			describe_container(row, item);
		look_at_processes(ps, row);
	}
	return err;
}

static struct ps_row *find_pod(struct ps *ps, const struct ps_row *of)
{
	vec_each (&ps->rows, row)
		if (strcmp(row->kind, "pod") == 0 && strcmp(row->pod, of->pod) == 0 &&
			strcmp(row->namespace_, of->namespace_) == 0)
			return row;
	return NULL;
}

static void add_split(struct ps_row *row, uint32_t threads, const struct thread_split *split)
{
	row->threads += threads;
	thread_split_add(&row->split, split);
	thread_split_throttle(&row->split, &row->split, split->throttled_ns);
}

/* Adds a row per pod, the sum of its containers. */
static int add_pods(struct ps *ps)
{
	size_t len = ps->rows.len;

	for (size_t i = 0; i < len; i++) {
		struct ps_row one = ps->rows.data[i], *pod;
		int err = 0;

		if (one.pod[0] == '\0')
			continue;
		pod = find_pod(ps, &one);
		if (!pod)
			err = add_row(ps, "pod", one.pod, "", &pod);
		if (err < 0)
			return err;
		pod->pod = one.pod;
		pod->namespace_ = one.namespace_;
		pod->samples += one.samples;
		pod->walked += one.walked;
		pod->complete += one.complete;
		add_split(pod, one.threads, &one.split);
	}
	return 0;
}

/* ---- the capture ----------------------------------------------------------------------------- */

static int capture(struct ps *ps, struct profile *out, struct why *why)
{
	const struct agent_options options = {
		.sampler = { .hz = HZ,
			.target = SAMPLER_ALL,
			.cgroup_fd = -1,
			.user = true,
			.memory_bytes = MEMORY_BYTES },
		.waiting = true,
		.waiting_processes = ps->json,
		.worker = TAKE_PTR(ps->worker),
	};
	struct pollfd fd = { .events = POLLIN };
	uint64_t end_ns;
	int err = agent_open(&options, &ps->agent, why);

	if (err == 0)
		err = agent_start(ps->agent, why);
	if (err < 0)
		return err;
	fd.fd = agent_fd(ps->agent);
	end_ns = clock_ns(CLOCK_MONOTONIC) + ps->duration_ns;
	for (; err == 0 && clock_ns(CLOCK_MONOTONIC) < end_ns; err = agent_poll(ps->agent)) {
		if (kill_switch_check(why) < 0)
			return -EPERM;
		poll(&fd, 1, TICK_MS);
	}
	agent_stop(ps->agent);
	if (err == 0)
		err = agent_profile(ps->agent, out);
	ps->seconds = (double)out->duration_ns / (double)NSEC_PER_SEC;
	return err < 0 ? why_set(why, err, "cannot sample: %s", err_text(err)) : 0;
}

static struct ps_row *row_of(
	struct ps *ps, const char *container, const char *pod, const char *namespace_)
{
	vec_each (&ps->rows, row)
		if (strcmp(container, row->name) == 0 && strcmp(pod, row->pod) == 0 &&
			(row->namespace_[0] == '\0' || strcmp(namespace_, row->namespace_) == 0))
			return row;
	return NULL;
}

/* Threads of no row are the host's. */
static void count_threads(struct ps *ps, struct ps_row *rest)
{
	size_t len;
	const struct waiting_row *rows = waiting_rows(agent_parts(ps->agent).waiting, &len);

	for (size_t i = 0; i < len; i++) {
		struct ps_row *row =
			row_of(ps, rows[i].container, rows[i].pod, rows[i].namespace_);

		add_split(row ? row : rest, rows[i].threads, &rows[i].sum);
	}
}

static int count(struct ps *ps, const struct profile *p)
{
	struct ps_row *rest = NULL;
	int err = add_row(ps, "host", "host", "", &rest);

	if (err < 0)
		return err;
	rest = &ps->rows.data[ps->rows.len - 1];
	vec_each (&p->samples, sample) {
		struct ps_row *row =
			row_of(ps, profile_label_text(p, sample->labels, PROFILE_KEY_CONTAINER),
				profile_label_text(p, sample->labels, PROFILE_KEY_POD),
				profile_label_text(p, sample->labels, PROFILE_KEY_NAMESPACE));
		enum stack_state state = stack_state_of(p, sample->stack);

		row = row ? row : rest;
		row->samples += sample->value;
		row->walked += state != STACK_STATE_NONE ? sample->value : 0;
		row->complete += state == STACK_STATE_COMPLETE ? sample->value : 0;
	}
	count_threads(ps, rest);
	return 0;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct ps_row *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool is_idle_unit(const struct ps_row *row)
{
	bool unit = strcmp(row->kind, "service") == 0 || strcmp(row->kind, "scope") == 0 ||
		strcmp(row->kind, "session") == 0;

	return unit && row->samples == 0;
}

static int print_all(struct ps *ps)
{
	size_t len = 0, processes_len;
	const struct wait_sum *processes =
		waiting_processes(agent_parts(ps->agent).waiting, &processes_len);

	vec_each (&ps->rows, row)
		if (ps->all || !is_idle_unit(row))
			ps->rows.data[len++] = *row;
	ps->rows.len = len;
	if (len > 0)
		qsort(ps->rows.data, len, sizeof(*ps->rows.data), by_samples);
	if (ps->json)
		return ps_print_json(ps->rows.data, len, HZ, ps->seconds, processes, processes_len);
	ps_print_table(ps->rows.data, len, HZ, ps->seconds);
	return 0;
}

static int run(struct ps *ps, struct why *why)
{
	_cleanup_(profile_done) struct profile profile;
	int err = profile_init(&profile);

	why_set(why, 0, "%s", err_text(err));
	if (err == 0)
		err = kill_switch_check(why);
	if (err == 0)
		err = cgroup_tree_open(cgroup_view(), &ps->tree, why);
	if (err == 0)
		err = agent_open_workers(0, false, &ps->worker, why);
	ps->lent = ps->worker;
	if (err == 0)
		err = container_list_read(ps->worker, ps->tree, &ps->list, why);
	if (err < 0 || (err = capture(ps, &profile, why)) < 0)
		return err;
	err = add_items(ps);
	err = err < 0 ? err : count(ps, &profile);
	err = err < 0 ? err : add_pods(ps);
	err = err < 0 ? err : print_all(ps);
	return err < 0 ? why_set(why, err, "%s", err_text(err)) : 0;
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct ps *ps = ctx;

	ps->help |= id == 'h';
	ps->all |= id == 'a';
	ps->json |= id == OPT_JSON;
	return id == 'd' ? options_duration("-d", arg, &ps->duration_ns, why) : 0;
}

int cmd_ps(int argc, char **argv, struct log *log)
{
	struct ps ps = { .duration_ns = NSEC_PER_SEC };
	struct why why;
	int rest, err = options_parse(&table, argc, argv, take_option, &ps, &rest, &why);

	if (err == 0 && !ps.help && rest < argc)
		err = why_set(&why, -EINVAL, "unexpected argument: %s", argv[rest]);
	if (err < 0) {
		log_error(log, "%s; see `stoker ps --help`", why.text);
		return EXIT_USAGE;
	}
	if (ps.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	err = run(&ps, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	worker_client_free(ps.worker);
	agent_free(ps.agent);
	container_list_done(&ps.list);
	cgroup_tree_free(ps.tree);
	vec_done(&ps.rows);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
