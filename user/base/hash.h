/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.h - uint64 key → uint64 value, open addressing.
 * hash_bytes() reduces wider keys to 64 bits; a caller that cannot accept a collision compares the
 * contents. Nobody outside the process can predict collisions. Order and hashes differ in each
 * process, so neither may influence output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct hash {
	struct hash_slot *slots;
	size_t len;
	size_t cap; /* 0 or a power of two */
	uint64_t secret;
};

#define HASH_INIT \
	{         \
		0 \
	}

void hash_done(struct hash *hash);
void hash_clear(struct hash *hash);
/* Inserts or replaces. 0 or -ENOMEM. */
int hash_put(struct hash *hash, uint64_t key, uint64_t value);
/* The value's place, or NULL. Valid until the next put or del. */
uint64_t *hash_find(const struct hash *hash, uint64_t key);
/* True: it was present. */
bool hash_del(struct hash *hash, uint64_t key);

/* No put or del while walking. */
#define hash_each(h, it)                                                                     \
	for (struct hash_slot *it = (h)->slots,                                              \
			      *it##_end = (h)->cap > 0 ? (h)->slots + (h)->cap : (h)->slots; \
		it < it##_end; it++)                                                         \
		if (it->used)

struct hash_secret {
	uint64_t k[2];
};

/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), with a secret of
 * the process or, for tests, this one. */
uint64_t hash_bytes(const void *data, size_t size);
uint64_t hash_bytes_with(struct hash_secret secret, const void *data, size_t size);
/* Spreads the bits; has no secret. */
uint64_t hash_mix(uint64_t value);
