/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/blocks.h - a set of places in a file, rounded to 512 bytes. It answers quickly for each of
 * hundreds of thousands of symbols whether it is needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHIFT 9
#define BLOCKS_BYTES_MAX (1ULL << 32) /* bytes beyond this are in no block */

struct blocks {
	uint64_t *words;
	uint32_t *next; /* by word: the first non-empty word from it on */
	size_t words_len;
};

/* An empty set for a file of this size. -ENOMEM */
int blocks_init(struct blocks *blocks, uint64_t bytes);
void blocks_done(struct blocks *blocks);

static inline bool blocks_has(const struct blocks *b, uint64_t offset)
{
	uint64_t block = offset >> BLOCK_SHIFT;

	return block / 64 < b->words_len && (b->words[block / 64] >> block % 64 & 1);
}

static inline void blocks_add(struct blocks *b, uint64_t offset)
{
	uint64_t block = offset >> BLOCK_SHIFT;

	if (block / 64 < b->words_len)
		b->words[block / 64] |= 1ULL << block % 64;
}

/* Call it after the last blocks_add() and before the first query. */
void blocks_seal(struct blocks *blocks);
/* Does [start, end) share a byte with a block of the set? */
bool blocks_touch(const struct blocks *blocks, uint64_t start, uint64_t end);
/* The first byte of the next block in the set, this one included. False: none. */
bool blocks_next(const struct blocks *blocks, uint64_t offset, uint64_t *out);
