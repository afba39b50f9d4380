/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.c - reads a file whole, decompresses it, and calls the reader of its format. The file
 * is untrusted: callers have dropped their privileges. */
#include "cmd/input.h"
#include "cmd/input_own.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "profile/fit.h"
#include "profile/folded_reader.h"
#include "profile/perf_reader.h"
#include "profile/stoker_reader.h"
#include "profile/text_size.h"
#include "profile/words.h"
#include "sink/decompress.h"

#define INPUT_BYTES_MAX (4UL << 30) /* unpacked */
#define PROBE_BYTES 65536           /* in which binary data has a zero byte */
#define OTHERS ": give folded stacks or perf text"
#define BAD_SHARE 100               /* one of so many lines may be left out */
#define TEXT_BYTES_MIN PROFILE_TEXT_MAX /* any file may become as much as an interval has */
#define TEXT_PER_BYTE 4096              /* more, for each byte of the file */

static int read_whole(const char *path, struct buf *out)
{
	return strcmp(path, "-") == 0 ? fd_read_all(STDIN_FILENO, INPUT_BYTES_MAX, out)
				      : fd_read_path(path, INPUT_BYTES_MAX, out);
}

static int fail(const char *path, int err, struct why *why)
{
	const char *name = strcmp(path, "-") == 0 ? "stdin" : path;

	if (err == -EBADMSG)
		return why_set(
			why, err, "%s: cannot be decompressed: it is damaged or truncated", name);
	if (err == -EFBIG)
		return why_set(
			why, err, "%s: more than %lu GB of text", name, INPUT_BYTES_MAX >> 30);
	return why_set(why, err, "cannot read %s: %s", name, err_text(err));
}

/* Names a format that people take for one of ours, and the remedy. */
static const char *binary_format(struct bytes text)
{
	static const struct {
		const char *magic;
		size_t at;
		const char *words;
	} formats[] = {
		{ "PK\003\004", 0, "a zip archive: extract it, and convert a file of it" },
		{ "ustar", 257, "a tar archive: extract it, and convert a file of it" },
		{ "\177ELF", 0, "an ELF file, no profile" },
		{ "PERFILE2", 0, "perf's own data: convert the output of `perf script -i FILE`" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t len = strlen(formats[i].magic);

		if (text.len >= formats[i].at + len &&
			memcmp(text.data + formats[i].at, formats[i].magic, len) == 0)
			return formats[i].words;
	}
	if (!memchr(text.data, 0, text.len < PROBE_BYTES ? text.len : PROBE_BYTES))
		return NULL;
	/* A pprof profile begins with a sample type, of at most two small numbers. */
	if (text.len > 2 && text.data[0] == '\n' && text.data[1] < 16 && text.data[2] == 8)
		return "a pprof profile" OTHERS;
	return "binary data of an unknown format" OTHERS;
}

/* Likewise of text. has NULL: the beginning is enough. */
static const char *text_format(struct bytes text)
{
	static const struct {
		const char *begins, *has, *words;
	} formats[] = {
		{ "<!doctype html", NULL, "a page (HTML)" OTHERS },
		{ "<html", NULL, "a page (HTML)" OTHERS },
		{ "<?xml", "<svg", "a picture (SVG)" OTHERS },
		{ "<svg", NULL, "a picture (SVG)" OTHERS },
		{ "{", "\"https://www.speedscope.app/", "a speedscope profile" OTHERS },
		{ "{", "\"preprocessedProfileVersion\":", "a Firefox profile" OTHERS },
		{ "{", "\"traceEvents\":", "a Chrome trace" OTHERS },
	};
	size_t probe = text.len < PROBE_BYTES ? text.len : PROBE_BYTES;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const char *has = formats[i].has;
		size_t len = strlen(formats[i].begins);

		if (probe >= len &&
			strncasecmp((const char *)text.data, formats[i].begins, len) == 0 &&
			(!has || memmem(text.data, probe, has, strlen(has))))
			return formats[i].words;
	}
	return NULL;
}

/* Lines that cannot be read are left out with a warning, if they are few. */
static int judge_lines(const char *path, const char *want, uint64_t bad, uint64_t bad_at,
	uint64_t lines, struct log *log, struct why *why)
{
	if (bad > lines / BAD_SHARE)
		return why_set(why, -EBADMSG,
			"%s: not a supported profile: %llu of %llu lines are not %s, the first is "
			"line %llu; remove them if the others are right",
			path, (unsigned long long)bad, (unsigned long long)lines, want,
			(unsigned long long)bad_at);
	if (bad > 0)
		log_warn(log, "%s: skipped %llu line%s that %s not %s, the first is line %llu",
			path, (unsigned long long)bad, bad == 1 ? "" : "s",
			bad == 1 ? "is" : "are", want, (unsigned long long)bad_at);
	return 0;
}

/* All counts are kept as whole numbers of the smallest part that one of them has. */
static int refuse_sum(
	const char *path, const struct folded_counts *counts, uint32_t scale, struct why *why)
{
	const char *name = strcmp(path, "-") == 0 ? "stdin" : path;

	if (scale == 1)
		return why_set(why, -ERANGE,
			"%s: line %llu: the sum of the counts is over %llu, the limit of exact "
			"numbers: divide all counts",
			name, (unsigned long long)counts->large_at, FOLDED_SUM_MAX);
	return why_set(why, -ERANGE,
		"%s: line %llu: the sum of the counts is over %llu, the limit where a count has "
		"fractions of 1/%u: round the counts, or divide all",
		name, (unsigned long long)counts->large_at, FOLDED_SUM_MAX / scale, scale);
}

static int read_folded(struct input *input, struct bytes text, struct profile *out, struct log *log,
	struct why *why)
{
	const char *path = input->path;
	struct folded_counts counts;
	int err = folded_read(text, out, &counts);

	if (err == -ERANGE)
		return refuse_sum(path, &counts, out->kinds[0].scale, why);
	if (err < 0)
		return fail(path, err, why);
	err = judge_lines(path, "folded stacks (`frame;frame COUNT`)", counts.bad, counts.bad_at,
		counts.lines + counts.bad, log, why);
	if (err < 0)
		return err;
	if (counts.pairs > 0 && counts.pairs == counts.lines)
		return why_set(why, -EBADMSG,
			"%s: line %llu has two counts, as the output of `stoker diff` has: give "
			"`stoker diff` the two profiles that were compared",
			path, (unsigned long long)counts.pairs_at);
	if (counts.pairs > 0)
		log_warn(log,
			"%s: %llu line%s with two numbers, the first is line %llu: only the "
			"last number is the count, the other is part of the name",
			path, (unsigned long long)counts.pairs,
			counts.pairs == 1 ? " ends" : "s end",
			(unsigned long long)counts.pairs_at);
	if (counts.comments > 0)
		log_warn(log,
			"%s: %llu line%s with # and a count at the end: no stacks but comments",
			path, (unsigned long long)counts.comments,
			counts.comments == 1 ? " begins" : "s begin");
	if (counts.no_kind > 0)
		log_warn(log, "%s: skipped %llu lines of kinds beyond the first %d", path,
			(unsigned long long)counts.no_kind, PROFILE_KINDS_MAX);
	if (counts.rounded > 0)
		log_warn(log, "%s: %llu count%s rounded to %d digits after the point", path,
			(unsigned long long)counts.rounded, counts.rounded == 1 ? " is" : "s are",
			FOLDED_DIGITS_MAX);
	return sink_parse_by(counts.labels, &input->by, why);
}

/* cycles (111 samples), ...: all events but the wanted one, which may be NULL. */
static void put_events(
	struct buf *out, const struct perf_counts *counts, const struct perf_event *wanted)
{
	for (uint32_t i = 0; i < counts->events_len; i++) {
		const struct perf_event *event = &counts->events[i];

		if (event == wanted)
			continue;
		buf_puts(out, out->len > 0 ? ", " : "");
		buf_put(out, event->name.len > 0 ? (const char *)event->name.data : "(no name)",
			event->name.len > 0 ? event->name.len : strlen("(no name)"));
		buf_printf(out, " (%llu samples)", (unsigned long long)event->samples);
	}
	if (counts->further > 0)
		buf_printf(out, ", others (%llu samples)", (unsigned long long)counts->further);
}

/* Samples of other events are never added: says which were left out. */
static int report_events(const char *path, const char *event, const struct perf_counts *counts,
	struct log *log, struct why *why)
{
	_cleanup_(buf_done) struct buf others = BUF_INIT;
	const struct perf_event *read = event ? NULL : counts->events;

	put_events(&others, counts, read);
	if (event && counts->samples == 0)
		return why_set(why, -EINVAL, "%s: no event %s; it has %s", path, event,
			others.len > 0 ? buf_text(&others) : "no samples");
	if (counts->samples > 0 && others.len > 0 && !event)
		log_warn(log,
			"%s has several events: read %.*s (%llu samples), left out %s; -e of "
			"`stoker convert` chooses another",
			path, (int)read->name.len, (const char *)read->name.data,
			(unsigned long long)counts->samples, buf_text(&others));
	return 0;
}

/* Those of -e, in its order. */
static int choose_kinds(
	const struct input *input, struct profile *out, const struct buf *has, struct why *why)
{
	int err = profile_choose_kinds(out, input->event);

	if (err == -ENOENT)
		return why_set(why, -EINVAL, "%s: no events or kinds %s; it has %s", input->path,
			input->event, buf_text(has));
	return err < 0 ? why_set(why, err, "out of memory") : 0;
}

static bool has_comm(const struct profile *profile)
{
	vec_each (&profile->label_list, label)
		if (label->key == PROFILE_KEY_COMM)
			return true;
	return false;
}

static int read_perf(struct input *input, struct bytes text, struct profile *out, struct log *log,
	struct why *why)
{
	_cleanup_(buf_done) struct buf has = BUF_INIT;
	struct perf_counts counts;
	int err = perf_read(text, input->event, out, &counts);

	if (err < 0)
		return fail(input->path, err, why);
	err = judge_lines(input->path, "samples or frames of perf text", counts.bad, counts.bad_at,
		counts.lines, log, why);
	if (err < 0)
		return err;
	if (out->ticks_dropped > 0)
		log_warn(log, "%s: of %llu samples only the first %u have their times", input->path,
			(unsigned long long)counts.samples, PROFILE_TICKS_MAX);
	if (has_comm(out))
		input->by.by[input->by.by_len++] = PROFILE_KEY_COMM;
	err = report_events(input->path, input->event, &counts, log, why);
	put_events(&has, &counts, NULL);
	return err == 0 && input->event ? choose_kinds(input, out, &has, why) : err;
}

/* Windows programs begin a text with a byte order mark. */
static struct bytes without_mark(struct bytes text)
{
	struct cursor c = cursor_init(text.data, text.len);

	if (words_begins(text, "\xef\xbb\xbf"))
		cursor_skip(&c, 3);
	return cursor_bytes(&c, cursor_left(&c));
}

/* In a file that names its kinds. */
static int choose_own_kinds(const struct input *input, struct profile *out, struct why *why)
{
	_cleanup_(buf_done) struct buf has = BUF_INIT;

	for (uint32_t kind = 0; kind < out->kinds_len; kind++)
		buf_printf(&has, "%s%s", kind > 0 ? ", " : "", profile_kind_name(out, kind));
	return choose_kinds(input, out, &has, why);
}

/* A segment's head begins as no text does. */
static bool is_own(struct bytes file)
{
	struct cursor c = cursor_init(file.data, file.len);

	return cursor_u32(&c) == SEGMENT_SKIPPABLE_MAGIC || stoker_looks_like(file);
}

static int read_own(struct input *input, struct bytes file, struct profile *out, struct log *log,
	struct why *why)
{
	_cleanup_(segment_freep) struct segment *segment = NULL;
	struct why reason;
	int err;

	if (stoker_looks_like(file)) {
		err = input_read_stoker(input, file, out, log, why);
	} else {
		err = segment_open(file.data, file.len, &segment, &reason);
		err = err < 0 ? why_set(why, err, "%s: %s", input->path, reason.text)
			      : input_read_segment(input, segment, out, log, why);
	}
	return err == 0 && input->event ? choose_own_kinds(input, out, why) : err;
}

/* ---- how much text it becomes ---------------------------------------------------------------- */

static int refuse_text(const struct input *input, uint64_t max, const char *remedy, struct why *why)
{
	const char *name = strcmp(input->path, "-") == 0 ? "stdin" : input->path;

	return why_set(why, -EFBIG,
		"%s: its stacks are more than %llu MB of text, the limit for a file of its size: "
		"it repeats long stacks more often than a recording does; %s",
		name, (unsigned long long)(max >> 20), remedy);
}

/* A profile is small, whatever it refers to, until a format writes it out. */
static int check_lines(const struct input *input, const struct profile *p, struct why *why)
{
	uint64_t max = input->text_max < INPUT_BYTES_MAX ? input->text_max : INPUT_BYTES_MAX;
	uint64_t bytes;
	int err = text_size_lines(p, max, &bytes);

	if (err < 0)
		return why_set(why, err, "out of memory");
	return bytes > max
		? refuse_text(input, max, "if it is one, record a shorter time or fewer processes",
			  why)
		: 0;
}

int input_check_ticks(const struct input *input, const struct profile *p, struct why *why)
{
	uint64_t bytes;
	int err = text_size_ticks(p, input->text_max, &bytes);

	if (err < 0)
		return why_set(why, err, "out of memory");
	return bytes > input->text_max ? refuse_text(input, input->text_max,
						 "choose another format, or a part of the time "
						 "(--since, --until)",
						 why)
				       : 0;
}

static int load(struct input *input, struct profile *out, struct log *log, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *format;
	struct bytes bytes;
	int err = read_whole(input->path, &packed);

	input->text_max = TEXT_BYTES_MIN + TEXT_PER_BYTE * (uint64_t)packed.len;
	bytes = (struct bytes){ (const uint8_t *)buf_text(&packed), packed.len };
	if (err == 0 && is_own(bytes))
		return read_own(input, bytes, out, log, why);
	if (err == 0)
		err = decompress((struct bytes){ (const uint8_t *)packed.data, packed.len },
			INPUT_BYTES_MAX, &text);
	if (err < 0)
		return fail(input->path, err, why);
	bytes = without_mark((struct bytes){ (const uint8_t *)buf_text(&text), text.len });
	if (is_own(bytes))
		return read_own(input, bytes, out, log, why);
	format = binary_format(bytes);
	if (!format)
		format = text_format(bytes);
	if (format)
		return why_set(
			why, -EBADMSG, "%s: not a supported profile but %s", input->path, format);
	if (memchr(bytes.data, '\r', bytes.len) && !memchr(bytes.data, '\n', bytes.len))
		return why_set(why, -EBADMSG,
			"%s: its lines end with a carriage return alone: make them newlines, as "
			"`tr '\\r' '\\n'` does",
			input->path);
	if (perf_looks_like(bytes))
		return read_perf(input, bytes, out, log, why);
	err = read_folded(input, bytes, out, log, why);
	if (err < 0 || !input->event)
		return err;
	if (out->kinds_len == 1 && out->kinds[0].name == 0)
		return why_set(why, -EINVAL,
			"-e: %s is no perf text and has no events, nor lines that name kinds",
			input->path);
	return choose_own_kinds(input, out, why);
}

int input_load(struct input *input, struct profile *out, struct log *log, struct why *why)
{
	int err = load(input, out, log, why);

	if (err == 0)
		err = check_lines(input, out, why);
	if (err == 0 && out->labels_cut > 0)
		log_warn(log, "%s: %llu labels are beyond the limits: left out or cut", input->path,
			(unsigned long long)out->labels_cut);
	return err;
}
