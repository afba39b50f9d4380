/* SPDX-License-Identifier: Apache-2.0 */
/* client/asked_queue.c - one array; what was taken from its front leaves room there, which is used
 * again by what has to be next, and given back when it is the larger part. */
#include "client/asked_queue.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

void asked_done(struct asked_queue *queue)
{
	vec_done(&queue->all);
	share_done(&queue->held);
	share_turns_done(&queue->turns);
	*queue = (struct asked_queue){ 0 };
}

size_t asked_count(const struct asked_queue *queue)
{
	return queue->all.len - queue->head;
}

struct asked *asked_at(const struct asked_queue *queue, size_t i)
{
	return &queue->all.data[queue->head + i];
}

static void move(struct asked_queue *queue, size_t to, size_t from, size_t len)
{
	memmove(asked_at(queue, to), asked_at(queue, from), len * sizeof(struct asked));
}

static void use_front_when_empty(struct asked_queue *queue)
{
	if (queue->head == queue->all.len)
		queue->head = queue->all.len = 0;
}

struct asked asked_pop(struct asked_queue *queue)
{
	struct asked first = *asked_at(queue, 0);

	queue->head++;
	queue->sent -= queue->sent > 0;
	share_return(&queue->held, first.account, 1);
	use_front_when_empty(queue);
	return first;
}

int asked_push(struct asked_queue *queue, const struct asked *asked)
{
	size_t count = asked_count(queue);
	struct asked *slot;

	if (queue->head > count) {
		memmove(queue->all.data, asked_at(queue, 0), count * sizeof(*slot));
		queue->all.len = count;
		queue->head = 0;
	}
	if (share_refuses(&queue->held, asked->account, 1, OPENERS_QUEUE_MAX) ||
		share_charge(&queue->held, asked->account, 1) < 0)
		return -ENOSPC;
	slot = vec_add(&queue->all);
	if (!slot) {
		share_return(&queue->held, asked->account, 1);
		return -ENOSPC;
	}
	*slot = *asked;
	return 0;
}

int asked_push_next(struct asked_queue *queue, const struct asked *asked)
{
	if (share_charge(&queue->held, asked->account, 1) < 0)
		return -ENOSPC;
	if (queue->head > 0) {
		queue->head--;
		move(queue, 0, 1, queue->sent);
	} else if (vec_add(&queue->all)) {
		move(queue, queue->sent + 1, queue->sent, asked_count(queue) - 1 - queue->sent);
	} else {
		share_return(&queue->held, asked->account, 1);
		return -ENOSPC;
	}
	*asked_at(queue, queue->sent) = *asked;
	return 0;
}

struct asked asked_take_out(struct asked_queue *queue, size_t i)
{
	struct asked asked = *asked_at(queue, i);

	move(queue, i, i + 1, asked_count(queue) - i - 1);
	queue->all.len--;
	share_return(&queue->held, asked.account, 1);
	use_front_when_empty(queue);
	return asked;
}

void asked_want(struct asked_queue *queue, const void *ctx, uint64_t id)
{
	for (size_t i = queue->sent; i < asked_count(queue); i++) {
		struct asked *asked = asked_at(queue, i);

		if (asked->ctx != ctx || asked->id != id)
			continue;
		asked->wanted++;
		queue->wanted = true;
	}
}

void asked_charge(struct asked_queue *queue, const struct asked *asked, uint64_t since_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	share_turns_charge(&queue->turns, asked->account, now_ns - since_ns, now_ns);
}

static uint64_t turns_of(const struct asked_queue *queue, size_t i)
{
	return share_turns(&queue->turns, asked_at(queue, i)->account);
}

/* The accounts are those that have requests here. */
static uint64_t fewest_turns(const struct asked_queue *queue)
{
	uint64_t fewest = UINT64_MAX;

	vec_each (&queue->held.accounts, account) {
		uint64_t turns = share_turns(&queue->turns, account->number);

		fewest = turns < fewest ? turns : fewest;
	}
	return fewest;
}

static bool goes_before(const struct asked_queue *queue, size_t a, size_t b)
{
	uint64_t a_turns = turns_of(queue, a), b_turns = turns_of(queue, b);

	return a_turns != b_turns ? a_turns < b_turns
				  : asked_at(queue, a)->wanted > asked_at(queue, b)->wanted;
}

/* Nobody goes before one of those with the fewest turns, where no samples wait. */
static size_t find_first(struct asked_queue *queue)
{
	uint64_t fewest = fewest_turns(queue);
	size_t first = queue->sent;
	bool wanted = false;

	for (size_t i = first; i < asked_count(queue); i++) {
		wanted |= asked_at(queue, i)->wanted > 0;
		if (goes_before(queue, i, first))
			first = i;
		if (!queue->wanted && turns_of(queue, first) <= fewest)
			return first;
	}
	queue->wanted = wanted;
	return first;
}

void asked_choose_next(struct asked_queue *queue)
{
	size_t next = queue->sent, first;
	struct asked asked;

	if ((!queue->wanted && !queue->turns.uneven) ||
		asked_at(queue, next)->request.kind == OPENING_TAKE)
		return;
	first = find_first(queue);
	asked = *asked_at(queue, first);
	move(queue, next + 1, next, first - next);
	*asked_at(queue, next) = asked;
}
