/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/governor.c - a short window proves little: reading the tables of one large program may
 * take a second. So windows have a minimum length, and several in a row must agree. */
#include "daemon/governor.h"

#include "base/log.h"

void governor_init(struct governor *g, uint32_t hz, uint64_t permille)
{
	*g = (struct governor){ .hz_set = hz, .hz = hz, .permille = permille };
}

static void step(struct governor *g, uint32_t hz)
{
	g->hz = hz;
	g->dear = g->cheap = 0;
}

static bool step_down(struct governor *g)
{
	uint32_t least = g->hz_set < GOVERNOR_HZ_MIN ? g->hz_set : GOVERNOR_HZ_MIN;

	if (g->hz <= least)
		return false;
	step(g, g->hz / 2 > least ? g->hz / 2 : least);
	g->stepped_down++;
	return true;
}

static bool step_up(struct governor *g)
{
	if (g->hz >= g->hz_set)
		return false;
	step(g, g->hz * 2 < g->hz_set ? g->hz * 2 : g->hz_set);
	g->stepped_up++;
	return true;
}

bool governor_feed(struct governor *g, const struct governor_cost *cost)
{
	uint64_t most_ppm;
	bool dear;

	g->open.wall_ns += cost->wall_ns;
	g->open.used_ns += cost->used_ns;
	g->open.ticks_ns += cost->ticks_ns;
	g->ended = g->open.wall_ns >= GOVERNOR_WINDOW_NS;
	if (!g->ended)
		return false;
	g->cost_ppm = g->open.used_ns * 1000000 / g->open.wall_ns;
	g->ticks_ppm = g->open.ticks_ns * 1000000 / g->open.wall_ns;
	g->open = (struct governor_cost){ 0 };
	most_ppm = g->cost_ppm > g->ticks_ppm ? g->cost_ppm : g->ticks_ppm;
	dear = g->cost_ppm > g->permille * 1000 ||
		(g->ticks_ppm > g->permille * 1000 && g->spent);
	g->dear = dear ? g->dear + 1 : 0;
	g->cheap = most_ppm * 2 <= g->permille * 10 * GOVERNOR_UP_PERCENT ? g->cheap + 1 : 0;
	if (g->dear >= GOVERNOR_WINDOWS_DOWN)
		return step_down(g);
	return g->cheap >= GOVERNOR_WINDOWS_UP && step_up(g);
}

void governor_log(const struct governor *g, uint32_t before_hz, struct log *log)
{
	bool ticks = g->cost_ppm <= g->permille * 1000;

	if (g->hz < before_hz)
		log_warn(log,
			"sampling at %u Hz took %.2f %% of a %s, more than the %.1f %% allowed: "
			"continuing at %u Hz until it takes less; to allow more, raise cpu in "
			"[sample]",
			before_hz, (double)(ticks ? g->ticks_ppm : g->cost_ppm) / 1e4,
			ticks ? "CPU for ticks" : "core", (double)g->permille / 10, g->hz);
	else if (g->hz == g->hz_set)
		log_note(log, "sampling at %u Hz again", g->hz);
}

struct tick_load governor_load(const struct governor *g)
{
	return (struct tick_load){
		.cost_ppm = g->ticks_ppm,
		.allowed_ppm = g->permille * 1000,
		.period_ns = NSEC_PER_SEC / g->hz,
		.may_raise = g->hz == g->hz_set,
	};
}

void governor_account(
	const struct governor *g, const struct tick_shares *ticks, struct account_governor *out)
{
	*out = (struct account_governor){
		.hz_set = g->hz_set,
		.hz = g->hz,
		.allowed_ppm = g->permille * 1000,
		.cost_ppm = g->cost_ppm,
		.ticks_ppm = g->ticks_ppm,
		.limited = ticks->limited,
		.stepped_down = g->stepped_down,
		.stepped_up = g->stepped_up,
	};
}
