/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/governor.c - a short window proves little: reading the tables of one large program may
 * take a second. So windows have a minimum length, and several in a row must agree. */
#include "daemon/governor.h"

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

bool governor_feed(struct governor *g, uint64_t used_ns, uint64_t wall_ns)
{
	g->used_ns += used_ns;
	g->wall_ns += wall_ns;
	if (g->wall_ns < GOVERNOR_WINDOW_NS)
		return false;
	g->cost_ppm = g->used_ns * 1000000 / g->wall_ns;
	g->used_ns = g->wall_ns = 0;
	g->dear = g->cost_ppm > g->permille * 1000 ? g->dear + 1 : 0;
	g->cheap = g->cost_ppm * 2 <= g->permille * 10 * GOVERNOR_UP_PERCENT ? g->cheap + 1 : 0;
	if (g->dear >= GOVERNOR_WINDOWS_DOWN)
		return step_down(g);
	return g->cheap >= GOVERNOR_WINDOWS_UP && step_up(g);
}

void governor_account(const struct governor *g, struct account_governor *out)
{
	*out = (struct account_governor){
		.hz_set = g->hz_set,
		.hz = g->hz,
		.allowed_ppm = g->permille * 1000,
		.cost_ppm = g->cost_ppm,
		.stepped_down = g->stepped_down,
		.stepped_up = g->stepped_up,
	};
}
