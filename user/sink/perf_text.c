/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_text.c - the output of `perf script`, as FlameGraph's stackcollapse-perf.pl,
 * FlameScope, speedscope, the Firefox Profiler and PerfView all read it:
 *     COMM PID/TID [CPU] SECONDS.NANOSECONDS:   PERIOD EVENT:
 *     <tab>ADDRESS SYMBOL (MODULE)          leaf first
 *     <empty line>
 * Most take the first event of a text alone, so the text has kind 0 only.
 * Each reader splits a line in its own way, so comms, symbols and modules hold only text that all
 * of them read right (perf_words.h). Frames become text once a profile. For PerfView, which weighs
 * samples by the time between them, there are lines of idle time too (perf_idle.h). */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "sink/perf_idle.h"
#include "sink/perf_words.h"

#define EVENT "cpu-clock"

struct perf_text {
	const struct sink_options *options;
	bool begun;
	struct buf scratch;
	struct perf_idle idle; /* of options->perfview */
};

/* Texts that repeat in one profile, as ids of texts + 1; 0: not made yet. */
struct perf_lines {
	const struct profile *profile;
	struct strtab texts;
	uint32_t *frames; /* by frame: its line, if it is the same in all processes */
	uint32_t *labels; /* by labels: COMM PID/TID */
};

static int text_open(const struct sink_options *options, void **state)
{
	struct perf_text *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->options = options;
	*state = t;
	return 0;
}

static void text_free(void *state)
{
	struct perf_text *t = state;

	if (!t)
		return;
	buf_done(&t->scratch);
	perf_idle_done(&t->idle);
	free(t);
}

static void lines_done(struct perf_lines *lines)
{
	strtab_done(&lines->texts);
	free(lines->frames);
	free(lines->labels);
}

static int lines_init(struct perf_lines *lines, const struct profile *p)
{
	lines->profile = p;
	lines->frames = calloc(p->frames.len + 1, sizeof(*lines->frames));
	lines->labels = calloc(p->labels.len + 1, sizeof(*lines->labels));
	return lines->frames && lines->labels ? strtab_init(&lines->texts) : -ENOMEM;
}

static const char *event_of(const struct profile *p)
{
	const char *name = profile_kind_name(p, 0);

	return strcmp(name, PROFILE_CPU) == 0 ? EVENT : name;
}

static void put_head(const struct profile *p, struct buf *out)
{
	time_t start = (time_t)(p->start_ns / NSEC_PER_SEC);
	char when[64] = "not known";
	struct tm tm;

	if (p->start_ns > 0 && gmtime_r(&start, &tm))
		strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Y UTC", &tm);
	buf_printf(out, "# ========\n# captured on    : %s\n# cmdline : stoker\n", when);
	/* The zero of the times, for stoker convert. */
	if (p->start_tick_ns > 0)
		buf_printf(out, "# started at : %llu.%09llu\n",
			(unsigned long long)(p->start_tick_ns / NSEC_PER_SEC),
			(unsigned long long)(p->start_tick_ns % NSEC_PER_SEC));
	/* An event that readers do not know as a clock; its periods are nanoseconds. */
	if (p->kinds[0].unit == 0 && p->kinds[0].period_ns > 0 && !strstr(event_of(p), "-clock")) {
		buf_puts(out, "# clock : ");
		utf8_put_clean(out, event_of(p));
		buf_putc(out, '\n');
	}
	buf_puts(out, "# ========\n#\n");
}

/* ---- a frame's line ------------------------------------------------------------------------- */

static void put_module(
	struct buf *out, const struct profile *p, const struct profile_frame *frame, int32_t pid)
{
	const char *module = profile_text(p, frame->module);

	if (frame->class == PROFILE_JIT)
		buf_printf(out, "/tmp/perf-%d.map", pid < 0 ? 0 : pid);
	else if (!*module)
		buf_puts(out, frame->class == PROFILE_KERNEL ? "[kernel.kallsyms]" : "[unknown]");
	else if (frame->class == PROFILE_KERNEL)
		perf_words_kernel_module(out, module);
	else
		perf_words_module(out, module);
}

/* The frame, with those inlined into it: frames first to last, innermost first. */
static void put_frames(
	struct buf *out, const struct profile *p, const uint32_t *frames, uint32_t len, int32_t pid)
{
	const struct profile_frame *place = &p->frames.data[frames[len - 1]];

	buf_printf(out, "\t%llx ", (unsigned long long)place->address);
	for (uint32_t i = len; i-- > 0;) {
		perf_words_symbol(out, profile_text(p, p->frames.data[frames[i]].name));
		if (i > 0)
			buf_puts(out, "->");
	}
	buf_puts(out, " (");
	put_module(out, p, place, pid);
	buf_puts(out, ")\n");
}

/* Keeps the text in scratch under *id. */
static void keep_text(struct perf_text *t, struct perf_lines *lines, uint32_t *id, struct buf *out)
{
	if (buf_fail(out, buf_err(&t->scratch)) == 0)
		buf_fail(out, strtab_put(&lines->texts, t->scratch.data, t->scratch.len, id));
}

/* The line of a frame that has the same line everywhere; it is made once. */
static void put_known(
	struct perf_text *t, struct perf_lines *lines, uint32_t frame, struct buf *out)
{
	if (lines->frames[frame] == 0) {
		buf_clear(&t->scratch);
		put_frames(&t->scratch, lines->profile, &frame, 1, -1);
		keep_text(t, lines, &lines->frames[frame], out);
	}
	buf_puts(out, strtab_get(&lines->texts, lines->frames[frame]));
}

static void put_stack(
	struct perf_text *t, struct perf_lines *lines, uint32_t stack, int32_t pid, struct buf *out)
{
	const struct profile *p = lines->profile;
	const struct profile_stack *s = &p->stacks.data[stack];
	const uint32_t *frames = s->len > 0 ? p->frame_ids.data + s->first : NULL;
	uint32_t first = 0;

	for (uint32_t i = 0; i < s->len; i++) {
		uint32_t class = p->frames.data[frames[i]].class;

		if (class == PROFILE_INLINED && i + 1 < s->len)
			continue;
		if (first == i && class != PROFILE_JIT && class != PROFILE_LANGUAGE)
			put_known(t, lines, frames[i], out);
		else
			put_frames(out, p, frames + first, i - first + 1, pid);
		first = i + 1;
	}
}

/* ---- a sample ------------------------------------------------------------------------------- */

static void put_who(struct perf_text *t, struct perf_lines *lines, uint32_t labels, struct buf *out)
{
	const struct profile *p = lines->profile;
	int32_t pid = profile_label_number(p, labels, PROFILE_KEY_PID);
	int32_t tid = profile_label_number(p, labels, PROFILE_KEY_TID);

	if (lines->labels[labels] == 0) {
		buf_clear(&t->scratch);
		tid = tid < 0 ? pid : tid;
		perf_words_comm(
			&t->scratch, profile_label_text(p, labels, PROFILE_KEY_COMM), pid);
		buf_printf(&t->scratch, "%d/%d", pid < 0 ? 0 : pid, tid < 0 ? 0 : tid);
		keep_text(t, lines, &lines->labels[labels], out);
	}
	buf_puts(out, strtab_get(&lines->texts, lines->labels[labels]));
}

/* PROFILE_NO_CPU: unknown; for PerfView the thread stands for it, above the numbers of real CPUs.
 */
static uint32_t cpu_of(
	const struct perf_text *t, const struct profile *p, const struct profile_tick *tick)
{
	uint32_t labels = p->samples.data[tick->sample].labels;
	int32_t tid;

	if (tick->cpu != PROFILE_NO_CPU || !t->options->perfview)
		return tick->cpu;
	tid = profile_label_number(p, labels, PROFILE_KEY_TID);
	if (tid < 0)
		tid = profile_label_number(p, labels, PROFILE_KEY_PID);
	return SINK_THREAD_CPU + (tid < 0 ? 0 : (uint32_t)tid);
}

static void put_tick(struct perf_text *t, struct perf_lines *lines, const struct profile_tick *tick,
	struct buf *out)
{
	const struct profile *p = lines->profile;
	const struct profile_sample *sample = &p->samples.data[tick->sample];
	uint32_t cpu = cpu_of(t, p, tick);

	put_who(t, lines, sample->labels, out);
	if (cpu != PROFILE_NO_CPU)
		buf_printf(out, " [%03u]", cpu);
	buf_printf(out, " %llu.%09llu: ", (unsigned long long)(tick->time_ns / NSEC_PER_SEC),
		(unsigned long long)(tick->time_ns % NSEC_PER_SEC));
	if (p->kinds[0].period_ns > 0 && !t->options->no_period)
		buf_printf(out, "  %llu ", (unsigned long long)p->kinds[0].period_ns);
	utf8_put_clean(out, event_of(p));
	buf_puts(out, ": \n");
	put_stack(t, lines, sample->stack,
		profile_label_number(p, sample->labels, PROFILE_KEY_PID), out);
	buf_putc(out, '\n');
}

static int text_put(void *state, const struct profile *p, struct sink_out *out)
{
	_cleanup_(lines_done) struct perf_lines lines = { 0 };
	struct perf_text *t = state;
	int err = lines_init(&lines, p);

	if (err < 0)
		return err;
	if (!t->begun)
		put_head(p, &out->buf);
	t->begun = true;
	vec_each (&p->ticks, tick) {
		if (p->samples.data[tick->sample].kind != 0)
			continue;
		put_tick(t, &lines, tick, t->options->perfview ? &t->idle.text : &out->buf);
		if (t->options->perfview)
			perf_idle_put(&t->idle, tick->time_ns, p->kinds[0].period_ns,
				cpu_of(t, p, tick), &out->buf);
		err = sink_out_more(out);
		if (err < 0)
			return err;
	}
	return buf_err(&out->buf);
}

static int text_end(void *state, struct sink_out *out)
{
	struct perf_text *t = state;

	perf_idle_end(&t->idle, &out->buf);
	return buf_err(&out->buf);
}

const struct sink_stream perf_text_stream = {
	.open = text_open,
	.put = text_put,
	.end = text_end,
	.free = text_free,
};
