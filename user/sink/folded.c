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

/* One frame's text. An empty name would make an empty frame, which readers drop. */
static void put_name(struct buf *out, const char *name, const char *suffix)
{
	size_t start;

	if (out->len > 0)
		buf_putc(out, ';');
	start = out->len;
	utf8_put_clean(out, *name ? name : "?");
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	buf_puts(out, suffix);
}

static void put_stack(struct buf *out, const struct profile *p, uint32_t stack)
{
	for (uint32_t i = p->stacks.data[stack].len; i-- > 0;) {
		const struct profile_frame *frame = profile_stack_frame(p, stack, i);

		put_name(out, profile_text(p, frame->name), suffixes[frame->class]);
	}
}

static int put_line(struct buf *out, const struct profile *p, const struct sink_options *options,
	const struct profile_sample *sample)
{
	const struct profile_labels *labels = &p->labels.data[sample->labels];

	buf_clear(out);
	for (uint32_t i = 0; i < options->by_len; i++) {
		char number[SINK_NUMBER_MAX];

		put_name(out, sink_label(p, labels, options->by[i], number), "");
	}
	put_stack(out, p, sample->stack);
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
	_cleanup_(buf_done) struct buf line = BUF_INIT;

	vec_each (&p->samples, sample) {
		uint32_t id = 0;

		if (put_line(&line, p, options, sample) < 0 ||
			strtab_put(texts, line.data, line.len, &id) < 0)
			return -ENOMEM;
		counts[id] += sample->value;
	}
	return 0;
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
