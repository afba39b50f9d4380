/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/convert.c - converts a profile's file to another format, or a part of its time. It needs no
 * privilege and drops what it has, because the file is untrusted. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/log_lost.h"
#include "cmd/options.h"
#include "output/output.h"
#include "profile/slice.h"
#include "sink/sink.h"

#define SECONDS_MAX 1000000000ULL
#define NS_DIGITS 9

enum {
	OPT_BY = 256,
	OPT_SINCE,
	OPT_UNTIL,
	OPT_NO_PERIOD,
	OPT_LABELS,
	OPT_PERFVIEW,
};

static const struct option_row rows[] = {
	{ 'o', "output", "FILE", "default - (stdout); .gz or .zst at the end compresses" },
	{ 'f', "format", "FORMAT", "as for record; default by FILE's name, else folded" },
	{ OPT_BY, "by", "KEYS",
		"leading frames of a stack, as for record; default the\nlabels that the file "
		"names" },
	{ 'e', "event", "NAME,...",
		"the events or kinds of value to read, each a kind of\nthe output; default the "
		"first event of perf text, and all\nkinds of folded stacks" },
	{ OPT_SINCE, "since", "SECONDS", "start, counted from the capture's start" },
	{ OPT_UNTIL, "until", "SECONDS", "end (exclusive), counted from the capture's start" },
	{ OPT_NO_PERIOD, "no-period", NULL, "perf format: samples without period" },
	{ OPT_LABELS, "labels", NULL,
		"folded format: a first line names the KEYS of --by, so\nthat stoker reads them "
		"as labels" },
	{ OPT_PERFVIEW, "perfview", NULL,
		"perf format: with the CPUs and the lines of idle time\nthat PerfView needs; "
		"the format perfview has them" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker convert FILE [-o FILE] [options]",
	.text = "Reads folded stacks, perf text, a .stoker file or a segment of the store, "
		"compressed\nor not, and writes another format.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct convert {
	struct input input;
	const char *output;
	const struct sink *sink;
	struct sink_options options;
	uint64_t since_ns, until_ns;
	bool by_given, part, quiet, help;

	struct output out;
};

/* Decimal, to the nanosecond: where a range ends, a sample is in it or not. */
static int take_moment(const char *name, const char *text, uint64_t *ns, struct why *why)
{
	uint64_t value = 0, max = SECONDS_MAX * NSEC_PER_SEC;
	int digits = 0, fraction = -1;

	for (const char *c = text; *c; c++) {
		if (*c == '.' && fraction < 0) {
			fraction = 0;
			continue;
		}
		if (*c < '0' || *c > '9' || fraction == NS_DIGITS || value > max / 10)
			return why_set(
				why, -EINVAL, "%s: %s is not a number of seconds", name, text);
		value = value * 10 + (uint64_t)(*c - '0');
		fraction += fraction >= 0;
		digits++;
	}
	for (int i = fraction < 0 ? 0 : fraction; i < NS_DIGITS && value <= max / 10; i++)
		value *= 10;
	*ns = value;
	return digits > 0 ? 0 : why_set(why, -EINVAL, "%s: missing number of seconds", name);
}

static int take_format(struct convert *c, const char *name, struct why *why)
{
	c->sink = sink_find(name);
	return c->sink ? 0 : why_set(why, -EINVAL, "-f: unknown format: %s", name);
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct convert *c = ctx;

	c->part |= id == OPT_SINCE || id == OPT_UNTIL;
	switch (id) {
	case 'o':
		c->output = arg;
		return 0;
	case 'f':
		return take_format(c, arg, why);
	case 'e':
		c->input.event = arg;
		return 0;
	case OPT_BY:
		c->by_given = true;
		return sink_parse_by(arg, &c->options, why);
	case OPT_SINCE:
		return take_moment("--since", arg, &c->since_ns, why);
	case OPT_UNTIL:
		return take_moment("--until", arg, &c->until_ns, why);
	default:
		c->options.no_period |= id == OPT_NO_PERIOD;
		c->options.label_line |= id == OPT_LABELS;
		c->options.perfview |= id == OPT_PERFVIEW;
		c->quiet |= id == 'q';
		c->help |= id == 'h';
		return 0;
	}
}

static int parse(struct convert *c, int argc, char **argv, struct why *why)
{
	int len,
		err = options_parse_mixed(
			&table, argc, argv, take_option, c, &c->input.path, 1, &len, why);

	if (err < 0 || c->help)
		return err;
	if (len != 1)
		return why_set(why, -EINVAL, "missing FILE; use - for stdin");
	if (c->part && c->since_ns >= c->until_ns)
		return why_set(why, -EINVAL, "--since must be before --until");
	if (!c->sink)
		c->sink = sink_for_path(c->output);
	if (!c->sink)
		c->sink = sink_find("folded");
	c->options.perfview |= strcmp(c->sink->name, "perfview") == 0;
	c->out.pattern = c->output;
	c->out.gzip = (c->sink->needs & SINK_GZIP) != 0;
	return sink_check_options(c->sink, &c->options, why);
}

/* A format of one kind has the times of kind 0 alone. */
static bool is_timed(const struct convert *c, const struct profile *p)
{
	vec_each (&p->ticks, tick)
		if (c->part || c->sink->holds & SINK_KINDS ||
			p->samples.data[tick->sample].kind == 0)
			return true;
	return p->samples.len == 0;
}

/* Values that are no samples never have times. */
static bool are_waits(const struct profile *p)
{
	return strcmp(profile_kind_unit(p, 0), PROFILE_SAMPLES) != 0;
}

/* Does what was read hold what is asked for? */
static int check(struct convert *c, const struct profile *p, struct why *why)
{
	bool timed = is_timed(c, p), waits = !timed && are_waits(p);
	int err;

	if (c->part && !timed)
		return why_set(why, -EINVAL, "%s%s no times, which --since and --until need",
			c->input.path, waits ? ": waits have" : " has");
	err = waits ? sink_check_waits(c->sink, c->input.path, why)
		    : sink_check_times(c->sink, c->input.path, timed, why);
	if (err < 0)
		return err;
	if (!c->by_given)
		sink_copy_by(&c->options, &c->input.by);
	return 0;
}

static bool lacks_cpus(const struct profile *p)
{
	vec_each (&p->ticks, tick)
		if (tick->cpu == PROFILE_NO_CPU)
			return true;
	return false;
}

static int refuse_part(const struct convert *c, const struct profile *p, struct why *why)
{
	const double length_s = (double)p->duration_ns / (double)NSEC_PER_SEC;

	if (p->duration_ns == 0)
		return why_set(why, -ENODATA, "%s has no samples in that time", c->input.path);
	return why_set(why, -ENODATA, "%s has no samples in that time: it is %.3f s long",
		c->input.path, length_s);
}

static bool has_ticks(const struct profile *p, uint32_t kind)
{
	vec_each (&p->ticks, tick)
		if (p->samples.data[tick->sample].kind == kind)
			return true;
	return false;
}

/* Kinds without times are in no part. */
static void log_untimed(const struct convert *c, const struct profile *p, struct log *log)
{
	for (uint32_t kind = 0; kind < p->kinds_len; kind++) {
		uint64_t total = profile_kind_total(p, kind);
		char amount[PROFILE_AMOUNT_MAX];

		if (total > 0 && !has_ticks(p, kind))
			log_warn(log,
				"%s: %s has no times, which --since and --until need: left out %s",
				strcmp(c->output, "-") == 0 ? "stdout" : c->output,
				profile_kind_name(p, kind),
				profile_amount_text(profile_kind_unit(p, kind), total, amount));
	}
}

/* A format that streams writes each tick with its stack. */
static int write_profile(struct convert *c, const struct profile *p, struct why *why)
{
	int err = c->sink->stream ? input_check_ticks(&c->input, p, why) : 0;

	return err < 0 ? err : output_write_profile(&c->out, c->sink, &c->options, p, why);
}

static int write_part(struct convert *c, const struct profile *p, struct why *why)
{
	_cleanup_(profile_done) struct profile part = { 0 };
	int err = profile_init(&part);

	if (err == 0)
		err = profile_slice(p, c->since_ns, c->until_ns, &part);
	if (err < 0)
		return why_set(why, err, "out of memory");
	return part.ticks.len == 0 ? refuse_part(c, p, why) : write_profile(c, &part, why);
}

static int run(struct convert *c, struct log *log, struct why *why)
{
	_cleanup_(profile_done) struct profile profile = { 0 };
	int err = profile_init(&profile) < 0 ? why_set(why, -ENOMEM, "out of memory") : 0;

	if (err == 0)
		err = output_try(&c->out, why);
	if (err == 0)
		err = input_load(&c->input, &profile, log, why);
	if (err == 0)
		err = check(c, &profile, why);
	if (err == 0 && c->options.perfview && lacks_cpus(&profile))
		log_warn(log,
			"%s has samples without a CPU: PerfView needs one, so each of their "
			"threads stands for a CPU, numbered %u + its id",
			c->input.path, SINK_THREAD_CPU);
	if (err == 0 && profile.kinds[0].scale > 1 && strcmp(c->sink->name, "folded") != 0 &&
		strcmp(c->sink->name, "stoker") != 0)
		log_warn(log, "%s: counts have fractions, so %s has all counts times %u",
			c->input.path, c->sink->name, profile.kinds[0].scale);
	if (err == 0)
		err = c->part ? write_part(c, &profile, why) : write_profile(c, &profile, why);
	if (err == 0 && c->part)
		log_untimed(c, &profile, log);
	if (err == 0)
		log_lost(log, c->output, c->sink, &c->out.lost);
	if (err == 0 && strcmp(c->output, "-") != 0)
		log_note(log, "wrote %s", c->out.path);
	return err;
}

int cmd_convert(int argc, char **argv, struct log *log)
{
	struct convert c = { .output = "-", .until_ns = UINT64_MAX };
	struct why why;
	int err = parse(&c, argc, argv, &why);

	if (err < 0) {
		log_error(log, "%s; see `stoker convert --help`", why.text);
		return EXIT_USAGE;
	}
	if (c.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	log->quiet = c.quiet;
	signal(SIGPIPE, SIG_IGN);
	err = run(&c, log, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	return err == -ENODATA ? EXIT_NOT_FOUND : err < 0 ? EXIT_FAILED : EXIT_OK;
}
