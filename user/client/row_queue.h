/* SPDX-License-Identifier: Apache-2.0 */
/* client/row_queue.h - files that wait for their rows, and the worker that makes them one by one.
 */
#pragma once

#include "base/vec.h"
#include "client/blame.h"
#include "client/client.h"
#include "client/lane.h"

struct row_job {
	uint64_t id;
	int fd;          /* borrowed; -1: dropped meanwhile */
	uint32_t wanted; /* how often it was asked to hurry */
};

struct row_queue {
	struct lane lane;
	struct blame *blame;
	worker_rows_fn fn;
	void *ctx;
	VEC(struct row_job) jobs;
	size_t next;          /* the jobs before it are done */
	size_t dropped;       /* of those that wait */
	bool wanted;          /* one of them is more than the others */
	struct row_job asked; /* outstanding; its fd may be -1 like the others' */
	bool is_asked;
	uint32_t sandbox;
	uint64_t requests, built, built_ns;
};

void row_queue_done(struct row_queue *queue);
/* 0, -ENOSPC, -ENOMEM */
int row_queue_put(struct row_queue *queue, uint64_t id, int fd);
void row_queue_drop(struct row_queue *queue, uint64_t id);
/* Of those that wait the one that is wanted most is next, of equals the oldest, more or less. */
void row_queue_want(struct row_queue *queue, uint64_t id);
size_t row_queue_len(const struct row_queue *queue);
/* Sends the next, if the worker is idle; tells nothing. */
void row_queue_kick(struct row_queue *queue);
/* Takes replies, deals with losses, sends the next. Does not wait. */
void row_queue_poll(struct row_queue *queue);
