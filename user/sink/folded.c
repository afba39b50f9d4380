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

/* The lines that are being made. */
struct folding {
	const struct profile *profile;
	const struct sink_options *options;
	struct strtab names; /* of frames, as lines have them */
	uint32_t *of_frames; /* by frame: its name + 1; 0: not made yet */
	struct buf name, line;
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
	buf_done(&f->name);
	buf_done(&f->line);
}

/* One frame's text. An empty name would make an empty frame, which readers drop. */
static void put_name(struct buf *out, const char *name, const char *suffix)
{
	size_t start = out->len;

	utf8_put_clean(out, *name ? name : "?");
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	buf_puts(out, suffix);
}

/* Many stacks have the same frames: the text of each is made once. */
static void put_frame(struct folding *f, uint32_t id)
{
	const struct profile_frame *frame = &f->profile->frames.data[id];
	uint32_t *made = &f->of_frames[id];

	if (*made == 0) {
		buf_clear(&f->name);
		put_name(&f->name, profile_text(f->profile, frame->name), suffixes[frame->class]);
		buf_fail(&f->line, buf_err(&f->name));
		if (buf_err(&f->line) == 0)
			buf_fail(&f->line,
				strtab_put(&f->names, f->name.data, f->name.len, made));
		if (buf_err(&f->line) < 0)
			return;
		++*made;
	}
	buf_puts(&f->line, strtab_get(&f->names, *made - 1));
}

static void put_stack(struct folding *f, uint32_t stack)
{
	const struct profile_stack *s = &f->profile->stacks.data[stack];

	for (uint32_t i = s->len; i-- > 0;) {
		if (f->line.len > 0)
			buf_putc(&f->line, ';');
		put_frame(f, f->profile->frame_ids.data[s->first + i]);
	}
}

static int put_line(struct folding *f, const struct profile_sample *sample)
{
	const struct profile_labels *labels = &f->profile->labels.data[sample->labels];
	struct buf *out = &f->line;

	buf_clear(out);
	for (uint32_t i = 0; i < f->options->by_len; i++) {
		char number[SINK_NUMBER_MAX];

		if (i > 0)
			buf_putc(out, ';');
		put_name(out, sink_label(f->profile, labels, f->options->by[i], number), "");
	}
	put_stack(f, sample->stack);
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
	int err = folding_init(&f, p, options);

	vec_each (&p->samples, sample) {
		uint32_t id = 0;

		if (err == 0)
			err = put_line(&f, sample);
		if (err == 0)
			err = strtab_put(texts, f.line.data, f.line.len, &id);
		if (err < 0)
			return err;
		counts[id] += sample->value;
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
