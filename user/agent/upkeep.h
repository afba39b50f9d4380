/* SPDX-License-Identifier: Apache-2.0 */
/* agent/upkeep.h - the work of the agent that comes with time and not with an event. Each part says
 * when it is due; the agent's caller waits for the first of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct containers;
struct event_object;
struct fetch;
struct java_codes;
struct languages;
struct objects;
struct processes;
struct sampler;
struct tally;
struct tick_shares;
struct waiting;
struct warnings;
struct worker_client;

struct deferred;

struct upkeep {
	struct sampler *sampler; /* all borrowed */
	struct worker_client *worker;
	struct objects *objects;
	struct languages *languages;
	struct processes *processes;
	struct java_codes *java; /* NULL: none */
	struct containers *containers;
	struct fetch *fetch; /* NULL: none */
	struct waiting *waiting; /* may be NULL */
	struct warnings *warnings;
	struct tick_shares *ticks;
	uint64_t tables_ns; /* of the latest turn of the tables, CLOCK_MONOTONIC */
	bool tables_due;    /* tables get another turn; set it when files or rows came */
};

/* Call it at each wake-up, before the ring is read. 0 or -errno: sampling cannot go on. */
int upkeep_run(struct upkeep *upkeep);
/* BPF met a file. */
int upkeep_object(struct upkeep *upkeep, const struct event_object *event);
/* The next interval begins: charges files and ticks to those that ran them, and forgets what was
 * not used for long. */
void upkeep_next(struct upkeep *upkeep, struct tally *tally);
/* Waits a moment for tables of the worker; for all of them, but not for ever: late samples are
 * deferred. 0 or -errno. */
int upkeep_wait(struct upkeep *upkeep);
int upkeep_wait_for_tables(struct upkeep *upkeep);
/* CLOCK_NEVER_NS: nothing is due. */
uint64_t upkeep_due_ns(const struct upkeep *upkeep);
/* An interval ends: samples that wait for a table which is being made are worth a moment, until
 * then; the others are finished as they are. */
int upkeep_deferred(struct upkeep *upkeep, struct deferred *deferred, uint64_t until_ns);
