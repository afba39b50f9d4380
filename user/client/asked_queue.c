/* SPDX-License-Identifier: Apache-2.0 */
/* client/asked_queue.c - one array; what was taken from its front leaves room there, which is used
 * again by what has to be next, and given back when it is the larger part. */
#include "client/asked_queue.h"

#include <errno.h>
#include <string.h>

void asked_done(struct asked_queue *queue)
{
	vec_done(&queue->all);
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
	slot = count < OPENERS_QUEUE_MAX ? vec_add(&queue->all) : NULL;
	if (!slot)
		return -ENOSPC;
	*slot = *asked;
	return 0;
}

int asked_push_next(struct asked_queue *queue, const struct asked *asked)
{
	if (queue->head > 0) {
		queue->head--;
		move(queue, 0, 1, queue->sent);
	} else {
		if (!vec_add(&queue->all))
			return -ENOSPC;
		move(queue, queue->sent + 1, queue->sent, asked_count(queue) - 1 - queue->sent);
	}
	*asked_at(queue, queue->sent) = *asked;
	return 0;
}

struct asked asked_take_out(struct asked_queue *queue, size_t i)
{
	struct asked asked = *asked_at(queue, i);

	move(queue, i, i + 1, asked_count(queue) - i - 1);
	queue->all.len--;
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

void asked_choose_next(struct asked_queue *queue)
{
	size_t next = queue->sent, most = next;
	struct asked asked;

	if (!queue->wanted || asked_at(queue, next)->request.kind == OPENING_TAKE)
		return;
	for (size_t i = next + 1; i < asked_count(queue); i++)
		if (asked_at(queue, i)->wanted > asked_at(queue, most)->wanted)
			most = i;
	asked = *asked_at(queue, most);
	queue->wanted = asked.wanted > 0;
	move(queue, next + 1, next, most - next);
	*asked_at(queue, next) = asked;
}
