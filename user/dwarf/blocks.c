/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/blocks.c - one bit a block. A range may cover the whole file, so only its first and last
 * word are examined; `next` covers the words in between. */
#include "dwarf/blocks.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCKS_A_WORD 64

int blocks_init(struct blocks *blocks, uint64_t bytes)
{
	uint64_t all = bytes < BLOCKS_BYTES_MAX ? bytes : BLOCKS_BYTES_MAX;
	size_t words_len = (size_t)((all >> BLOCK_SHIFT) / BLOCKS_A_WORD + 1);
	struct blocks made = { .words = calloc(words_len, sizeof(*made.words)),
		.next = calloc(words_len + 1, sizeof(*made.next)),
		.words_len = words_len };

	*blocks = made;
	if (!made.words || !made.next) {
		blocks_done(blocks);
		return -ENOMEM;
	}
	blocks_seal(blocks);
	return 0;
}

void blocks_done(struct blocks *blocks)
{
	free(blocks->words);
	free(blocks->next);
	*blocks = (struct blocks){ 0 };
}

void blocks_seal(struct blocks *blocks)
{
	uint32_t next = (uint32_t)blocks->words_len;

	blocks->next[blocks->words_len] = next;
	for (size_t i = blocks->words_len; i-- > 0;) {
		if (blocks->words[i])
			next = (uint32_t)i;
		blocks->next[i] = next;
	}
}

bool blocks_next(const struct blocks *blocks, uint64_t offset, uint64_t *out)
{
	uint64_t block = offset >> BLOCK_SHIFT, word = block / BLOCKS_A_WORD, bits;

	if (word >= blocks->words_len)
		return false;
	bits = blocks->words[word] & ~0ULL << block % BLOCKS_A_WORD;
	if (!bits) {
		word = blocks->next[word + 1];
		if (word >= blocks->words_len)
			return false;
		bits = blocks->words[word];
	}
	*out = (word * BLOCKS_A_WORD + (uint64_t)__builtin_ctzll(bits)) << BLOCK_SHIFT;
	return true;
}

bool blocks_touch(const struct blocks *blocks, uint64_t start, uint64_t end)
{
	uint64_t next;

	return start < end && blocks_next(blocks, start, &next) && next < end;
}
