/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/top_draw.c - draws three lines above the table and one below it. If there is no room,
 * columns are dropped from the right; every size of terminal shows something. */
#include "base/clock.h"
#include "terminal/top_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "profile/kinds.h"
#include "profile/profile.h"

#define HEAD_ROWS 4
#define WIDE 110 /* columns from which on there is room for more of them */
#define BAR 20

static const char *const tab_names[TOP_TABS] = {
	[TOP_FUNCTIONS] = "1 Functions",
	[TOP_PROCESSES] = "2 Processes",
	[TOP_CONTAINERS] = "3 Containers",
};
static const char *const order_names[RANKING_ORDERS] = {
	[RANKING_BY_SELF] = "self",
	[RANKING_BY_TOTAL] = "total",
	[RANKING_BY_NAME] = "name",
};

static int width(const struct top_table *t)
{
	return screen_columns(t->screen);
}

/* The value of a CPU that does nothing else, or of a thread that only waits, in one interval. */
static double full(const struct top_table *t)
{
	return (t->options->hz ? t->options->hz : (double)NSEC_PER_SEC) * t->options->interval_s;
}

/* Values are nanoseconds of waiting then. */
static bool waits(const struct top_table *t)
{
	return t->options->hz == 0;
}

static void put_sum(const struct top_table *t, char *text, size_t size)
{
	double sum = (double)t->total / full(t);

	if (t->options->hz && t->intervals == 0)
		snprintf(text, size, "  %u Hz  first samples in %.3g s", t->options->hz,
			t->options->interval_s);
	else if (t->options->hz)
		snprintf(text, size, "  %u Hz  %.3g s  %llu samples  %.2f of %u CPUs busy",
			t->options->hz, t->options->interval_s, (unsigned long long)t->total, sum,
			t->options->cpus);
	else if (t->intervals == 0)
		snprintf(text, size, "  first waits in %.3g s", t->options->interval_s);
	else
		snprintf(text, size, "  %.3g s  %.1f threads wait", t->options->interval_s, sum);
}

static double share(const struct top_table *t, uint64_t samples)
{
	return t->total ? 100.0 * (double)samples / (double)t->total : 0;
}

static bool is_wide(const struct top_table *t)
{
	return width(t) >= WIDE;
}

/* ---- above ----------------------------------------------------------------------------------- */

static void draw_title(struct top_table *t)
{
	char text[256];
	int at;

	at = screen_put(t->screen, 0, 0, width(t), SCREEN_BOLD, "stoker top  ");
	at += screen_put(t->screen, 0, at, width(t) / 4, SCREEN_BOLD, t->options->what);
	put_sum(t, text, sizeof(text));
	at += screen_put(t->screen, 0, at, width(t) - at, SCREEN_PLAIN, text);
	snprintf(text, sizeof(text), "  %.1f %% guessed", share(t, t->guessed));
	if (t->guessed > 0)
		screen_put(t->screen, 0, at, width(t) - at, SCREEN_WARN, text);
	if (t->paused)
		screen_put(t->screen, 0, width(t) - 8, 8, SCREEN_WARN, " PAUSED");
}

static void draw_tabs(struct top_table *t)
{
	char text[64];
	int at = 0;

	for (int tab = 0; tab < TOP_TABS; tab++) {
		at += screen_put(t->screen, 1, at, width(t) - at,
			tab == (int)t->tab ? SCREEN_CHOSEN : SCREEN_PLAIN, tab_names[tab]);
		at += 2;
	}
	snprintf(text, sizeof(text), "by %s", order_names[t->order]);
	screen_put(t->screen, 1, at, width(t) - at, SCREEN_DIM, text);
}

/* The path of the view: container, thread, callers. */
static void draw_path(struct top_table *t)
{
	char text[TOP_NAME_MAX + 64] = "";
	int at = 0;

	if (t->typing || t->filter[0])
		snprintf(text, sizeof(text), "filter: %s%s", t->filter, t->typing ? "_" : "");
	else if (t->only_pid)
		snprintf(text, sizeof(text), "process %s ", t->only_pid);
	else if (t->only_container)
		snprintf(text, sizeof(text), "container %s ", t->only_container);
	at = screen_put(t->screen, 2, 0, width(t), SCREEN_WARN, text);
	if (t->chain_len == 0 || t->filter[0] || t->typing)
		return;
	at += screen_put(t->screen, 2, at, width(t) - at, SCREEN_PLAIN, "callers of ");
	for (size_t i = t->chain_len; i-- > 0;) {
		at += screen_put(t->screen, 2, at, width(t) - at, SCREEN_BOLD, t->chain[i]);
		if (i > 0)
			at += screen_put(t->screen, 2, at, width(t) - at, SCREEN_DIM, " > ");
	}
}

static void draw_head(struct top_table *t)
{
	const char *share = waits(t) ? " WAIT%" : "  CPU%";
	char text[80] = " SELF%  TOTAL%  FUNCTION";

	if (t->chain_len > 0)
		snprintf(text, sizeof(text), "        TOTAL%%  CALLER");
	else if (t->tab == TOP_PROCESSES)
		snprintf(text, sizeof(text), "%s     PID  %-17s%-25sHOTTEST FUNCTION", share,
			"COMMAND", "CONTAINER");
	else if (t->tab == TOP_CONTAINERS)
		snprintf(text, sizeof(text), "%s  %-41sHOTTEST FUNCTION", share, "CONTAINER");
	screen_put(t->screen, 3, 0, width(t), SCREEN_PLAIN, text);
	screen_bar(t->screen, 3, SCREEN_HEAD);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum screen_style style_of(const char *name)
{
	switch (profile_folded_class(name, strlen(name))) {
	case PROFILE_KERNEL:
		return SCREEN_KERNEL;
	case PROFILE_JIT:
		return SCREEN_JIT;
	default:
		return SCREEN_NATIVE;
	}
}

static void draw_bar(struct top_table *t, int row, double percent)
{
	char bar[BAR + 1];
	int filled = (int)(percent * BAR / 100 + 0.5);

	memset(bar, ' ', BAR);
	memset(bar, '#', (size_t)(filled < 0 ? 0 : filled > BAR ? BAR : filled));
	bar[BAR] = '\0';
	screen_put(t->screen, row, width(t) - BAR - 1, BAR, SCREEN_DIM, bar);
}

static void draw_function(struct top_table *t, int row, const struct ranking_row *r)
{
	int end = width(t) - (is_wide(t) ? BAR + 2 : 0);
	double shown = t->chain_len > 0 || t->order == RANKING_BY_TOTAL ? share(t, r->total)
									: share(t, r->self);
	char text[32];

	if (t->chain_len > 0)
		snprintf(text, sizeof(text), "       %6.2f%%", share(t, r->total));
	else
		snprintf(text, sizeof(text), "%5.2f%% %6.2f%%", share(t, r->self),
			share(t, r->total));
	screen_put(t->screen, row, 0, 16, SCREEN_PLAIN, text);
	screen_put(t->screen, row, 16, end - 16, style_of(r->name), r->name);
	if (is_wide(t))
		draw_bar(t, row, shown);
}

/* Of one CPU, or of a thread's time. Thousands of threads may wait: columns have room for them. */
static void put_percent(const struct top_table *t, uint64_t value, char *text, size_t size)
{
	double percent = full(t) > 0 ? 100.0 * (double)value / full(t) : 0;

	snprintf(text, size, "%6.*f", percent < 9999 ? 1 : 0, percent);
}

static void draw_process(struct top_table *t, int row, const struct ranking_row *r)
{
	char percent[32], text[48];

	put_percent(t, r->total, percent, sizeof(percent));
	snprintf(text, sizeof(text), "%s %7s", percent, r->pid);
	screen_put(t->screen, row, 0, 15, SCREEN_PLAIN, text);
	screen_put(t->screen, row, 16, 16, SCREEN_BOLD, r->name);
	screen_put(t->screen, row, 33, 24, SCREEN_PLAIN, r->container);
	screen_put(t->screen, row, 58, width(t) - 58, style_of(r->hottest), r->hottest);
}

static void draw_container(struct top_table *t, int row, const struct ranking_row *r)
{
	char text[32];

	put_percent(t, r->total, text, sizeof(text));
	screen_put(t->screen, row, 0, 7, SCREEN_PLAIN, text);
	screen_put(t->screen, row, 8, 40, SCREEN_BOLD, r->name);
	screen_put(t->screen, row, 49, width(t) - 49, style_of(r->hottest), r->hottest);
}

static const char *none_text(const struct top_table *t)
{
	if (waits(t))
		return t->chain_len > 0 ? "nothing waits in it in this interval"
					: "nothing waits in this interval";
	return t->chain_len > 0 ? "no samples of it in this interval"
				: "no samples in this interval";
}

static void draw_rows(struct top_table *t)
{
	t->page = screen_rows(t->screen) - HEAD_ROWS - 1;
	if (t->page < 1)
		t->page = 1;
	if (t->chosen < t->first)
		t->first = t->chosen;
	if (t->chosen >= t->first + (size_t)t->page)
		t->first = t->chosen - (size_t)t->page + 1;
	for (long i = 0; i < t->page && t->first + (size_t)i < t->rows.len; i++) {
		const struct ranking_row *r = &t->rows.data[t->first + (size_t)i];
		int row = HEAD_ROWS + (int)i;

		if (t->tab == TOP_FUNCTIONS)
			draw_function(t, row, r);
		else if (t->tab == TOP_PROCESSES)
			draw_process(t, row, r);
		else
			draw_container(t, row, r);
		if (t->first + (size_t)i == t->chosen)
			screen_bar(t->screen, row, SCREEN_CHOSEN);
	}
	if (t->rows.len == 0 && t->intervals > 0)
		screen_put(t->screen, HEAD_ROWS, 0, width(t), SCREEN_DIM,
			t->filter[0] ? "no name matches the filter" : none_text(t));
}

/* ---- below ----------------------------------------------------------------------------------- */

static void draw_foot(struct top_table *t)
{
	const char *keys = t->chain_len > 0 || t->only_pid || t->only_container
		? "q quit  Enter callers  Esc back  s sort  Space pause  / filter  h help"
		: "q quit  Enter open  s sort  Space pause  / filter  Tab view  h help";
	char amount[PROFILE_AMOUNT_MAX], text[128];

	if (t->dropped > 0) {
		snprintf(text, sizeof(text), "%s left out: too many different stacks",
			profile_amount_text(waits(t) ? PROFILE_NANOSECONDS : PROFILE_SAMPLES,
				t->dropped, amount));
		keys = text;
	}
	screen_put(t->screen, screen_rows(t->screen) - 1, 0, width(t),
		t->said[0] || t->dropped > 0 ? SCREEN_WARN : SCREEN_DIM,
		t->said[0] ? t->said : keys);
}

static void draw_help(struct top_table *t)
{
	static const char *const lines[] = {
		"1 2 3, Tab     functions, processes, containers",
		"Up Down k j    select; also PgUp PgDn Home End",
		"Enter, Right   open: a function's callers, then their callers;",
		"               the functions of a process or container",
		"Esc, Left      back",
		"s              sort by self, total, name",
		"Space, p       pause",
		"/              show only names that contain a text",
		"h, ?           this",
		"q              quit",
		"",
	};
	static const char *const columns[2][4] = {
		{ "SELF%          share of samples with the function at the leaf",
			"TOTAL%         share of samples with the function anywhere in the stack",
			"CPU%           share of one CPU", "_[k] _[j] _[i] kernel, JIT, inlined" },
		{ "SELF%          share of all waiting with the function at the leaf",
			"TOTAL%         share of all waiting with the function in the stack",
			"WAIT%          share of one thread's time: 200 is two that only wait",
			"_[k] _[j] _[i] kernel, JIT, inlined" },
	};
	const char *const *of_values = columns[waits(t)];
	int row = HEAD_ROWS;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		screen_put(t->screen, row++, 2, width(t) - 2, SCREEN_PLAIN, lines[i]);
	for (size_t i = 0; i < ARRAY_SIZE(columns[0]); i++)
		screen_put(t->screen, row++, 2, width(t) - 2, SCREEN_PLAIN, of_values[i]);
}

void top_draw(struct top_table *t)
{
	screen_clear(t->screen);
	draw_title(t);
	draw_tabs(t);
	draw_path(t);
	if (t->help) {
		draw_help(t);
	} else {
		draw_head(t);
		draw_rows(t);
	}
	draw_foot(t);
	screen_show(t->screen);
}
