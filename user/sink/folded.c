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

struct line {
	const char *text;
	uint64_t count;
};

static const char *const suffixes[] = {
	[PROFILE_NATIVE] = "",
	[PROFILE_KERNEL] = "_[k]",
	[PROFILE_JIT] = "_[j]",
	[PROFILE_INLINED] = "_[i]",
	[PROFILE_MARK] = "",
};

struct folded {
	size_t first; /* index in folding.ids */
	uint32_t len;
	uint64_t count;
};

/* The lines that are being made. A text is a number here, so that lines are compared fast: only
 * one of those that read the same becomes text. */
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

static int put_label(struct folding *f, const struct profile_labels *labels, enum sink_key key)
{
	uint32_t *id = vec_add(&f->ids);
	char number[SINK_NUMBER_MAX];

	return id ? make_name(f, sink_label(f->profile, labels, key, number), "", id) : -ENOMEM;
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
	const struct profile_labels *labels = &f->profile->labels.data[sample->labels];
	const struct profile_stack *s = &f->profile->stacks.data[sample->stack];
	int err = 0;

	for (uint32_t i = 0; i < f->options->by_len && err == 0; i++)
		err = put_label(f, labels, f->options->by[i]);
	for (uint32_t i = s->len; i-- > 0 && err == 0;)
		err = put_frame(f, f->profile->frame_ids.data[s->first + i]);
	return err;
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

/* Two lines may still read the same: of an empty one and of a frame whose name is "?". */
static int put_text(const struct folding *f, const struct folded *line, struct buf *out)
{
	buf_clear(out);
	for (uint32_t i = 0; i < line->len; i++) {
		if (i > 0)
			buf_putc(out, ';');
		buf_puts(out, strtab_get(&f->names, f->ids.data[line->first + i]));
	}
	if (out->len == 0)
		buf_putc(out, '?');
	/* A reader takes a line with '#' for a comment: a command could hide by its name. */
	if (buf_err(out) == 0 && out->data[0] == '#')
		out->data[0] = '?';
	return buf_err(out);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* Adds up samples whose lines read the same: counts[id of the line]. */
static int fold(const struct profile *p, const struct sink_options *options, struct strtab *texts,
	uint64_t *counts)
{
	_cleanup_(folding_done) struct folding f;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = folding_init(&f, p, options);

	vec_each (&p->samples, sample)
		if (err == 0)
			err = fold_sample(&f, sample);
	vec_each (&f.lines, line) {
		uint32_t id = 0;

		if (err == 0)
			err = put_text(&f, line, &text);
		if (err == 0)
			err = strtab_put(texts, text.data, text.len, &id);
		if (err < 0)
			return err;
		counts[id] += line->count;
	}
	return err;
}

/* As a decimal fraction: the value is the count times the scale. */
static void put_count(struct buf *out, const struct profile *p, const struct line *line)
{
	uint64_t rest = line->count % p->scale;

	buf_printf(out, "%s %llu%s", line->text, (unsigned long long)(line->count / p->scale),
		rest > 0 ? "." : "");
	for (uint32_t unit = p->scale / 10; rest > 0; rest %= unit, unit /= 10)
		buf_putc(out, (char)('0' + rest / unit));
	buf_putc(out, '\n');
}

/* A stack of no samples for other readers (folded_reader.h). */
static void put_labels(struct buf *out, const struct sink_options *o)
{
	for (uint32_t i = 0; i < o->by_len; i++)
		buf_printf(out, "%s%s%s", i > 0 ? "," : FOLDED_LABELS, sink_key_name(o->by[i]),
			i + 1 == o->by_len ? " 0\n" : "");
}

int folded_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(strtab_done) struct strtab texts = { 0 };
	_cleanup_(freep) uint64_t *counts = calloc(p->samples.len + 1, sizeof(*counts));
	_cleanup_(freep) struct line *lines = calloc(p->samples.len + 1, sizeof(*lines));
	size_t len = 0;

	if (!counts || !lines || strtab_init(&texts) < 0 || fold(p, options, &texts, counts) < 0)
		return buf_fail(out, -ENOMEM);
	for (uint32_t id = 0; id < texts.len; id++)
		if (counts[id] > 0)
			lines[len++] = (struct line){ strtab_get(&texts, id), counts[id] };
	qsort(lines, len, sizeof(*lines), by_text);
	if (options->label_line && options->by_len > 0)
		put_labels(out, options);
	for (size_t i = 0; i < len; i++)
		put_count(out, p, &lines[i]);
	return buf_err(out);
}

int intervals_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	folded_write(p, options, out);
	return buf_putc(out, '\n');
}
