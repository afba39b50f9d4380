/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.c - linear probing at a load of at most one half; removal moves the cluster back, so
 * there are no tombstones and a table that lives for months does not slow down. */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_CAP_MIN 16

uint64_t hash_mix(uint64_t v)
{
	v ^= v >> 32;
	v *= 0x9e3779b97f4a7c15ULL;
	v ^= v >> 29;
	v *= 0xd6e8feb86659fd93ULL;
	v ^= v >> 32;
	return v;
}

uint64_t hash_bytes(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = hash_mix(size + 1);

	for (; size >= 8; p += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = hash_mix(h ^ word);
	}
	if (size > 0) {
		uint64_t word = 0;

		memcpy(&word, p, size);
		h = hash_mix(h ^ word);
	}
	return h;
}

static size_t home(const struct hash *hash, uint64_t key)
{
	return hash_mix(key) & (hash->cap - 1);
}

static struct hash_slot *place(const struct hash *hash, uint64_t key)
{
	size_t i = home(hash, key);

	while (hash->slots[i].used && hash->slots[i].key != key)
		i = (i + 1) & (hash->cap - 1);
	return &hash->slots[i];
}

static int grow(struct hash *hash)
{
	struct hash bigger = { .cap = hash->cap ? hash->cap * 2 : HASH_CAP_MIN, .len = hash->len };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	hash_each (hash, slot)
		*place(&bigger, slot->key) = *slot;
	free(hash->slots);
	*hash = bigger;
	return 0;
}

void hash_done(struct hash *hash)
{
	free(hash->slots);
	*hash = (struct hash)HASH_INIT;
}

void hash_clear(struct hash *hash)
{
	if (hash->slots)
		memset(hash->slots, 0, hash->cap * sizeof(*hash->slots));
	hash->len = 0;
}

int hash_put(struct hash *hash, uint64_t key, uint64_t value)
{
	struct hash_slot *slot;

	if (hash->len * 2 >= hash->cap) {
		int err = grow(hash);

		if (err < 0)
			return err;
	}
	slot = place(hash, key);
	hash->len += !slot->used;
	*slot = (struct hash_slot){ .key = key, .value = value, .used = true };
	return 0;
}

uint64_t *hash_find(const struct hash *hash, uint64_t key)
{
	struct hash_slot *slot;

	if (hash->len == 0)
		return NULL;
	slot = place(hash, key);
	return slot->used ? &slot->value : NULL;
}

bool hash_del(struct hash *hash, uint64_t key)
{
	size_t mask = hash->cap - 1, hole, i;
	struct hash_slot *slot;

	if (hash->len == 0)
		return false;
	slot = place(hash, key);
	if (!slot->used)
		return false;
	hole = i = (size_t)(slot - hash->slots);
	for (;;) {
		i = (i + 1) & mask;
		if (!hash->slots[i].used)
			break;
		if (((i - home(hash, hash->slots[i].key)) & mask) >= ((i - hole) & mask)) {
			hash->slots[hole] = hash->slots[i];
			hole = i;
		}
	}
	hash->slots[hole].used = false;
	hash->len--;
	return true;
}
