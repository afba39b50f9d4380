/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/diff.c - compares two profiles, each from a file or a store. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "output/output.h"
#include "cmd/log_answer.h"
#include "profile/folded_reader.h"
#include "profile/jit_code.h"
#include "sink/diff.h"
#include "sink/html.h"
#include "store/answer.h"
#include "store/ask.h"

/* Options from OPT_ASK on go to ask_set, by their names. */
enum {
	OPT_NORMALISE = 256,
	OPT_BY,
	OPT_ASK,
};

#define ASKED_MAX 10

static const struct option_row rows[] = {
	{ 'e', "event", "NAME",
		"the kind of value: cpu, wall, ...; default the first of a\nfile, and cpu of a "
		"store" },
	{ 'f', "format", "FORMAT", "folded (default) or html; else by FILE's name" },
	{ 'o', "output", "FILE", "default - (stdout)" },
	{ OPT_NORMALISE, "normalise", "HOW",
		"total (default): scale BEFORE to AFTER's number of\nsamples; time: to AFTER's "
		"duration; none: no scaling" },
	{ OPT_ASK, "store", "DIR", "for both sides; default " STORE_PATH },
	{ OPT_ASK + 1, "since", "TIME", "for both sides, as for `stoker report`" },
	{ OPT_ASK + 2, "until", "TIME", "likewise" },
	{ OPT_ASK + 3, "container", "NAME", "likewise" },
	{ OPT_ASK + 4, "pod", "NAME", "likewise" },
	{ OPT_ASK + 5, "namespace", "NAME", "likewise" },
	{ OPT_ASK + 6, "image", "NAME", "likewise" },
	{ OPT_ASK + 7, "unit", "NAME", "likewise" },
	{ OPT_ASK + 8, "comm", "NAME", "likewise" },
	{ OPT_ASK + 9, "function", "REGEX", "likewise" },
	{ OPT_BY, "by", "KEYS",
		"leading frames of stacks from a store; default: all except\nthe selected ones, "
		"and pid, tid and cpu" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker diff BEFORE AFTER [options]",
	.text = "Prints the changes between two profiles. Each is a file, - for stdin, or a part "
		"of a\nstore: SINCE..UNTIL, KEY=VALUE (store, kind, container, pod, "
		"namespace,\nimage, unit, comm, function), or several of these separated by "
		"commas:\n"
		"  stoker diff yesterday..today today..\n"
		"  stoker diff --since 1h container=web-1 container=web-2\n"
		"  stoker diff store=/srv/a,1h.. store=/srv/b,1h..",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct side {
	const char *word;
	bool of_store;
	struct ask ask;
	struct profile profile;
	struct buf by; /* what its stacks are labelled by; of folded text nothing */
};

struct diff {
	struct side sides[2];
	const char *output, *format;
	const char *event; /* NULL: not said */
	struct output out;
	const char *by;                                  /* NULL: not said */
	const char *keys[ASKED_MAX], *values[ASKED_MAX]; /* of both sides */
	size_t asked;
	struct sink_options sink;
	enum diff_scale scale;
	bool quiet, help;
	struct log *log;
};

static int take_asked(struct diff *d, int id, const char *arg, struct why *why)
{
	size_t i = 0, at = 0;

	while (rows[i].id != id)
		i++;
	while (at < d->asked && strcmp(d->keys[at], rows[i].name) != 0)
		at++;
	if (at == ASKED_MAX)
		return why_set(why, -EINVAL, "too many selections");
	d->keys[at] = rows[i].name;
	d->values[at] = arg;
	d->asked += at == d->asked;
	return 0;
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct diff *d = ctx;

	if (id >= OPT_ASK)
		return take_asked(d, id, arg, why);
	switch (id) {
	case OPT_BY:
		d->by = arg;
		return sink_parse_by(arg, &(struct sink_options){ 0 }, why);
	case 'e':
		d->event = arg;
		return 0;
	case 'f':
		d->format = arg;
		return strcmp(arg, "folded") == 0 || strcmp(arg, "html") == 0
			? 0
			: why_set(why, -EINVAL, "-f: expected folded or html, not %s", arg);
	case 'o':
		d->output = arg;
		return 0;
	case OPT_NORMALISE:
		d->scale = diff_find_scale(arg);
		return d->scale < DIFF_SCALES
			? 0
			: why_set(why, -EINVAL, "--normalise: expected total, time or none, not %s",
				  arg);
	default:
		d->quiet |= id == 'q';
		d->help |= id == 'h';
		return 0;
	}
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Like KEY=VALUE, with a key that is unknown. */
static bool has_no_key(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz");

	return len > 0 && word[len] == '=';
}

/* Parses the options of both sides, then those of its own. */
static int parse_side(struct diff *d, struct side *side, struct why *why)
{
	int err = 0;

	side->of_store =
		!is_file(side->word) && (ask_looks_like(side->word) || has_no_key(side->word));
	if (!side->of_store)
		return 0;
	if (d->event)
		err = ask_set(&side->ask, "kind", d->event, why);
	for (size_t i = 0; err == 0 && i < d->asked; i++)
		err = ask_set(&side->ask, d->keys[i], d->values[i], why);
	if (err == 0)
		err = ask_parse(&side->ask, side->word, why);
	return err == 0 ? ask_check(&side->ask, why) : err;
}

/* By -f, else by the file's name, in which a format that cannot be compared in is a mistake. */
static int choose_format(struct diff *d, struct why *why)
{
	const struct sink *sink = d->format ? NULL : sink_for_path(d->output);

	if (sink && strcmp(sink->name, "html") != 0 && strcmp(sink->name, "folded") != 0)
		return why_set(why, -EINVAL,
			"-o %s: a difference is folded or html, not %s; choose with -f", d->output,
			sink->name);
	if (!d->format)
		d->format = sink ? sink->name : "folded";
	return 0;
}

static int parse(struct diff *d, int argc, char **argv, struct why *why)
{
	const char *words[2];
	int len, err = options_parse_mixed(&table, argc, argv, take_option, d, words, 2, &len, why);

	if (err < 0 || d->help)
		return err;
	if (len != 2)
		return why_set(why, -EINVAL,
			len == 1 ? "missing profile: give AFTER, too"
				 : "missing profiles: give BEFORE and AFTER");
	if (strcmp(words[0], "-") == 0 && strcmp(words[1], "-") == 0)
		return why_set(why, -EINVAL, "only one of the two may be stdin");
	for (int i = 0; err == 0 && i < 2; i++) {
		d->sides[i].word = words[i];
		err = parse_side(d, &d->sides[i], why);
	}
	if (err == 0 && d->asked > 0 && !d->sides[0].of_store && !d->sides[1].of_store)
		return why_set(why, -EINVAL, "--%s needs a store, but both profiles are files",
			d->keys[0]);
	return err < 0 ? err : choose_format(d, why);
}

/* ---- what a store has ----------------------------------------------------------------------- */

static int load_store(struct diff *d, struct side *side, struct why *why)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	int err = log_answer(d->log, &side->ask, &answer, why);

	if (err < 0)
		return err;
	if (merge_total(&answer.merge) == 0)
		log_warn(d->log, "%s: nothing in the store matches", side->word);
	err = answer_profile(&answer, &side->profile);
	if (err == 0)
		err = buf_puts(&side->by, answer.by.data);
	return err < 0 ? why_set(why, err, "out of memory") : 0;
}

static bool has_key(const struct buf *by, uint32_t key)
{
	struct sink_options options = { 0 };
	struct why why;

	return sink_parse_by(by->data, &options, &why) == 0 && sink_wants(&options, key);
}

/* A label that was asked for is the same in all samples, or the sides differ by it. A container
 * implies its pod and namespace. */
static bool is_asked(const struct ask *ask, uint32_t key)
{
	bool of_container = key <= PROFILE_KEY_UNIT;

	return ask_matches(ask, profile_key_name(NULL, key)) ||
		(of_container && ask_matches(ask, profile_key_name(NULL, PROFILE_KEY_CONTAINER)));
}

/* The profile as folded text has it, in which labels are frames like others. */
static int refold(struct profile *p, const struct sink_options *options)
{
	_cleanup_(profile_done) struct profile folded = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct folded_counts counts;
	struct bytes bytes;
	int err = folded_write(p, options, &text);

	bytes = (struct bytes){ (const uint8_t *)text.data, text.len };
	if (err == 0)
		err = profile_init(&folded);
	if (err == 0)
		err = folded_read(bytes, &folded, &counts);
	if (err != 0)
		return err;
	if (profile_string(&folded, profile_text(p, p->kinds[0].name), &folded.kinds[0].name) < 0 ||
		profile_string(&folded, profile_text(p, p->kinds[0].unit),
			&folded.kinds[0].unit) < 0)
		return -ENOMEM;
	folded.kinds[0].period_ns = p->kinds[0].period_ns;
	folded.start_ns = p->start_ns;
	folded.duration_ns = p->duration_ns;
	profile_done(p);
	*p = folded;
	folded = (struct profile){ 0 };
	return 0;
}

/* Of folded text, whose labels are frames, the other side is made. */
static int compare_with_folded(struct diff *d, struct side *side, struct why *why)
{
	struct sink_options options = { 0 };
	int err = sink_parse_by(d->by ? d->by : side->by.data, &options, why);

	if (err == 0 && refold(&side->profile, &options) < 0)
		err = why_set(why, -ENOMEM, "out of memory");
	return err;
}

/* Stacks are the same on both sides where their labels are. */
static int choose_labels(struct diff *d, struct why *why)
{
	struct side *a = &d->sides[0], *b = &d->sides[1];

	if (a->by.len == 0 && b->by.len == 0)
		return 0;
	if (a->by.len == 0 || b->by.len == 0)
		return compare_with_folded(d, a->by.len > 0 ? a : b, why);
	if (d->by)
		return sink_parse_by(d->by, &d->sink, why);
	for (uint32_t key = 0; key < PROFILE_KEY_PID; key++)
		if (has_key(&a->by, key) && has_key(&b->by, key) && !is_asked(&a->ask, key) &&
			!is_asked(&b->ask, key))
			d->sink.by[d->sink.by_len++] = key;
	return 0;
}

/* ---- the difference ------------------------------------------------------------------------- */

/* How long was it sampled? Not every format says. */
static int check_times(const struct diff *d, const struct profile *const both[2], struct why *why)
{
	for (int i = 0; d->scale == DIFF_TIME && i < 2; i++)
		if (both[i]->duration_ns == 0 ||
			(both[i]->kinds[0].period_ns == 0 && !profile_kind_is_time(both[i], 0)))
			return why_set(why, -EINVAL, "--normalise time: %s has no duration",
				d->sides[i].word);
	return 0;
}

/* The last part of a path: what people call the file. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *amount_of(const struct profile *p, char text[PROFILE_AMOUNT_MAX])
{
	return profile_amount_text(profile_kind_unit(p, 0), profile_total(p), text);
}

static int write_diff(struct diff *d, struct why *why)
{
	char amounts[2][PROFILE_AMOUNT_MAX];
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	const struct side *a = &d->sides[0], *b = &d->sides[1];
	const struct profile *const both[2] = { &a->profile, &b->profile };
	const char *const names[2] = { a->of_store ? a->word : name_of(a->word),
		b->of_store ? b->word : name_of(b->word) };
	int err = check_times(d, both, why);

	if (err < 0)
		return err;
	if (strcmp(d->format, "html") == 0)
		err = html_write_diff(both, names, &d->sink, d->scale, &bytes);
	else
		err = diff_write_folded(both[0], both[1], &d->sink, d->scale, &bytes);
	if (err < 0)
		return why_set(why, err, "cannot compare: %s", err_text(err));
	err = output_write(&d->out, &bytes, why);
	if (err == 0 && strcmp(d->output, "-") != 0)
		log_note(d->log, "wrote %s: %s before, %s after", d->out.path,
			amount_of(both[0], amounts[0]), amount_of(both[1], amounts[1]));
	return err;
}

static int load_file(struct diff *d, struct side *side, struct why *why)
{
	struct input input = { .path = side->word, .event = d->event };
	int err = input_load(&input, &side->profile, d->log, why);

	if (err < 0)
		return err;
	return sink_put_by(&side->by, &input.by) < 0 ? why_set(why, -ENOMEM, "out of memory") : 0;
}

/* The unit says what a value is a part of. */
static int make_whole(struct profile *p, uint32_t scale)
{
	char unit[PROFILE_UNIT_MAX];

	profile_set_scale(p, 0, scale);
	profile_kind_unit_scaled(p, 0, unit);
	p->kinds[0].scale = 1;
	return profile_string(p, unit, &p->kinds[0].unit);
}

/* Counts with fractions become whole numbers, of one size on both sides. */
static int match_scales(struct diff *d, struct why *why)
{
	struct profile *a = &d->sides[0].profile, *b = &d->sides[1].profile;
	uint32_t scale = a->kinds[0].scale;

	if (b->kinds[0].scale > scale)
		scale = b->kinds[0].scale;
	if (scale == 1)
		return 0;
	for (int i = 0; i < 2; i++)
		if (profile_total(&d->sides[i].profile) >
			FOLDED_SUM_MAX / (scale / d->sides[i].profile.kinds[0].scale))
			return why_set(why, -ERANGE,
				"%s: the sum of the counts is over %llu, the limit where a count "
				"of the other side has fractions of 1/%u: round the counts, or "
				"divide all",
				d->sides[i].word, FOLDED_SUM_MAX / scale, scale);
	log_warn(d->log, "counts have fractions, so all counts are written times %u", scale);
	for (int i = 0; i < 2; i++)
		if (make_whole(&d->sides[i].profile, scale) < 0)
			return why_set(why, -ENOMEM, "out of memory");
	return 0;
}

/* ---- the kinds of both ----------------------------------------------------------------------- */

/* Folded text without the line that names its kind is of CPU samples, or of those of any event. */
static bool may_be(const struct profile *p, const char *name)
{
	const struct profile_kind *kind = &p->kinds[0];
	bool unnamed = kind->name == 0 && kind->unit == 0 && kind->period_ns == 0;

	return strcmp(profile_kind_name(p, 0), name) == 0 ||
		(unnamed && strcmp(name, PROFILE_WALL) != 0);
}

static bool are_same_kind(const struct profile *a, const struct profile *b)
{
	return strcmp(profile_kind_unit(a, 0), profile_kind_unit(b, 0)) == 0 &&
		(may_be(a, profile_kind_name(b, 0)) || may_be(b, profile_kind_name(a, 0)));
}

/* "cpu, wall"; with its unit: "wall in nanoseconds". */
static void put_kinds(struct buf *out, const struct profile *p, bool units)
{
	for (uint32_t kind = 0; kind < p->kinds_len; kind++) {
		buf_printf(out, "%s%s", kind > 0 ? ", " : "", profile_kind_name(p, kind));
		if (units)
			buf_printf(out, " in %s", profile_kind_unit(p, kind));
	}
}

static bool share_a_kind(const struct profile *a, const struct profile *b)
{
	for (uint32_t kind = 0; kind < a->kinds_len; kind++) {
		const char *name = profile_kind_name(a, kind);

		if (profile_kind_find(b, name, strlen(name)) != PROFILE_NO_KIND)
			return true;
	}
	return false;
}

/* The first kind of each is compared; a profile without samples is of any kind. */
static int check_kinds(const struct diff *d, struct why *why)
{
	const struct profile *a = &d->sides[0].profile, *b = &d->sides[1].profile;
	_cleanup_(buf_done) struct buf of_a = BUF_INIT;
	_cleanup_(buf_done) struct buf of_b = BUF_INIT;
	bool same_name = strcmp(profile_kind_name(a, 0), profile_kind_name(b, 0)) == 0;

	if (a->samples.len == 0 || b->samples.len == 0 || are_same_kind(a, b))
		return 0;
	put_kinds(&of_a, a, same_name);
	put_kinds(&of_b, b, same_name);
	return why_set(why, -EINVAL,
		"two kinds of value cannot be compared: %s has %s, %s has %s; %s",
		d->sides[0].word, buf_text(&of_a), d->sides[1].word, buf_text(&of_b),
		same_name || !share_a_kind(a, b) ? "-e chooses a kind, but they share none"
						 : "choose one that both have with -e");
}

static int load(struct diff *d, struct side *side, struct why *why)
{
	if (profile_init(&side->profile) < 0)
		return why_set(why, -ENOMEM, "out of memory");
	return side->of_store ? load_store(d, side, why) : load_file(d, side, why);
}

static int run(struct diff *d, struct why *why)
{
	int err;

	d->out.pattern = d->output;
	err = output_try(&d->out, why);
	for (int i = 0; err == 0 && i < 2; i++)
		err = load(d, &d->sides[i], why);
	if (err == 0)
		err = check_kinds(d, why);
	if (err == 0)
		err = choose_labels(d, why);
	for (int i = 0; err == 0 && i < 2; i++)
		if (jit_code_drop_pids(&d->sides[i].profile) < 0)
			err = why_set(why, -ENOMEM, "out of memory");
	if (err == 0)
		err = match_scales(d, why);
	return err == 0 ? write_diff(d, why) : err;
}

static void init(struct diff *d)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	for (int i = 0; i < 2; i++)
		ask_init(&d->sides[i].ask, now_ns);
}

static void done(struct diff *d)
{
	for (int i = 0; i < 2; i++) {
		ask_done(&d->sides[i].ask);
		profile_done(&d->sides[i].profile);
		buf_done(&d->sides[i].by);
	}
}

int cmd_diff(int argc, char **argv, struct log *log)
{
	struct diff d = { .output = "-", .log = log };
	struct why why;
	int err;

	init(&d);
	err = parse(&d, argc, argv, &why);
	if (err < 0)
		log_error(log, "%s; see `stoker diff --help`", why.text);
	if (err < 0 || d.help) {
		if (err == 0)
			options_print_help(&table, stdout);
		done(&d);
		return err < 0 ? EXIT_USAGE : EXIT_OK;
	}
	log->quiet = d.quiet;
	signal(SIGPIPE, SIG_IGN);
	err = run(&d, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	done(&d);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
