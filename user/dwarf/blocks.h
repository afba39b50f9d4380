/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/blocks.h - a set of places in a file, to the nearest 512 bytes: whether a symbol is of any
 * use is asked of each of hundreds of thousands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHIFT 9
#define BLOCKS_BYTES_MAX (1ULL << 32) /* what is behind is in no block */

struct blocks {
	uint64_t *words;
	uint32_t *next; /* by word: the first one from it on that is not empty */
	size_t words_len;
};

/* Empty, for a file of so many bytes. -ENOMEM */
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

/* To be called between blocks_add() and what follows. */
void blocks_seal(struct blocks *blocks);
/* Is any block in the set that [start, end) has a byte of? */
bool blocks_touch(const struct blocks *blocks, uint64_t start, uint64_t end);
/* The first byte of the first block from this one on. False: there is none. */
bool blocks_next(const struct blocks *blocks, uint64_t offset, uint64_t *out);
