/* SPDX-License-Identifier: Apache-2.0 */
/* sink/diff.c - joins the lines of two folded profiles by their text. folded sorts its lines, so
 * one pass merges them, and a line here means the same as in folded. */
#include "sink/diff.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "profile/folded_reader.h"

static const char *const names[DIFF_SCALES] = {
	[DIFF_TOTAL] = "total",
	[DIFF_TIME] = "time",
	[DIFF_NONE] = "none",
};

enum diff_scale diff_find_scale(const char *name)
{
	int scale = 0;

	while (scale < DIFF_SCALES && strcmp(names[scale], name) != 0)
		scale++;
	return (enum diff_scale)scale;
}

const char *diff_scale_name(enum diff_scale scale)
{
	return names[scale];
}

/* How many samples one CPU would have had, or how long a thread could wait; or 0. */
static double ticks_of(const struct profile *p)
{
	if (p->kinds[0].period_ns)
		return (double)p->duration_ns / (double)p->kinds[0].period_ns;
	return profile_kind_is_time(p, 0) ? (double)p->duration_ns : 0;
}

double diff_factor(const struct profile *before, const struct profile *after, enum diff_scale scale)
{
	double from = 0, to = 0;

	if (scale == DIFF_TOTAL) {
		from = (double)profile_total(before);
		to = (double)profile_total(after);
	} else if (scale == DIFF_TIME) {
		from = ticks_of(before);
		to = ticks_of(after);
	}
	return from > 0 && to > 0 ? to / from : 1;
}

/* A line of folded text: the stack before its last blank and the count after it. */
struct line {
	const char *text;
	size_t len;
	uint64_t count;
};

/* False at the end. */
static bool next_line(const char **at, struct line *line)
{
	const char *end = strchr(*at, '\n'), *blank;

	if (!end)
		return false;
	for (blank = end; blank[-1] != ' ';)
		blank--;
	*line = (struct line){
		.text = *at, .len = (size_t)(blank - 1 - *at), .count = strtoull(blank, NULL, 10)
	};
	*at = end + 1;
	return true;
}

/* In the order of strcmp on the texts, as folded sorts them. */
static int compare(const struct line *a, const struct line *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->text, b->text, len);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static void put_line(struct buf *out, const struct line *line, uint64_t before, uint64_t after)
{
	buf_put(out, line->text, line->len);
	buf_printf(out, " %llu %llu\n", (unsigned long long)before, (unsigned long long)after);
}

static void join(const char *before, const char *after, double factor, struct buf *out)
{
	struct line a, b;
	bool has_a = next_line(&before, &a), has_b = next_line(&after, &b);

	while (has_a || has_b) {
		int order = !has_a ? 1 : !has_b ? -1 : compare(&a, &b);

		put_line(out, order <= 0 ? &a : &b,
			order <= 0 ? (uint64_t)llround((double)a.count * factor) : 0,
			order >= 0 ? b.count : 0);
		if (order <= 0)
			has_a = next_line(&before, &a);
		if (order >= 0)
			has_b = next_line(&after, &b);
	}
}

/* A hundredth of one counts, too: samples/100. */
static bool is_samples(const struct profile *p)
{
	return strncmp(profile_kind_unit(p, 0), PROFILE_SAMPLES, strlen(PROFILE_SAMPLES)) == 0;
}

/* Puts the line that names the kind, if there is one. Returns what follows it. */
static const char *put_kind(const char *text, struct buf *out)
{
	const char *end = strchr(text, '\n');

	if (!end || strncmp(text, FOLDED_KIND, strlen(FOLDED_KIND)) != 0)
		return text;
	if (out)
		buf_put(out, text, (size_t)(end + 1 - text));
	return end + 1;
}

int diff_write_folded(const struct profile *before, const struct profile *after,
	const struct sink_options *options, enum diff_scale scale, struct buf *out)
{
	_cleanup_(buf_done) struct buf a = BUF_INIT;
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct sink_options plain = *options;

	plain.lines_only = is_samples(before) && is_samples(after);
	buf_fail(out, folded_write(before, &plain, &a));
	buf_fail(out, folded_write(after, &plain, &b));
	if (buf_err(out) == 0)
		join(put_kind(buf_text(&a), NULL), put_kind(buf_text(&b), out),
			diff_factor(before, after, scale), out);
	return buf_err(out);
}
