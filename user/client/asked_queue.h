/* SPDX-License-Identifier: Apache-2.0 */
/* client/asked_queue.h - the requests of one opener (client/openers.h): those that are sent to it,
 * oldest first, and those that wait for their turn. Of these the next is one of the accounts
 * (base/share.h) that took least of the opener's time, and of these the one for which most samples
 * wait: so neither who maps thousands of files nor a file system that is slow delays those of
 * others. The last places are for those who hold few. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "client/hung.h"
#include "client/openers.h"
#include "wire/opening.h"

struct asked {
	struct opening_request request;
	struct object_key key;
	struct hung_file file;
	enum object_reason refused; /* the reason that comes after OPENING_DROP */
	uint64_t copied;            /* bytes that are set aside for OPENING_COPY */
	uint64_t repeat_until_ns;   /* if the file could not be sent; 0: that was not so */
	uint32_t wanted;            /* priority: number of calls of asked_want */
	uint64_t account;           /* 0: unknown */
	openers_fn fn;
	void *ctx;
	uint64_t id;
};

/* All zero is an empty one. */
struct asked_queue {
	VEC(struct asked) all; /* from head on */
	size_t head;
	size_t sent; /* number of the first that are sent */
	bool wanted; /* some that wait have priority */
	struct share held;        /* number of requests */
	struct share_turns turns; /* of the opener's time */
};

void asked_done(struct asked_queue *queue);
size_t asked_count(const struct asked_queue *queue);
/* Valid until the queue changes. */
struct asked *asked_at(const struct asked_queue *queue, size_t i);
/* -ENOSPC: there are OPENERS_QUEUE_MAX, or as many of this account as it may have, or no memory. */
int asked_push(struct asked_queue *queue, const struct asked *asked);
/* As the next that is sent. -ENOSPC */
int asked_push_next(struct asked_queue *queue, const struct asked *asked);
/* The oldest. */
struct asked asked_pop(struct asked_queue *queue);
/* The opener had it since then. */
void asked_charge(struct asked_queue *queue, const struct asked *asked, uint64_t since_ns);
/* Removes the one at i and returns it. */
struct asked asked_take_out(struct asked_queue *queue, size_t i);
/* Raises the priority of those with this ctx and id that wait. */
void asked_want(struct asked_queue *queue, const void *ctx, uint64_t id);
/* Of those that wait, and some must, one becomes the next, as above; among equals the oldest. A
 * file that the opener holds goes before all: it has room for few. */
void asked_choose_next(struct asked_queue *queue);
