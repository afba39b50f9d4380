/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - C: functions without linkage names, inlined into each other. */
#include <stdint.h>
#include <stdlib.h>

struct list {
	struct list *next;
	uint64_t value;
};

static inline uint64_t turn(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t step(uint64_t x)
{
	return turn(x * 0x9e3779b97f4a7c15, 31) ^ turn(x, 17);
}

static inline struct list *push(struct list *head, uint64_t value)
{
	struct list *item = malloc(sizeof(*item));

	if (!item)
		abort();
	item->next = head;
	item->value = step(value);
	return item;
}

static uint64_t drain(struct list *head)
{
	uint64_t total = 0;

	while (head) {
		struct list *next = head->next;

		total += step(head->value);
		free(head);
		head = next;
	}
	return total;
}

uint64_t plain(uint64_t seed, int rounds)
{
	struct list *head = NULL;

	for (int i = 0; i < rounds; i++)
		head = push(head, seed + (uint64_t)i);
	return drain(head);
}
