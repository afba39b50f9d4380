/* SPDX-License-Identifier: Apache-2.0 */
/* profile/ranking.h - ranks functions, processes and containers of one interval, and the callers of
 * a function. Its input is folded lines whose first three frames are the container, the pid and the
 * command: `container;pid;comm;root;...;leaf COUNT`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define RANKING_STACKS_MAX 100000 /* further ones are counted as dropped and not ranked */
#define RANKING_CHAIN_MAX 32

struct ranking;

/* Texts are valid until the next ranking_clear. */
struct ranking_row {
	const char *name;      /* a function with its suffix; a command; a container */
	const char *pid;       /* processes only */
	const char *container; /* processes: their container */
	const char *hottest;   /* processes and containers: the leaf with the most samples */
	uint64_t self;         /* functions: samples at the leaf, or as `waits` says */
	uint64_t total;        /* functions: once for each stack with it; else all samples */
};

struct ranking_rows {
	struct ranking_row *data;
	size_t len, cap;
};

enum ranking_order {
	RANKING_BY_SELF,
	RANKING_BY_TOTAL,
	RANKING_BY_NAME,
	RANKING_ORDERS,
};

int ranking_new(struct ranking **out);
void ranking_free(struct ranking *ranking);
/* Starts a new interval with no data. */
int ranking_clear(struct ranking *ranking);
/* Adds one line without its newline. -EBADMSG: malformed, skipped. */
int ranking_line(struct ranking *ranking, const char *line, size_t len);
uint64_t ranking_total(const struct ranking *ranking);
/* Those of the samples that are in stacks with PROFILE_GUESSED. */
uint64_t ranking_guessed(const struct ranking *ranking);
uint64_t ranking_dropped(const struct ranking *ranking);

/* Restricts a view to these stacks; NULL: any. waits: functions of the kernel are no rows, and a
 * stack is the self of its state, of that for which it waits, and of the function below these. */
struct ranking_only {
	const char *container, *pid;
	bool waits;
};

/* Each replaces the contents of rows. 0 or -ENOMEM. */
int ranking_functions(
	const struct ranking *ranking, const struct ranking_only *only, struct ranking_rows *rows);
int ranking_processes(const struct ranking *ranking, struct ranking_rows *rows);
int ranking_containers(const struct ranking *ranking, struct ranking_rows *rows);
/* The callers of chain[0] through chain[1], chain[2] ...: the next caller outward, by total. A
 * stack's first frame is called by its command. */
int ranking_callers(const struct ranking *ranking, const struct ranking_only *only,
	const char *const *chain, size_t chain_len, struct ranking_rows *rows);
/* Highest first, names from A on; ties by name. */
void ranking_sort(struct ranking_rows *rows, enum ranking_order order);
