/* SPDX-License-Identifier: Apache-2.0 */
/* client/row_queue.h - the queue of files that wait for their rows, and the worker that compiles
 * them. An account (base/share.h) whose files took much of the worker's time comes after those
 * whose files took little, however many of its samples wait. */
#pragma once

#include "base/clock.h"
#include "base/share.h"
#include "base/vec.h"
#include "client/blame.h"
#include "client/client.h"
#include "client/lane.h"

#define ROW_JOB_PAGES 32
#define ROW_AHEAD_BYTES (16UL << 20)     /* of files whose tables are requested at once */
#define ROW_IDLE_NS (5 * NSEC_PER_SEC)   /* then a worker that was started at need is ended */

struct row_job {
	uint64_t id;
	int fd;          /* borrowed; -1: dropped */
	uint32_t wanted; /* priority: by row_queue_want, or the number of wanted pages */
	uint64_t account; /* of those that want it, the one that took least; 0: unknown */
	uint32_t pages_len; /* 0: the table, or an outline */
	uint32_t pages[ROW_JOB_PAGES]; /* rising numbers */
	uint64_t written_ns;           /* mtime of the file that they are of; 0: any */
	uint64_t bytes; /* of a file whose table is requested: all of it may have to be read */
	bool whole;     /* no outline */
	uint64_t spent_ns; /* by workers that were lost over it */
};

struct row_queue {
	struct lane lane;
	bool at_need; /* the worker lives only while it has work, and a while longer */
	struct blame *blame;
	worker_rows_fn fn;
	void *ctx;
	VEC(struct row_job) jobs;
	size_t next;          /* the jobs before it are done */
	size_t dropped;       /* number of dropped jobs in the queue */
	bool wanted;          /* some job has priority */
	struct share_turns turns; /* of the worker's time */
	struct row_job asked[1 + LANE_AHEAD_MAX]; /* outstanding; an fd may be -1 too */
	int memory[1 + LANE_AHEAD_MAX]; /* for the rows that they ask for */
	size_t asked_len;
	uint64_t written_max; /* bytes: a worker that wrote more rows is replaced */
	uint32_t sandbox;
	uint64_t requests;
	pid_t spent_pid;   /* of the worker whose CPU time until the latest answer is: */
	uint64_t spent_ns;
};

void row_queue_done(struct row_queue *queue);
/* 0, -ENOSPC, -ENOMEM */
int row_queue_put(struct row_queue *queue, uint64_t id, int fd, bool whole);
/* Adds a page to the file's request that waits for its turn, or makes one. 0 also if the page was
 * requested already; -ENOSPC, -ENOMEM */
int row_queue_put_page(struct row_queue *queue, uint64_t id, int fd, uint64_t written_ns,
	uint32_t number, uint64_t account);
void row_queue_drop(struct row_queue *queue, uint64_t id);
/* Raises the priority of a request for a file's table by so much, for this account. The highest of
 * the accounts that took least is next; among equals about the oldest. */
void row_queue_want(struct row_queue *queue, uint64_t id, uint32_t by, uint64_t account);
size_t row_queue_len(const struct row_queue *queue);
/* Sends the next job if the worker is idle; reports nothing. */
void row_queue_kick(struct row_queue *queue);
/* Takes replies, handles losses, sends the next job. Does not wait. */
void row_queue_poll(struct row_queue *queue);
/* When it must be polled although the worker is silent; polled_ns: when it was. CLOCK_NEVER_NS */
uint64_t row_queue_due_ns(const struct row_queue *queue, uint64_t polled_ns);
