/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.c - linear probing at a load of at most one half; removal moves the cluster back, so
 * there are no tombstones and a long-lived table does not slow down. Profiled processes choose
 * names, stacks and files, and could choose colliding ones; so slots depend on the 16 random bytes
 * that the kernel gives each program at its start. */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HASH_CAP_MIN 16

/* Another one in each process; the same for its life. */
static struct hash_secret own_secret(void)
{
	struct hash_secret secret = { { 0 } };
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&secret, random, sizeof(secret));
	return secret;
}

uint64_t hash_mix(uint64_t v)
{
	v ^= v >> 32;
	v *= 0x9e3779b97f4a7c15ULL;
	v ^= v >> 29;
	v *= 0xd6e8feb86659fd93ULL;
	v ^= v >> 32;
	return v;
}

/* ---- SipHash-1-3 ---------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) uint64_t rotated(uint64_t v, unsigned int by)
{
	return v << by | v >> (64 - by);
}

/* In registers only where they are inlined: these take a third of a long query. */
static inline __attribute__((always_inline)) void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotated(v[1], 13) ^ v[0];
	v[3] = rotated(v[3], 16) ^ v[2];
	v[0] = rotated(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotated(v[1], 17) ^ v[2];
	v[3] = rotated(v[3], 21) ^ v[0];
	v[2] = rotated(v[2], 32);
}

static inline __attribute__((always_inline)) void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

uint64_t hash_bytes_with(struct hash_secret secret, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t last = (uint64_t)size << 56, word = 0;
	uint64_t v[4] = { secret.k[0] ^ 0x736f6d6570736575ULL, secret.k[1] ^ 0x646f72616e646f6dULL,
		secret.k[0] ^ 0x6c7967656e657261ULL, secret.k[1] ^ 0x7465646279746573ULL };

	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		sip_word(v, word);
	}
	for (size_t i = 0; i < size; i++)
		last |= (uint64_t)p[i] << (8 * i);
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_bytes(const void *data, size_t size)
{
	return hash_bytes_with(own_secret(), data, size);
}

/* ---- the table ------------------------------------------------------------------------------ */

static size_t home(const struct hash *hash, uint64_t key)
{
	return hash_mix(key ^ hash->secret) & (hash->cap - 1);
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
	struct hash bigger = {
		.cap = hash->cap ? hash->cap * 2 : HASH_CAP_MIN,
		.len = hash->len,
		.secret = hash->cap ? hash->secret : hash_bytes("", 0),
	};

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
