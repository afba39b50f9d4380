/* SPDX-License-Identifier: Apache-2.0 */
/* traps/first_page.c - two sides, before and after, are ranked as `stoker top` ranks an interval.
 * All shares are of one CPU, so that a function that is not called any more is seen as one. */
#include "traps/first_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/utf8.h"
#include "profile/ranking.h"
#include "sink/sink.h"
#include "traps/first_waits.h"

#define HOTTEST 5
#define COMPARED 200   /* of each side, the hottest */
#define CHANGED_MIN 1. /* per cent of a CPU */
#define VALUES 10

struct side {
	struct ranking *by_function, *by_thread;
	struct ranking_rows functions, threads;
	uint64_t samples;
	double seconds, period_s;
};

static void side_done(struct side *s)
{
	ranking_free(s->by_function);
	ranking_free(s->by_thread);
	vec_done(&s->functions);
	vec_done(&s->threads);
}

/* ---- the two sides -------------------------------------------------------------------------- */

static int rank(const struct profile *profile, uint32_t number, struct ranking *ranking)
{
	const struct sink_options options = { .by = { PROFILE_KEY_CONTAINER, number,
						      PROFILE_KEY_COMM },
		.by_len = 3,
		.lines_only = true };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = folded_write(profile, &options, &text);
	const char *line = buf_text(&text), *end;

	for (; err == 0 && (end = strchr(line, '\n')); line = end + 1)
		if (ranking_line(ranking, line, (size_t)(end - line)) == -ENOMEM)
			err = -ENOMEM;
	return err;
}

static int side_init(
	struct side *s, const struct profile *profile, uint64_t period_ns, double seconds)
{
	const struct ranking_only all = { 0 };
	int err = ranking_new(&s->by_function);

	s->seconds = seconds;
	s->period_s = (double)period_ns / 1e9;
	s->samples = profile_total(profile);
	if (err == 0)
		err = ranking_new(&s->by_thread);
	if (err == 0)
		err = rank(profile, PROFILE_KEY_PID, s->by_function);
	if (err == 0)
		err = rank(profile, PROFILE_KEY_TID, s->by_thread);
	if (err == 0)
		err = ranking_functions(s->by_function, &all, &s->functions);
	if (err == 0)
		err = ranking_processes(s->by_thread, &s->threads);
	ranking_sort(&s->functions, RANKING_BY_SELF);
	ranking_sort(&s->threads, RANKING_BY_TOTAL);
	return err;
}

/* A part of the capture. */
static int side_cut(
	struct side *s, const struct trap_capture *c, uint64_t since_ns, uint64_t until_ns)
{
	struct slice slice = { .since_ns = since_ns, .until_ns = until_ns };
	_cleanup_(profile_done) struct profile part;
	int err = profile_init(&part);

	if (err == 0)
		err = profile_add_slice(&c->profile, &slice, &part);
	return err < 0 ? err
		       : side_init(s, &part, c->slice.period_ns,
				 until_ns > since_ns ? (double)(until_ns - since_ns) / 1e9 : 0);
}

static double cpu_percent(const struct side *s, uint64_t samples)
{
	return s->seconds > 0 ? 100 * (double)samples * s->period_s / s->seconds : 0;
}

/* ---- its parts ------------------------------------------------------------------------------ */

static void put_time(struct buf *out, uint64_t real_ns)
{
	time_t s = (time_t)(real_ns / NSEC_PER_SEC);
	char text[64];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	buf_puts(out, text);
}

static void put_fired(const struct first_page *page, struct buf *out)
{
	const struct trap_capture *c = page->capture;
	uint64_t len = c->trap.values_len;
	uint64_t kept = len < TRAP_VALUES_MAX ? len : TRAP_VALUES_MAX;
	char limit[64];

	rule_put_limit(&c->rule, limit, sizeof(limit));
	buf_printf(out, "Trap %s fired at ", c->rule.name);
	put_time(out, c->fired_real_ns);
	buf_puts(out, " on ");
	utf8_put_clean(out, page->host && *page->host ? page->host : "this host");
	buf_printf(out, ".\n\nThe rule: %s of ", rule_metric_name(c->rule.metric));
	utf8_put_clean(out, c->name);
	buf_printf(out, " %s.\n", limit);
	if (c->rule.metric == RULE_RUNNABLE)
		buf_puts(out, "That is a part of the time in which its threads wanted a CPU, and "
			      "not of all their time.\n");
	if (kept == 0)
		return;
	buf_printf(out, "The value was %.1f %%. The latest values, oldest first:",
		(double)c->trap.values[(len - 1) % TRAP_VALUES_MAX].permille / 10);
	for (uint64_t i = len - (kept < VALUES ? kept : VALUES); i < len; i++)
		buf_printf(out, " %.1f", (double)c->trap.values[i % TRAP_VALUES_MAX].permille / 10);
	buf_puts(out, " %.\n");
}

static void put_busy(const char *when, const struct side *s, struct buf *out)
{
	buf_printf(out, "%-8s %8.1f %% of a CPU, in %.1f s: %llu samples\n", when,
		cpu_percent(s, s->samples), s->seconds, (unsigned long long)s->samples);
}

static double part(uint64_t ns, const struct trap_threads *t)
{
	return t->split.wall_ns > 0 ? 100 * (double)ns / (double)t->split.wall_ns : 0;
}

static void put_share(struct buf *out, const char *name, const struct trap_threads *a,
	uint64_t a_ns, const struct trap_threads *b, uint64_t b_ns)
{
	buf_printf(out, "  %-12s", name);
	if (a->past_ns)
		buf_printf(out, " %8.1f %%", part(a_ns, a));
	else
		buf_printf(out, " %10s", "unknown");
	if (b->past_ns)
		buf_printf(out, " %8.1f %%\n", part(b_ns, b));
	else
		buf_printf(out, " %10s\n", "unknown");
}

static void put_number(struct buf *out, const char *name, const struct trap_threads *a,
	const struct trap_threads *b)
{
	buf_printf(out, "  %-12s", name);
	for (const struct trap_threads *t = a; t; t = t == a ? b : NULL)
		if (t->past_ns)
			buf_printf(out, " %8u%s", t->threads, t == a ? "  " : "");
		else
			buf_printf(out, " %10s", "unknown");
	buf_puts(out, "\n");
}

/* In per cent, all CPUs together. */
static double throttled(const struct trap_threads *t)
{
	return t->past_ns > 0 ? 100 * (double)t->split.throttled_ns / (double)t->past_ns : 0;
}

static void put_threads(const struct trap_capture *c, struct buf *out)
{
	const struct trap_threads *a = &c->before, *b = &c->after;

	buf_printf(out, "\nTime of its threads%7s%11s\n", "before", "after");
	put_share(out, "running", a, a->split.running_ns, b, b->split.running_ns);
	put_share(out, "runnable", a, a->split.runnable_ns, b, b->split.runnable_ns);
	put_share(out, "blocked", a, a->split.blocked_ns, b, b->split.blocked_ns);
	put_share(out, "other", a, a->split.other_ns, b, b->split.other_ns);
	put_number(out, "threads", a, b);
	if (throttled(a) > 0 || throttled(b) > 0)
		buf_printf(out,
			"Its quota of CPU time was used up for %.1f %% of the time before, and "
			"%.1f %% after: it is throttled (all CPUs together).\n",
			throttled(a), throttled(b));
	buf_puts(out,
		"Runnable threads wait for a CPU, blocked ones for anything else; other is time "
		"of interrupts and of the hypervisor.\n");
}

static void put_hottest(const char *when, const struct side *s, struct buf *out)
{
	buf_printf(out, "\nHottest functions %s\n", when);
	if (s->samples == 0)
		buf_puts(out, "  none: there are no samples\n");
	for (size_t i = 0; i < s->functions.len && i < HOTTEST && s->functions.data[i].self > 0;
		i++)
		buf_printf(out, "  %8.1f %%  %s\n", cpu_percent(s, s->functions.data[i].self),
			s->functions.data[i].name);
	if (s->samples > 0)
		buf_printf(out, "Hottest threads %s\n", when);
	for (size_t i = 0; i < s->threads.len && i < HOTTEST; i++)
		buf_printf(out, "  %8.1f %%  %s, thread %s\n",
			cpu_percent(s, s->threads.data[i].total), s->threads.data[i].name,
			s->threads.data[i].pid);
}

/* ---- changes -------------------------------------------------------------------------------- */

struct change {
	const char *name;
	double before, after;
};

static uint64_t self_of(const struct side *s, const char *name)
{
	for (size_t i = 0; i < s->functions.len; i++)
		if (strcmp(s->functions.data[i].name, name) == 0)
			return s->functions.data[i].self;
	return 0;
}

static double size_of(const struct change *c)
{
	return fabs(c->after - c->before);
}

/* Keeps the largest, in order. */
static void keep(struct change *all, size_t *len, const struct change *new)
{
	size_t at = *len;

	if (size_of(new) < CHANGED_MIN)
		return;
	for (size_t i = 0; i < *len; i++)
		if (strcmp(all[i].name, new->name) == 0)
			return;
	while (at > 0 && size_of(&all[at - 1]) < size_of(new))
		at--;
	if (at == HOTTEST)
		return;
	if (*len < HOTTEST)
		(*len)++;
	memmove(all + at + 1, all + at, (*len - at - 1) * sizeof(*all));
	all[at] = *new;
}

static void keep_side(const struct side *of, const struct side *a, const struct side *b,
	struct change *all, size_t *len)
{
	for (size_t i = 0; i < of->functions.len && i < COMPARED; i++) {
		const char *name = of->functions.data[i].name;
		const struct change change = { name, cpu_percent(a, self_of(a, name)),
			cpu_percent(b, self_of(b, name)) };

		keep(all, len, &change);
	}
}

static void put_changes(
	const char *against, const struct side *a, const struct side *b, struct buf *out)
{
	struct change all[HOTTEST];
	size_t len = 0;

	buf_printf(out, "\nChanges after it fired, against %s\n", against);
	buf_printf(out, "  %8.1f %% -> %8.1f %%  all of its CPU time\n", cpu_percent(a, a->samples),
		cpu_percent(b, b->samples));
	keep_side(a, a, b, all, &len);
	keep_side(b, a, b, all, &len);
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "  %8.1f %% -> %8.1f %%  %s\n", all[i].before, all[i].after,
			all[i].name);
	if (len == 0)
		buf_printf(out, "  no function's share changed by %.0f %% of a CPU or more\n",
			CHANGED_MIN);
}

/* ---- empty ---------------------------------------------------------------------------------- */

static void put_reason(const struct trap_threads *t, struct buf *out)
{
	double blocked = part(t->split.blocked_ns, t), runnable = part(t->split.runnable_ns, t);

	if (t->past_ns == 0)
		buf_puts(out,
			"It is not known what its threads did: they could not be read, or there "
			"were none.");
	else if (runnable > blocked)
		buf_printf(out,
			"Its threads (%u) had no CPU: they waited for one for %.1f %% of their "
			"time.",
			t->threads, runnable);
	else
		buf_printf(out,
			"Its threads (%u) waited, and used next to no CPU: they were blocked "
			"for %.1f %% of their time.",
			t->threads, blocked);
	buf_puts(out, " Samples are of running threads alone.\n");
}

static void put_empty(
	const struct trap_capture *c, const struct side *a, const struct side *b, struct buf *out)
{
	if (a->samples > 0 && b->samples > 0)
		return;
	if (a->samples == 0 && b->samples == 0)
		buf_puts(out, "This capture is empty: it has no sample of its subject. ");
	else
		buf_printf(out, "There is no sample of its subject %s it fired. ",
			a->samples == 0 ? "before" : "after");
	put_reason(b->samples == 0 ? &c->after : &c->before, out);
}

int first_page_put(const struct first_page *page, struct buf *out)
{
	const struct trap_capture *c = page->capture;
	_cleanup_(side_done) struct side before = { 0 }, after = { 0 }, earlier = { 0 };
	uint64_t fired_ns = c->fired_ns < c->until_ns ? c->fired_ns : c->until_ns;
	int err = side_cut(&before, c, c->since_ns, fired_ns);

	if (err == 0)
		err = side_cut(&after, c, fired_ns, c->until_ns);
	if (err == 0 && page->earlier)
		err = side_init(&earlier, page->earlier, page->earlier->kinds[0].period_ns,
			(double)page->earlier->duration_ns / 1e9);
	if (err < 0)
		return err;
	put_fired(page, out);
	buf_puts(out, "\nCPU time of its samples\n");
	put_busy("  before", &before, out);
	put_busy("  after", &after, out);
	put_empty(c, &before, &after, out);
	if (c->slice.left_out > 0)
		buf_printf(out, "%llu samples more are left out: a capture has a limit.\n",
			(unsigned long long)c->slice.left_out);
	put_threads(c, out);
	err = first_waits_put(c, page->earlier, out);
	if (err < 0)
		return err;
	put_hottest("before it fired", &before, out);
	put_hottest("after it fired", &after, out);
	if (page->earlier)
		put_changes("the ten minutes before", &earlier, &after, out);
	else
		put_changes("the time before it in this capture", &before, &after, out);
	return buf_err(out);
}
