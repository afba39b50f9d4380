/* SPDX-License-Identifier: Apache-2.0 */
/* client/row_queue.h - the queue of files that wait for their rows, and the worker that compiles
 * them. */
#pragma once

#include "base/vec.h"
#include "client/blame.h"
#include "client/client.h"
#include "client/lane.h"

struct row_job {
	uint64_t id;
	int fd;          /* borrowed; -1: dropped */
	uint32_t wanted; /* number of calls of row_queue_want */
};

struct row_queue {
	struct lane lane;
	struct blame *blame;
	worker_rows_fn fn;
	void *ctx;
	VEC(struct row_job) jobs;
	size_t next;          /* the jobs before it are done */
	size_t dropped;       /* number of dropped jobs in the queue */
	bool wanted;          /* some job has priority */
	struct row_job asked; /* the outstanding job; its fd may be -1 too */
	bool is_asked;
	uint32_t sandbox;
	uint64_t requests;
};

void row_queue_done(struct row_queue *queue);
/* 0, -ENOSPC, -ENOMEM */
int row_queue_put(struct row_queue *queue, uint64_t id, int fd);
void row_queue_drop(struct row_queue *queue, uint64_t id);
/* Raises a job's priority. The highest is next; among equals about the oldest. */
void row_queue_want(struct row_queue *queue, uint64_t id);
size_t row_queue_len(const struct row_queue *queue);
/* Sends the next job if the worker is idle; reports nothing. */
void row_queue_kick(struct row_queue *queue);
/* Takes replies, handles losses, sends the next job. Does not wait. */
void row_queue_poll(struct row_queue *queue);
