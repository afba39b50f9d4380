/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_options.c - the table of record's options, and their handling. */
#include "cmd/record_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/cpu_clock.h"
#include "base/fd.h"
#include "base/library.h"
#include "base/own.h"
#include "cmd/options.h"
#include "cmd/record_when.h"
#include "cmd/sources.h"
#include "cmd/target_options.h"
#include "files/language_files.h"

#define WHEN_WALL_HZ 10 /* of --when, where -e names none */
#define RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"
#define HZ_DEFAULT 99
#define MEMORY_MB_DEFAULT 32
#define RULE_DEFAULT_NS (10 * NSEC_PER_SEC) /* of --before and --after */
#define MOST_DEFAULT 20
#define COUNT_MAX 10000

enum {
	OPT_INTERVAL = OPT_OF_COMMAND,
	OPT_BY,
	OPT_STATS,
	OPT_NO_DEMANGLE,
	OPT_INLINE,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_RUNTIME_SOCKET,
	OPT_JIT_TIERS,
	OPT_JIT,
	OPT_NO_PERIOD,
	OPT_LABELS,
	OPT_BUNDLE,
	OPT_CHECK,
	OPT_TABLES,
	OPT_WHEN,
	OPT_BEFORE,
	OPT_AFTER,
	OPT_COUNT,
};

static const struct option_row rows[] = {
	{ 'a', "all", NULL, "all processes of the host (default without COMMAND)" },
	TARGET_ROWS,
	{ 'e', "event", "SOURCE,...",
		"cpu (default): what runs; wall[=HZ]: what waits, and for\nwhat, with HZ visits a "
		"second to all threads, default 20;\nwith both a profile has two kinds of values" },
	{ 'd', "duration", "TIME",
		"such as 10, 10s or 5m; default: until Ctrl-C, or the end of\nCOMMAND or of all "
		"targets" },
	{ 'o', "output", "FILE",
		"default - (stdout); may have strftime(3) patterns;\n.gz or .zst at the end "
		"compresses" },
	{ 'f', "format", "FORMAT", "one of those below; default by FILE's name, else folded" },
	{ OPT_BUNDLE, "bundle", "DIR",
		"into a folder: perf text, folded stacks, flame graph, page,\nspeedscope, pprof, "
		"and an archive of all" },
	{ OPT_WHEN, "when", "CONDITION",
		"wait until 'METRIC < N% for TIME', or >, of the TARGET, and\nwrite a bundle into "
		"a folder in DIR each time; METRIC is one\nof " RULE_METRICS_TEXT },
	{ OPT_BEFORE, "before", "TIME", "with the samples of this time before; default 10s" },
	{ OPT_AFTER, "after", "TIME", "and of this time after; default 10s" },
	{ OPT_COUNT, "count", "N",
		"end after N bundles; default: until Ctrl-C, and the last 20\nare kept" },
	{ OPT_INTERVAL, "interval", "TIME", "a new profile each interval" },
	{ OPT_BY, "by", "KEYS",
		"leading frames of a stack, from: container pod namespace\nimage unit comm pid tid "
		"cpu label:NAME; default\ncontainer,comm with -a, comm otherwise; \"\" for none" },
	HALF_ROWS,
	{ OPT_STATS, "stats", "FILE", "counts of samples, losses and costs, as JSON" },
	{ OPT_CHECK, "check", NULL,
		"also keep code of JITs and tops of stacks in FILE" CHECK_ENDING
		", for\ntools/truth" },
	MEMORY_ROW,
	TICK_LIMIT_ROW,
	{ OPT_JIT, "jit", NULL,
		"make .NET (8 and up) and JVMs (17 and up) write perf "
		"maps\nduring the capture: the processes of -p, else each with\nsamples in its "
		"code" },
	{ OPT_JIT_TIERS, "jit-tiers", "keep|fold",
		"methods compiled at several tiers; default fold: one name" },
	NATIVE_ROW,
	{ OPT_INLINE, "inline", NULL,
		"frames of inlined functions, and source lines, if there is\ndebugging "
		"information" },
	{ OPT_DEBUG_DIR, "debug-dir", "DIR",
		"also find debug files in DIR, laid out as /usr/lib/debug or\nby name; may be "
		"repeated" },
	{ OPT_TABLES, "tables", "DIR",
		"tables of language runtimes that are not built in,\nstoker-tables(5); default "
		LANGUAGE_FILES_PATH },
	{ OPT_RUNTIME_SOCKET, "runtime-socket", "PATH",
		"a runtime's API (Docker, Podman) for container names that\nno file has" },
	{ OPT_DEBUGINFOD, "debuginfod", "URLS",
		"servers of debug files; default DEBUGINFOD_URLS; \"\" for\nnone" },
	{ OPT_NO_PERIOD, "no-period", NULL,
		"perf format: samples without period, for readers that\nwould multiply by it" },
	{ OPT_LABELS, "labels", NULL,
		"folded format: a first line names the KEYS of --by, so\nthat stoker reads them "
		"as labels" },
	{ OPT_NO_DEMANGLE, "no-demangle", NULL, "keep mangled names" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker record [TARGET] [options] [-- COMMAND ...]",
	.text = "Samples the stacks of running tasks and writes them as a profile.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static void print_formats(FILE *out)
{
	fputs("\nformats:\n", out);
	for (const struct sink *s = sink_list(); s->name; s++)
		if (s->text)
			fprintf(out, "  %-11s %s; %s\n", s->name, s->text, s->endings);
	fputs("\nmarks in stacks, see stoker(1): [truncated], [guessed], [frames left "
	      "out], [names left out]\n",
		out);
}

void record_options_help(FILE *out)
{
	options_print_help(&table, out);
	print_formats(out);
}

static int set_target(struct record_options *o, enum sampler_target target, struct why *why)
{
	if (o->target_given &&
		(o->target != target || target == SAMPLER_ALL || target == SAMPLER_CGROUP))
		return why_set(why, -EINVAL,
			"use only one of -a, -p, -t, --cgroup, --container, --pod and --unit");
	o->target = target;
	o->target_given = true;
	return 0;
}

static int add_ids(
	struct record_options *o, enum sampler_target target, const char *text, struct why *why)
{
	const char *name = target == SAMPLER_TIDS ? "-t" : "-p";
	int err = set_target(o, target, why);

	while (err == 0) {
		size_t len = strcspn(text, ",");
		char one[16];
		uint64_t id;
		uint32_t *slot;

		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		err = options_number(name, one, 1, INT32_MAX, &id, why);
		slot = err == 0 ? vec_add(&o->ids) : NULL;
		if (!slot)
			return err < 0 ? err : why_set(why, -ENOMEM, "out of memory");
		*slot = (uint32_t)id;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
	return err;
}

static int set_rate(struct record_options *o, const char *text, struct why *why)
{
	uint64_t hz;
	int err = options_number("-F", text, 1, CPU_CLOCK_HZ_MAX, &hz, why);

	o->hz = (uint32_t)hz;
	return err;
}

static int set_memory(struct record_options *o, const char *text, struct why *why)
{
	uint64_t mb;
	int err = options_number(
		"--memory", text, SAMPLER_MEMORY_MB_MIN, SAMPLER_MEMORY_MB_MAX, &mb, why);

	if (err == 0)
		o->memory_bytes = mb << 20;
	return err;
}

static int set_tick_limit(struct record_options *o, const char *text, struct why *why)
{
	uint64_t us;
	int err = options_number("--tick-limit", text, 0, SAMPLER_TICK_LIMIT_US_MAX, &us, why);

	if (err == 0)
		o->tick_limit_ns = us * 1000;
	return err;
}

static int set_tiers(struct record_options *o, const char *text, struct why *why)
{
	o->keep_tiers = strcmp(text, "keep") == 0;
	if (!o->keep_tiers && strcmp(text, "fold") != 0)
		return why_set(why, -EINVAL, "--jit-tiers: expected keep or fold, not %s", text);
	return 0;
}

static int set_native(struct record_options *o, const char *text, struct why *why)
{
	o->keep_native = strcmp(text, "show") == 0;
	if (!o->keep_native && strcmp(text, "hide") != 0)
		return why_set(
			why, -EINVAL, "--native-frames: expected hide or show, not %s", text);
	return 0;
}

static int set_format(struct record_options *o, const char *name, struct why *why)
{
	o->sink_format = sink_find(name);
	return o->sink_format ? 0 : why_set(why, -EINVAL, "-f: unknown format: %s", name);
}

static int add_debug_dir(struct record_options *o, const char *dir, struct why *why)
{
	const char **slot = vec_add(&o->debug_dirs);

	if (!slot)
		return why_set(why, -ENOMEM, "out of memory");
	*slot = dir;
	return 0;
}

static int take_target(struct record_options *o, int id, const char *arg, struct why *why)
{
	if (id == 'a')
		return set_target(o, SAMPLER_ALL, why);
	if (id == 'p')
		return add_ids(o, SAMPLER_TGIDS, arg, why);
	if (id == 't')
		return add_ids(o, SAMPLER_TIDS, arg, why);
	o->cgroup = arg;
	o->cgroup_kind = id == OPT_CONTAINER ? TARGET_CONTAINER
		: id == OPT_POD              ? TARGET_POD
		: id == OPT_UNIT             ? TARGET_UNIT
					     : TARGET_CGROUP;
	return set_target(o, SAMPLER_CGROUP, why);
}

static int take_flag(struct record_options *o, int id)
{
	o->user |= id == OPT_USER;
	o->kernel |= id == OPT_KERNEL;
	o->no_demangle |= id == OPT_NO_DEMANGLE;
	o->lines |= id == OPT_INLINE;
	o->jit |= id == OPT_JIT;
	o->check |= id == OPT_CHECK;
	o->sink.no_period |= id == OPT_NO_PERIOD;
	o->sink.label_line |= id == OPT_LABELS;
	o->quiet |= id == 'q';
	o->help |= id == 'h';
	return 0;
}

static int set_rule_time(
	const char *name, const char *text, uint64_t most_ns, uint64_t *ns, struct why *why)
{
	char least[32], most[32];
	int err = options_duration(name, text, ns, why);

	amount_put(AMOUNT_DURATION, NSEC_PER_SEC, least, sizeof(least));
	amount_put(AMOUNT_DURATION, most_ns, most, sizeof(most));
	if (err == 0 && (*ns < NSEC_PER_SEC || *ns > most_ns))
		return why_set(
			why, -EINVAL, "%s: %s is not from %s to %s", name, text, least, most);
	return err;
}

static int set_rule_part(struct record_options *o, int id, const char *arg, struct why *why)
{
	o->rule_given = true;
	if (id == OPT_BEFORE)
		return set_rule_time(
			"--before", arg, 60 * NSEC_PER_SEC, &o->rule.before_ns, why);
	if (id == OPT_AFTER)
		return set_rule_time("--after", arg, 600 * NSEC_PER_SEC, &o->rule.capture_ns, why);
	return options_number("--count", arg, 1, COUNT_MAX, &o->rule.count, why);
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct record_options *o = ctx;

	switch (id) {
	case 'F':
		return set_rate(o, arg, why);
	case 'e':
		return sources_add(&o->sources, arg, why);
	case 'd':
		return options_duration("-d", arg, &o->duration_ns, why);
	case OPT_INTERVAL:
		return options_duration("--interval", arg, &o->interval_ns, why);
	case OPT_JIT_TIERS:
		return set_tiers(o, arg, why);
	case OPT_NATIVE_FRAMES:
		return set_native(o, arg, why);
	case OPT_MEMORY:
		return set_memory(o, arg, why);
	case OPT_TICK_LIMIT:
		return set_tick_limit(o, arg, why);
	case 'f':
		return set_format(o, arg, why);
	case OPT_BY:
		o->sink.by_len = 0;
		o->by_given = true;
		return sink_parse_by(arg, &o->sink, why);
	case OPT_DEBUG_DIR:
		return add_debug_dir(o, arg, why);
	case OPT_TABLES:
		o->tables = arg;
		return 0;
	case OPT_RUNTIME_SOCKET:
		o->runtime_socket = arg;
		return 0;
	case OPT_DEBUGINFOD:
		o->debuginfod = arg;
		o->debuginfod_given = true;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_BUNDLE:
		o->bundle = arg;
		return 0;
	case OPT_WHEN:
		o->when = arg;
		return 0;
	case OPT_BEFORE:
	case OPT_AFTER:
	case OPT_COUNT:
		return set_rule_part(o, id, arg, why);
	case OPT_STATS:
		o->stats_path = arg;
		return 0;
	case 'a':
	case 'p':
	case 't':
	case OPT_CGROUP:
	case OPT_CONTAINER:
	case OPT_POD:
	case OPT_UNIT:
		return take_target(o, id, arg, why);
	default:
		return take_flag(o, id);
	}
}

/* The variable is for other programs, too: a value that we cannot use is no error. NULL: none. */
static const char *servers_of_environment(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && (strstr(urls, "http://") || strstr(urls, "https://")) ? urls : NULL;
}

/* Defaults of options that were not given. */
static void set_defaults(struct record_options *o)
{
	bool whole_host = o->target == SAMPLER_ALL && (o->target_given || !o->argv[0]);

	if (!o->debuginfod_given)
		o->debuginfod = servers_of_environment();
	else if (o->debuginfod[strspn(o->debuginfod, " ")] == '\0')
		o->debuginfod = NULL;
	if (!o->sources.cpu && !o->sources.walls.hz)
		o->sources.cpu = true;
	if (o->when && !o->sources.walls.hz) {
		sources_put_walls(&o->sources, WHEN_WALL_HZ);
		o->sources.walls.optional = true;
	}
	if (!o->user && !o->kernel)
		o->user = o->kernel = true;
	o->sources.walls.user = o->user;
	o->sources.walls.spans_ns = o->when ? RECORD_WHEN_SPANS_NS : 0;
	if (!o->sink_format)
		o->sink_format = sink_for_path(o->output);
	if (!o->sink_format)
		o->sink_format = sink_find("folded");
	if (o->by_given)
		return;
	if (whole_host)
		o->sink.by[o->sink.by_len++] = PROFILE_KEY_CONTAINER;
	o->sink.by[o->sink.by_len++] = PROFILE_KEY_COMM;
}

static int set_check_path(struct record_options *o, struct why *why)
{
	if (!o->check)
		return 0;
	if (o->bundle || o->interval_ns || strcmp(o->output, "-") == 0 || strchr(o->output, '%'))
		return why_set(why, -EINVAL,
			"--check needs one -o FILE, without a pattern, --interval or --bundle: it "
			"writes FILE" CHECK_ENDING);
	o->keep_native = true; /* what is judged is native */
	if (asprintf(&o->check_path, "%s" CHECK_ENDING, o->output) < 0) {
		o->check_path = NULL;
		return why_set(why, -ENOMEM, "out of memory");
	}
	return 0;
}

/* The target of a rule may not be there yet, and may come back as another cgroup: all that the
 * target could be is sampled. */
static int set_rule_target(struct record_options *o, struct why *why)
{
	struct rule *rule = &o->rule;
	char *name;

	if (o->cgroup && strlen(o->cgroup) >= RULE_TEXT_MAX)
		return why_set(why, -EINVAL, "the name of the target is too long");
	if (o->cgroup && o->cgroup_kind == TARGET_CGROUP)
		return why_set(why, -EINVAL,
			"--when is for --container, --pod, --unit, a process (-p) or the host "
			"(-a)");
	if (o->target == SAMPLER_TIDS || o->ids.len > 1 || o->argv[0])
		return why_set(why, -EINVAL,
			"--when is for one process: it excludes -t, a list of processes and a "
			"COMMAND");
	if (o->ids.len > 0)
		rule->pid = o->ids.data[0];
	if (!o->cgroup)
		return 0;
	name = o->cgroup_kind == TARGET_POD  ? rule->pod
		: o->cgroup_kind == TARGET_UNIT ? rule->unit
						: rule->container;
	snprintf(name, RULE_TEXT_MAX, "%s", o->cgroup);
	o->cgroup = NULL;
	o->target = SAMPLER_ALL;
	return 0;
}

static int set_rule(struct record_options *o, struct why *why)
{
	struct rule *rule = &o->rule;
	struct why text;
	int err;

	if (!o->when && o->rule_given)
		return why_set(why, -EINVAL, "--before, --after and --count need --when CONDITION");
	if (!o->when)
		return 0;
	if (!o->bundle)
		return why_set(why, -EINVAL, "--when needs --bundle DIR, for its bundles");
	if (o->check)
		return why_set(why, -EINVAL, "--when excludes --check");
	err = set_rule_target(o, why);
	if (err < 0)
		return err;
	err = rule_parse(o->when, rule, &text);
	if (err == 0)
		err = rule_check(rule, &text);
	if (err < 0)
		return why_set(why, err, "--when '%.100s': %.300s", o->when, text.text);
	snprintf(rule->name, sizeof(rule->name), "%s", rule_metric_name(rule->metric));
	rule->before_ns = rule->before_ns ? rule->before_ns : RULE_DEFAULT_NS;
	rule->capture_ns = rule->capture_ns ? rule->capture_ns : RULE_DEFAULT_NS;
	rule->most = rule->count > MOST_DEFAULT ? rule->count : MOST_DEFAULT;
	rule->hz = o->hz;
	rule->once = true;
	return 0;
}

int record_options_parse(struct record_options *o, int argc, char **argv, struct why *why)
{
	int rest, err;

	*o = (struct record_options){ .target = SAMPLER_ALL, .hz = HZ_DEFAULT, .output = "-" };
	o->memory_bytes = (uint64_t)MEMORY_MB_DEFAULT << 20;
	err = options_parse(&table, argc, argv, take_option, o, &rest, why);
	if (err < 0 || o->help)
		return err;
	o->argv = argv + rest;
	if (!o->argv[0] && rest > 1 && strcmp(argv[rest - 1], "--") == 0)
		return why_set(why, -EINVAL, "a COMMAND is missing after --");
	if (o->argv[0] && strcmp(argv[rest - 1], "--") != 0)
		return why_set(why, -EINVAL, "unexpected argument: %s; write -- before a COMMAND",
			o->argv[0]);
	if (o->interval_ns && o->interval_ns < NSEC_PER_SEC)
		return why_set(why, -EINVAL, "--interval: at least one second");
	if (o->interval_ns && strcmp(o->output, "-") != 0 && !strchr(o->output, '%'))
		return why_set(why, -EINVAL,
			"--interval writes several files: -o %s needs a pattern such as "
			"out-%%H%%M%%S.folded",
			o->output);
	if (o->bundle && (o->interval_ns || o->sink_format || strcmp(o->output, "-") != 0))
		return why_set(why, -EINVAL, "--bundle excludes -o, -f and --interval");
	if (o->user && o->kernel)
		return why_set(why, -EINVAL,
			"--user and --kernel exclude each other; without them both halves are "
			"sampled");
	if (o->bundle)
		o->sink_format = sink_find("html");
	set_defaults(o);
	err = set_rule(o, why);
	if (err == 0 && !o->bundle)
		err = sink_check_options(o->sink_format, &o->sink, why);
	if (err == 0 && !o->sources.cpu)
		err = sink_check_waits(o->sink_format, "-e wall", why);
	return err < 0 ? err : set_check_path(o, why);
}

static int check_rate(const struct record_options *o, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	unsigned long max;

	if (fd_read_path(RATE_PATH, 64, &text) < 0)
		return 0;
	max = strtoul(text.data, NULL, 10);
	if (max > 0 && o->hz > max)
		return why_set(why, -EINVAL,
			"-F %u: this kernel allows at most %lu Hz; raise "
			"kernel.perf_event_max_sample_rate or use a lower frequency",
			o->hz, max);
	return 0;
}

/* The first that is, or is not, there; NULL: none. */
static const uint32_t *find_target(const struct record_options *o, bool there)
{
	char path[64];

	for (size_t i = 0; i < o->ids.len; i++) {
		snprintf(path, sizeof(path), "/proc/%u", o->ids.data[i]);
		if ((access(path, F_OK) == 0) == there)
			return &o->ids.data[i];
	}
	return NULL;
}

static int check_targets(const struct record_options *o, struct why *why)
{
	const uint32_t *gone = find_target(o, false);

	return gone ? why_set(why, -ESRCH,
			      "no such %s: %u; it has ended or is of another PID namespace, or "
			      "proc is not mounted at /proc",
			      o->target == SAMPLER_TIDS ? "thread" : "process", *gone)
		    : 0;
}

bool record_options_alive(const struct record_options *o)
{
	return (o->target != SAMPLER_TGIDS && o->target != SAMPLER_TIDS) || find_target(o, true);
}

int record_options_check(const struct record_options *o, struct why *why)
{
	int err = check_rate(o, why);

	return err < 0 ? err : check_targets(o, why);
}

int record_options_servers(struct record_options *o, struct log *log, struct why *why)
{
	int err = o->debuginfod
		? library_check(o->debuginfod_given ? "--debuginfod" : "DEBUGINFOD_URLS", "libcurl",
			  "--debug-dir", why)
		: 0;

	if (err == 0 || o->debuginfod_given)
		return err;
	log_warn(log, "%s", why->text);
	o->debuginfod = NULL;
	return 0;
}

void record_options_done(struct record_options *o)
{
	vec_done(&o->ids);
	vec_done(&o->debug_dirs);
	free(o->check_path);
}
