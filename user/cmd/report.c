/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/report.c - what the store knows of a span of time: the hottest functions, how it went over
 * time, or a profile in any format. Reads the store beside whoever writes it, and has given up
 * whatever privileges it had. */
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/when.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "sink/sink.h"
#include "store/answer.h"
#include "store/query.h"

#define STORE_PATH "/var/lib/stoker"
#define TOP_DEFAULT 20
#define TOP_MAX 100000

enum {
	OPT_STORE = 256,
	OPT_SINCE,
	OPT_UNTIL,
	OPT_FUNCTION,
	OPT_TOP,
	OPT_TREND,
	OPT_MATCH, /* and behind it one for each of match_keys */
};

static const char *const match_keys[] = { "container", "pod", "namespace", "image", "unit",
	"comm" };

static const struct option_row rows[] = {
	{ OPT_STORE, "store", "DIR", "default " STORE_PATH },
	{ OPT_SINCE, "since", "TIME",
		"2h (ago), 03:12, 2026-11-21 03:12, with Z for UTC, or\n@EPOCH; default: all there "
		"is" },
	{ OPT_UNTIL, "until", "TIME", "default now" },
	{ OPT_MATCH, "container", "NAME", "of this container alone" },
	{ OPT_MATCH + 1, "pod", "NAME", "likewise" },
	{ OPT_MATCH + 2, "namespace", "NAME", "likewise" },
	{ OPT_MATCH + 3, "image", "NAME", "likewise" },
	{ OPT_MATCH + 4, "unit", "NAME", "likewise" },
	{ OPT_MATCH + 5, "comm", "NAME", "likewise" },
	{ OPT_FUNCTION, "function", "REGEX", "stacks with a frame that it matches (regex(7))" },
	{ OPT_TOP, "top", "N",
		"the N hottest functions; what is done when no format is\nasked for" },
	{ OPT_TREND, "trend", NULL, "samples of each interval, over time" },
	{ 'f', "format", "FORMAT", "a profile, as of `stoker record`; else by FILE's name" },
	{ 'o', "output", "FILE", "default - (stdout)" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "this text" },
};

static const struct options table = {
	.usage = "stoker report [options]",
	.text = "Answers from the store that `stoker daemon` writes.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct report {
	const char *store, *output;
	const struct sink *sink; /* NULL: none is asked for */
	struct query query;
	regex_t function;
	bool has_function, trend, quiet, help;
	uint64_t top, now_ns;
	struct log *log;
};

/* ---- options -------------------------------------------------------------------------------- */

static int take_match(struct report *r, size_t key, const char *arg, struct why *why)
{
	struct query *q = &r->query;

	if (q->matches_len == QUERY_MATCHES_MAX)
		return why_set(why, -EINVAL, "too many labels are asked for");
	q->matches[q->matches_len++] = (struct query_match){ match_keys[key], arg };
	return 0;
}

static int take_function(struct report *r, const char *arg, struct why *why)
{
	char text[128];
	int err;

	if (r->has_function)
		regfree(&r->function);
	err = regcomp(&r->function, arg, REG_EXTENDED | REG_NOSUB);
	r->has_function = err == 0;
	if (err == 0)
		return 0;
	regerror(err, &r->function, text, sizeof(text));
	return why_set(why, -EINVAL, "--function %s: %s", arg, text);
}

static int take_format(struct report *r, const char *arg, struct why *why)
{
	r->sink = sink_find(arg);
	if (!r->sink || !r->sink->write ||
		(r->sink->needs & SINK_TIMES && strcmp(arg, "html") != 0))
		return why_set(why, -EINVAL,
			"-f %s: the store holds counts, for folded, pprof, speedscope, html and "
			"svg",
			arg);
	return 0;
}

static int take(void *ctx, int id, const char *arg, struct why *why)
{
	struct report *r = ctx;

	if (id >= OPT_MATCH)
		return take_match(r, (size_t)(id - OPT_MATCH), arg, why);
	switch (id) {
	case OPT_STORE:
		r->store = arg;
		return 0;
	case OPT_SINCE:
		return when_parse(arg, r->now_ns, &r->query.since_ns, why);
	case OPT_UNTIL:
		return when_parse(arg, r->now_ns, &r->query.until_ns, why);
	case OPT_FUNCTION:
		return take_function(r, arg, why);
	case OPT_TOP:
		return options_number("--top", arg, 1, TOP_MAX, &r->top, why);
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

static int parse(struct report *r, int argc, char **argv, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take, r, &rest, why);

	if (err < 0 || r->help)
		return err;
	if (rest < argc)
		return why_set(why, -EINVAL, "what is %s?", argv[rest]);
	if (r->query.since_ns >= r->query.until_ns)
		return why_set(why, -EINVAL, "--since is not before --until");
	if (!r->sink && strcmp(r->output, "-") != 0)
		r->sink = sink_for_path(r->output);
	if (r->sink && (r->trend || r->top > 0))
		return why_set(why, -EINVAL, "a profile, or --top or --trend: not both");
	if (r->has_function)
		r->query.function = &r->function;
	return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

static int show(const struct report *r, const struct query_answer *answer)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t dropped = 0;
	int err = r->trend
		? answer_put_trend(answer, &text)
		: answer_put_top(answer, r->top > 0 ? r->top : TOP_DEFAULT, &text, &dropped);

	if (err == 0)
		fwrite(text.data, 1, text.len, stdout);
	if (dropped > 0)
		log_warn(r->log, "%llu samples are in stacks beyond the first %d and not counted",
			(unsigned long long)dropped, RANKING_STACKS_MAX);
	return err;
}

static int write_profile(const struct report *r, const struct query_answer *answer, struct why *why)
{
	_cleanup_(profile_done) struct profile profile = { 0 };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	const struct sink_options options = { 0 };
	struct output output = {
		.pattern = r->output, .fd = -1, .gzip = r->sink->needs & SINK_GZIP
	};
	int err = profile_init(&profile);

	if (err == 0)
		err = answer_profile(answer, &profile);
	if (err == 0)
		err = r->sink->write(&profile, &options, &bytes);
	if (err < 0)
		return why_set(why, err, "cannot write the profile: %s", err_text(err));
	return output_write(&output, &bytes, why);
}

static void tell_losses(const struct report *r, const struct query_answer *answer)
{
	if (answer->damaged > 0)
		log_warn(r->log, "%u profiles are damaged and left out", answer->damaged);
	if (answer->other_by > 0)
		log_warn(r->log, "%u profiles have other labels than %s and are left out",
			answer->other_by, answer->by.data);
	if (answer->gone > 0)
		log_note(r->log, "%u profiles were removed meanwhile", answer->gone);
	if (merge_total(&answer->merge) == 0)
		log_warn(r->log, "nothing in the store matches");
	log_note(r->log, "%u profiles, %.1f s of CPU", answer->segments,
		(double)merge_total(&answer->merge) / 1e9);
}

static int answer_query(const struct report *r, const struct store *store, struct why *why)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	int err = query_answer_init(&answer);

	if (err == 0)
		err = query_run(store, &r->query, &answer, why);
	if (err < 0)
		return err;
	tell_losses(r, &answer);
	if (r->sink)
		return write_profile(r, &answer, why);
	err = show(r, &answer);
	if (err < 0)
		return why_set(why, err, "out of memory");
	return fflush(stdout) == 0 ? 0 : why_set(why, -EIO, "cannot write to stdout");
}

static int run(const struct report *r, struct why *why)
{
	_cleanup_(store_freep) struct store *store = NULL;
	struct store_report found;
	int err = 0;

	if (r->sink)
		err = output_check(&(struct output){ .pattern = r->output }, why);
	if (err == 0)
		err = store_open(r->store, STORE_READ, &store, &found, why);
	return err < 0 ? err : answer_query(r, store, why);
}

int cmd_report(int argc, char **argv, struct log *log)
{
	struct report r = {
		.store = STORE_PATH, .output = "-", .now_ns = clock_ns(CLOCK_REALTIME), .log = log
	};
	struct why why;
	int err;

	r.query.until_ns = r.now_ns;
	err = parse(&r, argc, argv, &why);
	if (err < 0)
		log_error(log, "%s; see `stoker report --help`", why.text);
	if (err < 0 || r.help) {
		if (err == 0)
			options_print_help(&table, stdout);
		return err < 0 ? EXIT_USAGE : EXIT_OK;
	}
	log->quiet = r.quiet;
	signal(SIGPIPE, SIG_IGN);
	err = geteuid() != 0 && caps_limit(0) < 0
		? why_set(&why, -EPERM, "cannot give privileges up")
		: run(&r, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	if (r.has_function)
		regfree(&r.function);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
