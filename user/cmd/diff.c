/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/diff.c - two files, read, and what changed from one to the other written. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "sink/diff.h"
#include "sink/html.h"

enum {
	OPT_NORMALISE = 256,
};

static const struct option_row rows[] = {
	{ 'f', "format", "FORMAT", "folded (default) or html; else by FILE's name" },
	{ 'o', "output", "FILE", "default - (stdout)" },
	{ OPT_NORMALISE, "normalise", "HOW",
		"counts of BEFORE are multiplied so that both have as many\nsamples (total, the "
		"default), or as if both had been\nsampled as long (time); none: they are as they "
		"are" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "this text" },
};

static const struct options table = {
	.usage = "stoker diff BEFORE AFTER [options]",
	.text = "Says what changed between two profiles: a file each, - is stdin.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct diff {
	const char *paths[2];
	const char *output, *format;
	enum diff_scale scale;
	bool quiet, help;
};

static int take(void *ctx, int id, const char *arg, struct why *why)
{
	struct diff *d = ctx;

	switch (id) {
	case 'f':
		d->format = arg;
		return strcmp(arg, "folded") == 0 || strcmp(arg, "html") == 0
			? 0
			: why_set(why, -EINVAL, "-f: folded or html, not %s", arg);
	case 'o':
		d->output = arg;
		return 0;
	case OPT_NORMALISE:
		d->scale = diff_find_scale(arg);
		return d->scale < DIFF_SCALES
			? 0
			: why_set(why, -EINVAL, "--normalise: total, time or none, not %s", arg);
	default:
		d->quiet |= id == 'q';
		d->help |= id == 'h';
		return 0;
	}
}

static int parse(struct diff *d, int argc, char **argv, struct why *why)
{
	int len, err = options_parse_mixed(&table, argc, argv, take, d, d->paths, 2, &len, why);
	const struct sink *sink;

	if (err < 0 || d->help)
		return err;
	if (len != 2)
		return why_set(why, -EINVAL, "two profiles are needed: BEFORE and AFTER");
	if (strcmp(d->paths[0], "-") == 0 && strcmp(d->paths[1], "-") == 0)
		return why_set(why, -EINVAL, "one of the two may be stdin, not both");
	sink = sink_for_path(d->output);
	if (!d->format)
		d->format = sink && strcmp(sink->name, "html") == 0 ? "html" : "folded";
	return 0;
}

/* How long was it sampled? Not every format says. */
static int check_times(const struct diff *d, const struct profile *const both[2], struct why *why)
{
	for (int i = 0; d->scale == DIFF_TIME && i < 2; i++)
		if (both[i]->period_ns == 0 || both[i]->duration_ns == 0)
			return why_set(why, -EINVAL,
				"--normalise time: %s does not say how long it was sampled",
				d->paths[i]);
	return 0;
}

/* The last part of a path: what people call the file. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int write_diff(
	const struct diff *d, const struct profile *const both[2], struct log *log, struct why *why)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	const char *const names[2] = { name_of(d->paths[0]), name_of(d->paths[1]) };
	struct sink_options options = { 0 };
	struct output output = { .pattern = d->output, .fd = -1 };
	int err = check_times(d, both, why);

	if (err < 0)
		return err;
	if (strcmp(d->format, "html") == 0)
		err = html_write_diff(both, names, &options, d->scale, &bytes);
	else
		err = diff_write_folded(both[0], both[1], &options, d->scale, &bytes);
	if (err < 0)
		return why_set(why, err, "cannot compare: %s", err_text(err));
	err = output_write(&output, &bytes, why);
	if (err == 0 && strcmp(d->output, "-") != 0)
		log_note(log, "wrote %s: %llu samples before, %llu after", d->output,
			(unsigned long long)profile_total(both[0]),
			(unsigned long long)profile_total(both[1]));
	return err;
}

static int run(const struct diff *d, struct log *log, struct why *why)
{
	_cleanup_(profile_done) struct profile before = { 0 };
	_cleanup_(profile_done) struct profile after = { 0 };
	int err = profile_init(&before) < 0 || profile_init(&after) < 0
		? why_set(why, -ENOMEM, "out of memory")
		: 0;

	if (err == 0)
		err = output_check(&(struct output){ .pattern = d->output }, why);
	if (err == 0)
		err = input_load(d->paths[0], &before, log, why);
	if (err == 0)
		err = input_load(d->paths[1], &after, log, why);
	return err < 0
		? err
		: write_diff(d, (const struct profile *const[]){ &before, &after }, log, why);
}

int cmd_diff(int argc, char **argv, struct log *log)
{
	struct diff d = { .output = "-" };
	struct why why;
	int err = parse(&d, argc, argv, &why);

	if (err < 0) {
		log_error(log, "%s; see `stoker diff --help`", why.text);
		return EXIT_USAGE;
	}
	if (d.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	log->quiet = d.quiet;
	signal(SIGPIPE, SIG_IGN);
	err = geteuid() != 0 && caps_limit(0) < 0
		? why_set(&why, -EPERM, "cannot give privileges up")
		: run(&d, log, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
