/* SPDX-License-Identifier: Apache-2.0 */
/* client/lane.h - one worker process as the client has it: started, asked, watched, ended.
 * A lane has at most one request outstanding. A worker that ends, takes longer than hang_ns over a
 * request, or says something it was not asked is lost: it is killed, and a new one may start at
 * once, then after a time that grows with each loss. Not for two threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/proto.h"
#include "client/starter.h"

#define LANE_BEGIN_NS 10000000000ULL /* for a worker to say hello */
#define LANE_DYING_MAX 8
#define LANE_DELAY_FIRST_NS 100000000ULL /* from the second loss in a row on, doubled by each */
#define LANE_DELAY_MAX_NS 30000000000ULL
#define LANE_DELAY_KILLED_NS                                                                 \
	1000000000ULL                 /* at most, where somebody's SIGKILL was the last loss \
				       */
#define LANE_STEADY_NS 60000000000ULL /* a worker that lived for this long was no failure */

enum lane_result {
	LANE_REPLY, /* valid, in lane->in; the lane is idle again */
	LANE_LATE,  /* none until the time that was given; the request is still outstanding */
	LANE_LOST,  /* the worker is: lane->cause says how, and if it is busy lane->asked over what
		     */
};

enum lane_cause {
	LANE_ENDED,   /* died or ended by itself */
	LANE_KILLED,  /* by somebody's SIGKILL: the kernel's for want of memory, perhaps */
	LANE_HUNG,    /* took too long */
	LANE_LIED,    /* said something it was not asked */
	LANE_DROPPED, /* by us, through no fault of a request */
	LANE_CAUSES,
};

struct lane {
	struct starter *starter;
	const char *argument; /* argv[1] of the program, which is our own */
	uint64_t hang_ns;
	struct child child;
	uint32_t seq;
	bool busy;                  /* a request is outstanding: */
	struct proto_request asked; /* this, without its queries */
	uint64_t asked_ns;          /* CLOCK_MONOTONIC, as all times here */
	uint64_t started_ns, not_before_ns;
	unsigned int losses_in_row;
	enum lane_cause cause; /* of the last loss */
	int end_status;        /* as from waitpid(2), of the last one that could be waited for */
	int died_status;       /* and of the last one that was lost as LANE_ENDED */
	struct child dying[LANE_DYING_MAX]; /* killed, and have not ended yet */
	uint64_t starts, lost[LANE_CAUSES];
	double cpu_s; /* of those that are gone */
	struct proto_message in, out;
};

void lane_init(struct lane *lane, struct starter *starter, const char *argument, uint64_t hang_ns);
/* Ends the worker. */
void lane_done(struct lane *lane);

/* A worker is there, or is started: its hello is outstanding then. -EAGAIN: not yet, as the last
 * ones were lost; other -errno: it could not be started. */
int lane_start(struct lane *lane);
/* Sends lane->out; the lane must be idle. -ENOTCONN: the worker was gone, and is lost now. */
int lane_send(struct lane *lane);
/* Waits for the outstanding reply, or where there is none sees whether the worker is well.
 * until_ns 0: does not wait. */
enum lane_result lane_wait(struct lane *lane, uint64_t until_ns);
/* Kills the worker: through no fault of its request, or (accuse) as the reply it just gave was a
 * lie, over which it is lost then. */
void lane_drop(struct lane *lane);
void lane_accuse(struct lane *lane);

/* CPU seconds of all workers so far; memory of the one that runs, 0 when none does. */
double lane_cpu_s(const struct lane *lane);
void lane_memory(const struct lane *lane, uint64_t *rss_kb, uint64_t *rss_max_kb);
