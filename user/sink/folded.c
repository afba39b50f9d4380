/* SPDX-License-Identifier: Apache-2.0 */
/* sink/folded.c - `frame;frame;frame COUNT`, root first, as flamegraph.pl and speedscope read it.
 * Equal lines become one line and lines are sorted, so equal profiles are equal files. No name can
 * end its line or frame: ';' becomes ':', control characters and what is not UTF-8 become '?'. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "profile/folded_reader.h"
#include "profile/marks.h"

static const char *const suffixes[] = {
	[PROFILE_NATIVE] = "",
	[PROFILE_KERNEL] = "_[k]",
	[PROFILE_JIT] = "_[j]",
	[PROFILE_INLINED] = "_[i]",
	[PROFILE_LANGUAGE] = "",
	[PROFILE_MARK] = "",
};

struct folded {
	size_t first; /* index in folding.ids */
	uint32_t len;
	uint64_t count;
};

/* The lines that are being made. A name is a number here, so that lines are compared fast, and two
 * that read the same have the same numbers. */
struct folding {
	const struct profile *profile;
	const struct sink_options *options;
	struct strtab names; /* of frames and labels, as lines have them */
	uint32_t *of_frames; /* by frame: its name + 1; 0: not made yet */
	VEC(uint32_t) ids;   /* of all lines, root first */
	VEC(struct folded) lines;
	struct hash by_ids; /* hash of a line's names → index in lines */
	struct buf name;
};

static int folding_init(
	struct folding *f, const struct profile *profile, const struct sink_options *options)
{
	*f = (struct folding){ .profile = profile, .options = options };
	f->of_frames = calloc(profile->frames.len + 1, sizeof(*f->of_frames));
	return f->of_frames ? strtab_init(&f->names) : -ENOMEM;
}

static void folding_done(struct folding *f)
{
	strtab_done(&f->names);
	free(f->of_frames);
	vec_done(&f->ids);
	vec_done(&f->lines);
	hash_done(&f->by_ids);
	buf_done(&f->name);
}

/* An empty name would make an empty frame, which readers drop. */
static int make_name(struct folding *f, const char *name, const char *suffix, uint32_t *id)
{
	struct buf *out = &f->name;

	buf_clear(out);
	utf8_put_clean(out, *name ? name : "?");
	for (size_t i = 0; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	buf_puts(out, suffix);
	return buf_err(out) < 0 ? buf_err(out) : strtab_put(&f->names, out->data, out->len, id);
}

static int put_text(struct folding *f, const char *text)
{
	uint32_t *id = vec_add(&f->ids);

	return id ? make_name(f, text, "", id) : -ENOMEM;
}

static int put_label(struct folding *f, uint32_t labels, uint32_t i)
{
	char number[SINK_NUMBER_MAX];

	return put_text(f, sink_by_label(f->profile, f->options, labels, i, number));
}

static int put_frame(struct folding *f, uint32_t frame)
{
	const struct profile_frame *of = &f->profile->frames.data[frame];
	uint32_t *made = &f->of_frames[frame], *id = vec_add(&f->ids);
	int err = id ? 0 : -ENOMEM;

	if (err == 0 && *made == 0) {
		err = make_name(f, profile_text(f->profile, of->name), suffixes[of->class], made);
		*made += err == 0;
	}
	if (err == 0)
		*id = *made - 1;
	return err;
}

static int put_stack(struct folding *f, const struct profile_sample *sample)
{
	const struct profile_stack *s = &f->profile->stacks.data[sample->stack];
	int err = 0;

	for (uint32_t i = 0; i < f->options->by_len && err == 0; i++)
		err = put_label(f, sample->labels, i);
	for (uint32_t i = s->len; i-- > 0 && err == 0;)
		err = put_frame(f, f->profile->frame_ids.data[s->first + i]);
	if (err == 0 && f->options->idle_mark && profile_labels_idle(f->profile, sample->labels))
		err = put_text(f, PROFILE_IDLE);
	return err;
}

/* A line without names would be no line. And a reader takes a line with '#' for a comment: a
 * command could hide by its name. */
static int put_beginning(struct folding *f, size_t first)
{
	struct buf *name = &f->name;
	uint32_t *id;

	if (f->ids.len == first) {
		id = vec_add(&f->ids);
		return id ? make_name(f, "", "", id) : -ENOMEM;
	}
	id = &f->ids.data[first];
	if (strtab_get(&f->names, *id)[0] != '#')
		return 0;
	buf_clear(name);
	buf_puts(name, strtab_get(&f->names, *id));
	if (buf_err(name) < 0)
		return buf_err(name);
	name->data[0] = '?';
	return strtab_put(&f->names, name->data, name->len, id);
}

static bool same_line(const struct folding *f, const struct folded *line, size_t first)
{
	return line->len == f->ids.len - first &&
		(line->len == 0 ||
			memcmp(f->ids.data + line->first, f->ids.data + first,
				line->len * sizeof(*f->ids.data)) == 0);
}

/* Adds a sample to the line that reads as it does. */
static int fold_sample(struct folding *f, const struct profile_sample *sample)
{
	size_t first = f->ids.len;
	int err = put_stack(f, sample);
	struct folded *line;
	uint64_t hash, *have;

	if (err == 0)
		err = put_beginning(f, first);
	if (err < 0)
		return err;
	hash = hash_bytes(f->ids.data + first, (f->ids.len - first) * sizeof(*f->ids.data));
	for (; (have = hash_find(&f->by_ids, hash)); hash++) {
		line = &f->lines.data[*have];
		if (!same_line(f, line, first))
			continue;
		line->count += sample->value;
		f->ids.len = first;
		return 0;
	}
	line = vec_add(&f->lines);
	if (!line)
		return -ENOMEM;
	*line = (struct folded){ first, (uint32_t)(f->ids.len - first), sample->value };
	return hash_put(&f->by_ids, hash, f->lines.len - 1);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* By their bytes, each name with the byte that follows it in its line. */
static int by_name(const char *a, char after_a, const char *b, char after_b)
{
	for (; *a && *a == *b; a++)
		b++;
	return (unsigned char)(*a ? *a : after_a) - (unsigned char)(*b ? *b : after_b);
}

/* As their texts compare: the first name that differs decides, and names have no ';'. */
static int by_text(const void *a, const void *b, void *ctx)
{
	const struct folding *f = ctx;
	const struct folded *x = a, *y = b;
	const uint32_t *xs = f->ids.data + x->first, *ys = f->ids.data + y->first;
	uint32_t len = x->len < y->len ? x->len : y->len, i = 0;

	while (i < len && xs[i] == ys[i])
		i++;
	if (i == len)
		return x->len < y->len ? -1 : x->len > y->len;
	return by_name(strtab_get(&f->names, xs[i]), i + 1 < x->len ? ';' : '\0',
		strtab_get(&f->names, ys[i]), i + 1 < y->len ? ';' : '\0');
}

/* As a decimal fraction: the value is the count times the scale. */
static void put_count(struct buf *out, uint64_t count, uint32_t scale)
{
	uint64_t rest = count % scale;

	buf_printf(out, " %llu%s", (unsigned long long)(count / scale), rest > 0 ? "." : "");
	for (uint32_t unit = scale / 10; rest > 0; rest %= unit, unit /= 10)
		buf_putc(out, (char)('0' + rest / unit));
	buf_putc(out, '\n');
}

static void put_line(const struct folding *f, const struct folded *line, uint64_t count,
	uint32_t scale, struct buf *out)
{
	for (uint32_t i = 0; i < line->len; i++) {
		if (i > 0)
			buf_putc(out, ';');
		buf_puts(out, strtab_get(&f->names, f->ids.data[line->first + i]));
	}
	put_count(out, count, scale);
}

/* Time is written in microseconds: tools for folded text take whole numbers, and sum many. */
static bool is_time(const struct profile *p, const struct sink_options *o)
{
	return !o->lines_only &&
		strcmp(profile_kind_unit(p, o->kind), PROFILE_NANOSECONDS) == 0;
}

/* Each line hands what it has below a microsecond to the next one, so the sum of all is right. */
static void put_times(const struct folding *f, struct buf *out)
{
	uint64_t unit = (uint64_t)FOLDED_TIME_NS * f->profile->kinds[f->options->kind].scale;
	uint64_t rest = 0;

	vec_each (&f->lines, line) {
		uint64_t count = line->count / unit;

		rest += line->count % unit;
		count += rest / unit;
		rest %= unit;
		if (count > 0)
			put_line(f, line, count, 1, out);
	}
}

static void put_lines(const struct folding *f, struct buf *out)
{
	uint32_t scale = f->profile->kinds[f->options->kind].scale;

	vec_each (&f->lines, line)
		put_line(f, line, line->count, scale, out);
}

/* Would a reader take the counts for CPU samples? Then a line names their kind. */
static bool is_named(const struct profile *p, const struct sink_options *o)
{
	const struct profile_kind *kind = &p->kinds[0];

	return p->kinds_len > 1 || kind->unit != 0 ||
		(o->label_line && kind->name != 0 && kind->period_ns > 0);
}

static void put_word(struct buf *out, const char *word)
{
	size_t from = out->len;

	utf8_put_clean(out, word);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ' ' || out->data[i] == ';')
			out->data[i] = '_';
}

static void put_kind(struct buf *out, const struct profile *p, const struct sink_options *o)
{
	buf_puts(out, FOLDED_KIND);
	put_word(out, profile_kind_name(p, 0));
	buf_putc(out, ' ');
	put_word(out, is_time(p, o) ? PROFILE_MICROSECONDS : profile_kind_unit(p, 0));
	buf_printf(out, " %llu 0\n", (unsigned long long)p->kinds[0].period_ns);
}

/* A stack of no samples for other readers (folded_reader.h). */
static void put_labels(struct buf *out, const struct sink_options *o)
{
	buf_puts(out, FOLDED_LABELS);
	sink_put_by(out, o);
	buf_puts(out, " 0\n");
}

int folded_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(folding_done) struct folding f;
	int err = folding_init(&f, p, options);

	/* A part of a profile has stacks of which it has no samples. */
	vec_each (&p->samples, sample)
		if (err == 0 && sample->value > 0 && sample->kind == options->kind)
			err = fold_sample(&f, sample);
	if (err < 0)
		return buf_fail(out, err);
	if (f.lines.len > 0)
		qsort_r(f.lines.data, f.lines.len, sizeof(*f.lines.data), by_text, &f);
	if (!options->lines_only && is_named(p, options))
		put_kind(out, p, options);
	if (options->label_line && options->by_len > 0)
		put_labels(out, options);
	if (is_time(p, options))
		put_times(&f, out);
	else
		put_lines(&f, out);
	return buf_err(out);
}

int intervals_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	struct sink_options plain = *options;

	plain.lines_only = true;
	folded_write(p, &plain, out);
	return buf_putc(out, '\n');
}
