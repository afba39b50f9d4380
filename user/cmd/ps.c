/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ps.c - containers, pods and units: what CPU each has now, and how well it can be profiled. A
 * short capture of the whole host tells both; a row is found in it by what its samples are called.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "cgroup/tree.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/ps_runtime.h"
#include "daemon/agent.h"
#include "daemon/cgroup_view.h"
#include "daemon/container_list.h"

#define HZ 99
#define MEMORY_BYTES (32UL << 20)
#define TICK_MS 200
#define SHORT_ID 12
#define POD_NAME_MAX (2 * STATE_NAME_MAX + 2)

struct row {
	const char *kind;
	char name[STATE_NAME_MAX], pod[POD_NAME_MAX];
	const char *path;
	struct ps_runtime runtime;
	uint64_t samples, complete;
};

struct ps {
	struct cgroup_tree *tree;
	struct container_list list;
	struct agent *agent;
	VEC(struct row) rows;
	uint64_t duration_ns;
	double seconds;
	bool all, help;
};

static const struct option_row option_rows[] = {
	{ 'a', "all", NULL, "also units in which nothing runs" },
	{ 'd', "duration", "SECONDS", "how long to look; default 1" },
	{ 'h', "help", NULL, "this text" },
};

static const struct options table = {
	.usage = "stoker ps [options]",
	.text = "Lists containers, pods and systemd units: the CPU that each takes now (100 is one "
		"CPU),\nhow many of its user stacks reach their root, which language runtime it "
		"is, "
		"and of\nhow many such processes there are perf maps.",
	.rows = option_rows,
	.rows_len = ARRAY_SIZE(option_rows),
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_row(
	struct ps *ps, const char *kind, const char *name, const char *path, struct row **out)
{
	struct row *row = vec_add(&ps->rows);

	if (!row)
		return -ENOMEM;
	row->kind = kind;
	row->path = path;
	/* Ids as samples have them: as much of one as is usual. */
	snprintf(row->name, sizeof(row->name), "%.*s",
		strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64 ? SHORT_ID : 255,
		name);
	*out = row;
	return 0;
}

static void set_pod(struct row *row, const char *namespace_, const char *pod)
{
	snprintf(row->pod, sizeof(row->pod), "%s%s%s", namespace_, namespace_[0] ? "/" : "", pod);
}

/* The processes of all cgroups below the row's. */
static void look_at_processes(struct ps *ps, struct row *row)
{
	size_t len = strlen(row->path);

	vec_each (&ps->list.all, item) {
		_cleanup_fd_ int fd = -1;

		if (strncmp(item->path, row->path, len) != 0 ||
			(item->path[len] != '\0' && item->path[len] != '/'))
			continue;
		if (cgroup_tree_open_id(ps->tree, item->cgroup, &fd) == 0)
			ps_runtime_look(fd, &row->runtime);
	}
}

static int add_items(struct ps *ps)
{
	int err = 0;

	vec_each (&ps->list.all, item) {
		bool container = container_list_is_container(item);
		struct row *row;

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
		if (container && item->facts && item->facts->pod[0])
			set_pod(row, item->facts->namespace_, item->facts->pod);
		else if (container)
			set_pod(row, "", item->identity.pod_uid);
		look_at_processes(ps, row);
	}
	return err;
}

static struct row *find_pod(struct ps *ps, const char *pod)
{
	vec_each (&ps->rows, row)
		if (strcmp(row->kind, "pod") == 0 && strcmp(row->pod, pod) == 0)
			return row;
	return NULL;
}

/* What its containers have, together. */
static int add_pods(struct ps *ps)
{
	size_t len = ps->rows.len;

	for (size_t i = 0; i < len; i++) {
		struct row one = ps->rows.data[i], *pod;
		const char *slash = strchr(one.pod, '/');
		int err = 0;

		if (one.pod[0] == '\0')
			continue;
		pod = find_pod(ps, one.pod);
		if (!pod)
			err = add_row(ps, "pod", slash ? slash + 1 : one.pod, "", &pod);
		if (err < 0)
			return err;
		memcpy(pod->pod, one.pod, sizeof(pod->pod));
		pod->samples += one.samples;
		pod->complete += one.complete;
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
	while (err == 0 && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		poll(&fd, 1, TICK_MS);
		err = agent_tick(ps->agent);
	}
	agent_stop(ps->agent);
	if (err == 0)
		err = agent_profile(ps->agent, out);
	ps->seconds = (double)out->duration_ns / (double)NSEC_PER_SEC;
	return err < 0 ? why_set(why, err, "cannot sample: %s", err_text(err)) : 0;
}

static bool is_row_of(
	const struct profile *p, const struct profile_labels *l, const struct row *row)
{
	const char *pod = profile_text(p, l->pod), *slash = strchr(row->pod, '/');

	return strcmp(profile_text(p, l->container), row->name) == 0 &&
		strcmp(slash ? slash + 1 : row->pod, pod) == 0 &&
		(!slash ||
			strncmp(profile_text(p, l->namespace_), row->pod,
				(size_t)(slash - row->pod)) == 0);
}

static struct row *row_of(struct ps *ps, const struct profile *p, const struct profile_labels *l)
{
	vec_each (&ps->rows, row)
		if (is_row_of(p, l, row))
			return row;
	return NULL;
}

static bool is_complete(const struct profile *p, uint32_t stack)
{
	uint32_t len = p->stacks.data[stack].len;

	return len == 0 || profile_stack_frame(p, stack, len - 1)->class != PROFILE_MARK;
}

static int count(struct ps *ps, const struct profile *p)
{
	struct row *rest = NULL;
	int err = add_row(ps, "host", "host", "", &rest);

	if (err < 0)
		return err;
	rest = &ps->rows.data[ps->rows.len - 1];
	vec_each (&p->samples, sample) {
		struct row *row = row_of(ps, p, &p->labels.data[sample->labels]);

		row = row ? row : rest;
		row->samples += sample->value;
		row->complete += is_complete(p, sample->stack) ? sample->value : 0;
	}
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Text of strangers, for a terminal. */
static void print_clean(const char *text, int width)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	if (utf8_put_clean(&clean, text[0] ? text : "-") == 0)
		printf("%-*s ", width, clean.data);
}

static void print_row(const struct ps *ps, const struct row *row)
{
	printf("%-10s ", row->kind);
	print_clean(row->name, 28);
	print_clean(row->pod, 28);
	printf("%6.1f ", 100.0 * (double)row->samples / (HZ * (ps->seconds > 0 ? ps->seconds : 1)));
	if (row->samples > 0)
		printf("%6.1f ", 100.0 * (double)row->complete / (double)row->samples);
	else
		printf("%6s ", "-");
	printf("%-8s ", row->runtime.name ? row->runtime.name : "-");
	if (row->runtime.processes > 0)
		printf("%zu/%zu\n", row->runtime.mapped, row->runtime.processes);
	else
		printf("-\n");
}

static void print_all(struct ps *ps)
{
	printf("%-10s %-28s %-28s %6s %6s %-8s %s\n", "KIND", "NAME", "POD", "CPU%", "WHOLE%",
		"RUNTIME", "MAPS");
	if (ps->rows.len > 0)
		qsort(ps->rows.data, ps->rows.len, sizeof(*ps->rows.data), by_samples);
	vec_each (&ps->rows, row) {
		bool unit = strcmp(row->kind, "service") == 0 || strcmp(row->kind, "scope") == 0 ||
			strcmp(row->kind, "session") == 0;

		if (ps->all || !unit || row->samples > 0)
			print_row(ps, row);
	}
}

static int run(struct ps *ps, struct why *why)
{
	_cleanup_(profile_done) struct profile profile;
	int err = profile_init(&profile);

	why_set(why, 0, "%s", err_text(err));
	if (err == 0)
		err = cgroup_tree_open(cgroup_view(), &ps->tree, why);
	if (err == 0)
		err = container_list_read(ps->tree, &ps->list, why);
	if (err == 0)
		err = capture(ps, &profile, why);
	if (err < 0)
		return err;
	err = add_items(ps);
	if (err == 0)
		err = count(ps, &profile);
	if (err == 0)
		err = add_pods(ps);
	if (err < 0)
		return why_set(why, err, "%s", err_text(err));
	print_all(ps);
	return 0;
}

static int take(void *ctx, int id, const char *arg, struct why *why)
{
	struct ps *ps = ctx;

	ps->help |= id == 'h';
	ps->all |= id == 'a';
	return id == 'd' ? options_seconds("-d", arg, &ps->duration_ns, why) : 0;
}

int cmd_ps(int argc, char **argv, struct log *log)
{
	struct ps ps = { .duration_ns = NSEC_PER_SEC };
	struct why why;
	int rest, err = options_parse(&table, argc, argv, take, &ps, &rest, &why);

	if (err == 0 && !ps.help && rest < argc)
		err = why_set(&why, -EINVAL, "what is %s?", argv[rest]);
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
	agent_free(ps.agent);
	container_list_done(&ps.list);
	cgroup_tree_free(ps.tree);
	vec_done(&ps.rows);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
