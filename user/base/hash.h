/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.h - uint64 key → uint64 value, open addressing.
 * For keys that are wider, hash_bytes() makes 64 bits of them; a caller for whom a collision would
 * be an error compares what the value leads to. Nobody outside of the process can tell which keys
 * would collide in a table, or which bytes have the same hash: order and hashes are others in each
 * process, so neither may be seen in what we write. */
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
/* The value's place, or NULL. Good until the next put or del. */
uint64_t *hash_find(const struct hash *hash, uint64_t key);
/* True when there was one. */
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

/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), by a secret of the
 * process's own or, for tests, this one. */
uint64_t hash_bytes(const void *data, size_t size);
uint64_t hash_bytes_with(struct hash_secret secret, const void *data, size_t size);
/* Spreads the bits; has no secret. */
uint64_t hash_mix(uint64_t value);
