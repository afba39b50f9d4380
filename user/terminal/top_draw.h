/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/top_draw.h - the state of the `stoker top` table, and its drawing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "terminal/screen.h"
#include "terminal/top_view.h"
#include "profile/ranking.h"

#define TOP_CHAIN_MAX RANKING_CHAIN_MAX
#define TOP_NAME_MAX 512

enum top_tab {
	TOP_FUNCTIONS,
	TOP_PROCESSES,
	TOP_CONTAINERS,
	TOP_TABS,
};

struct top_table {
	const struct top_view_options *options;
	struct screen *screen;
	enum top_tab tab;
	enum ranking_order order;
	struct ranking_rows rows;
	uint64_t total, guessed, dropped; /* samples of the interval */
	uint64_t intervals;               /* number shown so far */
	size_t first, chosen;    /* rows: the top one, and the selected one */
	long page;               /* visible rows */
	char chosen_name[TOP_NAME_MAX], chosen_pid[16];
	char *chain[TOP_CHAIN_MAX]; /* a function, and callers outward from it */
	size_t chain_len;
	char *only_container, *only_pid; /* NULL: all */
	char filter[64];
	char said[256]; /* the recorder's latest message; "": none */
	bool typing, paused, help;
};

void top_draw(struct top_table *table);
