/* SPDX-License-Identifier: Apache-2.0 */
/* base/radix.c - sorts numbers and positions, 11 bits at a time from the low ones; the items are
 * moved once. */
#include "base/radix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define BITS 11
#define BUCKETS (1U << BITS)

struct key {
	uint32_t number, at;
};

static const void *item_at(const void *items, size_t i, size_t size)
{
	return (const char *)items + i * size;
}

static bool take_keys(const void *items, size_t n, size_t size, struct key *keys)
{
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		memcpy(&keys[i].number, item_at(items, i, size), sizeof(keys[i].number));
		keys[i].at = (uint32_t)i;
		sorted = sorted && (i == 0 || keys[i - 1].number <= keys[i].number);
	}
	return sorted;
}

static void pass(const struct key *from, struct key *to, size_t n, unsigned int shift)
{
	size_t starts[BUCKETS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		starts[from[i].number >> shift & (BUCKETS - 1)]++;
	for (size_t b = 0; b < BUCKETS; b++) {
		size_t count = starts[b];

		starts[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[starts[from[i].number >> shift & (BUCKETS - 1)]++] = from[i];
}

int radix_sort32(void *items, size_t n, size_t size)
{
	_cleanup_(freep) struct key *keys = calloc(n + 1, sizeof(*keys));
	_cleanup_(freep) struct key *other = calloc(n + 1, sizeof(*other));
	_cleanup_(freep) char *copy = NULL;

	if (!keys || !other)
		return -ENOMEM;
	if (take_keys(items, n, size, keys))
		return 0;
	copy = malloc(n * size);
	if (!copy)
		return -ENOMEM;
	pass(keys, other, n, 0);
	pass(other, keys, n, BITS);
	pass(keys, other, n, 2 * BITS);
	memcpy(copy, items, n * size);
	for (size_t i = 0; i < n; i++)
		memcpy((char *)items + i * size, item_at(copy, other[i].at, size), size);
	return 0;
}
