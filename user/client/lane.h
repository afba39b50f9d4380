/* SPDX-License-Identifier: Apache-2.0 */
/* client/lane.h - one worker process of a client: start, request, watch, end.
 * A lane has one outstanding request, and a few more where its user sends ahead: a worker on a
 * busy host then has work for all of its turn. Replies come in order. A worker that ends, takes
 * longer than hang_ns, or sends an unexpected reply is lost: it is killed, and a new one may start,
 * first at once, then after a delay that grows with each loss. Not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/counters.h"
#include "wire/proto.h"
#include "client/starter.h"

#define LANE_BEGIN_NS 10000000000ULL /* limit of time until a worker's hello */
#define LANE_DYING_MAX 8
#define LANE_AHEAD_MAX 3
#define LANE_DELAY_FIRST_NS 100000000ULL /* from the second loss in a row on, doubled by each */
#define LANE_DELAY_MAX_NS 30000000000ULL
#define LANE_DELAY_KILLED_NS 1000000000ULL /* maximum after a SIGKILL from outside */
#define LANE_GROWN_KB (128UL << 10) /* memory of a worker whose file may be why it was killed */
#define LANE_STEADY_NS 60000000000ULL      /* a worker that lived this long resets the delay */

enum lane_result {
	LANE_REPLY, /* valid, in lane->in; the lane is idle, but for what was sent ahead */
	LANE_LATE,  /* none before the deadline; the request is still outstanding */
	LANE_LOST,  /* the worker is lost: see lane->cause, and if busy lane->asked */
};

struct lane {
	struct starter *starter;
	const char *argument; /* argv[1] of the program, which is our own */
	uint64_t hang_ns;
	struct child child;
	uint32_t seq;
	bool busy;                  /* a request is outstanding: */
	struct proto_request asked; /* head of the request, without queries */
	struct proto_request ahead[LANE_AHEAD_MAX]; /* sent after it */
	size_t ahead_len;
	uint64_t asked_ns; /* CLOCK_MONOTONIC, like all times here; of the outstanding one's turn */
	uint64_t wake_ns;  /* of the next starter_wake */
	uint64_t written_bytes; /* by the worker, into memory of ours: it may hold all of it */
	bool stopped;      /* the worker was stopped in this turn: its request is not to blame */
	uint64_t started_ns, not_before_ns, failed_ns; /* failed_ns: of the latest start that did */
	unsigned int losses_in_row;
	enum lane_cause cause; /* of the last loss */
	const char *fault;     /* of the last bad reply, what was wrong; NULL: none */
	bool grown;            /* the last one that could be waited for had LANE_GROWN_KB */
	int end_status;        /* as from waitpid(2), of the last one that could be waited for */
	int died_status;       /* and of the last one that was lost as LANE_ENDED */
	struct child dying[LANE_DYING_MAX]; /* killed, and have not ended yet */
	uint64_t starts, restarts, lost[LANE_CAUSES]; /* restarts: after a loss */
	uint64_t unsent_ns; /* of the first failed send of descriptors in a row; 0: none */
	bool replaces; /* the next start is one of them */
	double cpu_s; /* of earlier workers */
	struct proto_message in, out;
};

void lane_init(struct lane *lane, struct starter *starter, const char *argument, uint64_t hang_ns);
/* Ends the worker. */
void lane_done(struct lane *lane);

/* Ensures that a worker exists; a new one has its hello outstanding. -EAGAIN: not yet, because of
 * earlier losses; other -errno: it could not be started. */
int lane_start(struct lane *lane);
/* Sends lane->out without waiting; the lane must be idle, or have less than LANE_AHEAD_MAX requests
 * that were sent ahead. -ENOTCONN: the worker has gone, or answers without reading, and is now
 * lost; -ETOOMANYREFS: as of fd_pass, so send it again later. */
int lane_send(struct lane *lane);
/* Waits for the outstanding reply, or without one checks the worker.
 * until_ns 0: does not wait. */
enum lane_result lane_wait(struct lane *lane, uint64_t until_ns);
/* Sleeps, for a moment at most, until a worker may be started, or something be sent again. False:
 * give up: it is later, or after until_ns, or sends have failed for 0.5 s. */
bool lane_wait_for_start(const struct lane *lane, uint64_t until_ns);
bool lane_wait_to_send(const struct lane *lane, uint64_t until_ns);
/* When the lane must be looked at again although its socket is quiet: to start a worker, or to end
 * one that hangs. CLOCK_NEVER_NS: not at all. */
uint64_t lane_due_ns(const struct lane *lane);
/* Kills the worker: drop without blame for its request; accuse because its latest reply was
 * invalid, which counts as a loss over that request. fault: what is wrong, a static text. */
void lane_drop(struct lane *lane);
void lane_accuse(struct lane *lane, const char *fault);
/* Ends a worker that is idle and not needed now. It is no loss. */
void lane_rest(struct lane *lane);

/* CPU time of the running worker, by the kernel's clock; 0: none. */
uint64_t lane_worker_ns(const struct lane *lane);
/* CPU seconds of all workers so far; memory of the running one, 0 if none. */
double lane_cpu_s(const struct lane *lane);
void lane_memory(const struct lane *lane, uint64_t *rss_kb, uint64_t *rss_max_kb);
