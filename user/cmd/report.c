/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/report.c - answers from the store for a span of time: the hottest functions, the course over
 * time, or a profile in any format. It may run beside the writer of the store, and drops its
 * privileges. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "cmd/options.h"
#include "output/output.h"
#include "cmd/log_answer.h"
#include "cmd/log_lost.h"
#include "sink/sink.h"
#include "store/answer.h"
#include "store/ask.h"
#include "store/query.h"

#define TOP_DEFAULT 20
#define TOP_MAX 100000

/* Options from OPT_ASK on go to ask_set, by their names. */
enum {
	OPT_TOP = 256,
	OPT_TREND,
	OPT_BY,
	OPT_ASK,
};

static const struct option_row rows[] = {
	{ OPT_ASK, "store", "DIR", "default " STORE_PATH },
	{ OPT_ASK + 1, "since", "TIME",
		"2h (ago), today, yesterday, 03:12, 2026-11-21 03:12, with\nZ for UTC, or @EPOCH; "
		"default: the oldest" },
	{ OPT_ASK + 2, "until", "TIME", "default now" },
	{ OPT_ASK + 3, "container", "NAME", "only this container" },
	{ OPT_ASK + 4, "pod", "NAME", "likewise" },
	{ OPT_ASK + 5, "namespace", "NAME", "likewise" },
	{ OPT_ASK + 6, "image", "NAME", "likewise" },
	{ OPT_ASK + 7, "unit", "NAME", "likewise" },
	{ OPT_ASK + 8, "comm", "NAME", "likewise" },
	{ OPT_ASK + 9, "function", "REGEX", "only stacks with a matching frame (pcre2pattern(3))" },
	{ 'e', "event", "NAME", "the kind of value: cpu, the default, wall, ..." },
	{ OPT_BY, "by", "KEYS", "leading frames of a stack; default: all in the store" },
	{ OPT_TOP, "top", "N", "the N hottest functions; the default if no format is given" },
	{ OPT_TREND, "trend", NULL, "samples of each interval, over time" },
	{ 'f', "format", "FORMAT",
		"a profile in this format, see `stoker record`; default by\nFILE's name" },
	{ 'o', "output", "FILE", "default - (stdout)" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker report [options]",
	.text = "Prints profiles and tables from the store of `stoker daemon`.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct report {
	struct ask ask;
	const char *output;
	const struct sink *sink; /* NULL: none is asked for */
	const char *by;          /* NULL: all */
	bool trend, quiet, help;
	uint64_t top;
	struct log *log;
};

/* ---- options -------------------------------------------------------------------------------- */

static int take_format(struct report *r, const char *arg, struct why *why)
{
	r->sink = sink_find(arg);
	return r->sink ? 0 : why_set(why, -EINVAL, "-f: unknown format: %s", arg);
}

static const char *name_of(int id)
{
	size_t i = 0;

	while (rows[i].id != id)
		i++;
	return rows[i].name;
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct report *r = ctx;

	if (id >= OPT_ASK)
		return ask_set(&r->ask, name_of(id), arg, why);
	switch (id) {
	case OPT_TOP:
		return options_number("--top", arg, 1, TOP_MAX, &r->top, why);
	case OPT_BY:
		r->by = arg;
		return sink_parse_by(arg, &(struct sink_options){ 0 }, why);
	case 'e':
		return ask_set(&r->ask, "kind", arg, why);
	case 'f':
		return take_format(r, arg, why);
	case 'o':
		r->output = arg;
		return 0;
	}
	r->trend |= id == OPT_TREND;
	r->quiet |= id == 'q';
	r->help |= id == 'h';
	return 0;
}

/* By -f, else by the file's name. */
static int choose_format(struct report *r, struct why *why)
{
	bool table_given = r->trend || r->top > 0;

	if (table_given && (r->sink || strcmp(r->output, "-") != 0))
		return why_set(why, -EINVAL,
			"--top and --trend print a table to stdout: they exclude -f and -o");
	if (r->trend && r->top > 0)
		return why_set(why, -EINVAL, "--top and --trend exclude each other");
	if (!r->sink && strcmp(r->output, "-") == 0)
		return r->by ? why_set(why, -EINVAL, "--by needs a format: -f or -o") : 0;
	if (!r->sink)
		r->sink = sink_for_path(r->output);
	if (!r->sink)
		return why_set(why, -EINVAL, "-o %s: no format has this ending; choose one with -f",
			r->output);
	return sink_check_times(r->sink, "the store", false, why);
}

static int parse(struct report *r, int argc, char **argv, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take_option, r, &rest, why);

	if (err < 0 || r->help)
		return err;
	if (rest < argc)
		return why_set(why, -EINVAL,
			"unexpected argument: %s; report reads a store (--store), convert a file",
			argv[rest]);
	err = choose_format(r, why);
	return err < 0 ? err : ask_check(&r->ask, why);
}

/* ---- answers -------------------------------------------------------------------------------- */

static int show(const struct report *r, const struct query_answer *answer)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char amount[PROFILE_AMOUNT_MAX];
	uint64_t dropped = 0;
	int err = r->trend
		? answer_put_trend(answer, &text)
		: answer_put_top(answer, r->top > 0 ? r->top : TOP_DEFAULT, &text, &dropped);

	if (err == 0)
		fwrite(text.data, 1, text.len, stdout);
	if (dropped > 0)
		log_warn(r->log, "%s are not counted: they are in stacks beyond the first %d",
			profile_amount_text(answer_unit(answer), dropped, amount),
			RANKING_STACKS_MAX);
	return err;
}

/* Is the label of len bytes in a list such as container,comm? */
static bool has_label(const char *list, const char *label, size_t len)
{
	for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
		if (strcspn(list, ",") == len && strncmp(list, label, len) == 0)
			return true;
	return false;
}

/* A store keeps some labels alone, and a stack without one would have a `?` in its place. */
static int check_labels(const char *by, const char *kept, bool waits, struct why *why)
{
	static const char idle[] = PROFILE_FREE_PREFIX PROFILE_IDLE_KEY;

	for (size_t len; *by; by += len + (by[len] == ',')) {
		len = strcspn(by, ",");
		if (!has_label(kept, by, len) && !(waits && has_label(idle, by, len)))
			return why_set(why, -EINVAL,
				"--by %.*s: the store has %s; the daemon keeps others with `by` in "
				"[labels] of its configuration",
				(int)len, by, *kept ? kept : "no labels");
	}
	return 0;
}

static int write_profile(const struct report *r, const struct query_answer *answer,
	struct output *output, struct why *why)
{
	_cleanup_(profile_done) struct profile profile = { 0 };
	struct sink_options options = { 0 };
	int err = sink_parse_by(r->by ? r->by : answer->by.data, &options, why);

	if (err == 0 && r->by)
		err = check_labels(r->by, buf_text(&answer->by), answer_waits(answer), why);
	if (err < 0)
		return err;
	err = profile_init(&profile);
	if (err == 0)
		err = answer_profile(answer, &profile);
	if (err < 0)
		return why_set(why, err, "cannot write the profile: %s", err_text(err));
	err = output_write_profile(output, r->sink, &options, &profile, why);
	if (err == 0)
		log_lost(r->log, r->output, r->sink, &output->lost);
	return err;
}

static int run(const struct report *r, struct why *why)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	struct output output = { .pattern = r->output,
		.gzip = r->sink && r->sink->needs & SINK_GZIP };
	int err = 0;

	if (r->sink)
		err = output_try(&output, why);
	if (err == 0)
		err = log_answer(r->log, &r->ask, &answer, why);
	if (err == 0 && merge_total(&answer.merge) == 0)
		err = why_set(why, -ENODATA,
			"nothing in the store matches; widen --since and --until, or check the "
			"names");
	if (err < 0)
		return err;
	if (r->sink)
		return write_profile(r, &answer, &output, why);
	err = show(r, &answer);
	if (err < 0)
		return why_set(why, err, "out of memory");
	return print_flush(why);
}

int cmd_report(int argc, char **argv, struct log *log)
{
	struct report r = { .output = "-", .log = log };
	struct why why;
	int err;

	ask_init(&r.ask, clock_ns(CLOCK_REALTIME));
	err = parse(&r, argc, argv, &why);
	if (err < 0)
		log_error(log, "%s; see `stoker report --help`", why.text);
	if (err < 0 || r.help) {
		if (err == 0)
			options_print_help(&table, stdout);
		ask_done(&r.ask);
		return err < 0 ? EXIT_USAGE : EXIT_OK;
	}
	log->quiet = r.quiet;
	signal(SIGPIPE, SIG_IGN);
	err = run(&r, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	ask_done(&r.ask);
	return err == -ENODATA ? EXIT_NOT_FOUND : err < 0 ? EXIT_FAILED : EXIT_OK;
}
