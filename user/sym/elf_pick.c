/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_pick.c - a symbol outside the wanted blocks may still matter:
 * a sized one may lose to another at its start, so those that begin there are taken too; an untyped
 * one may not count at all, so its block is wanted too; an unsized one ends where another begins
 * before the wanted block: mostly the blocks between show that, else its block is wanted too.
 * Invariant: all wanted blocks are in starts. */
#include "sym/elf_pick.h"

#include <errno.h>

#include "sym/elf_candidates.h"

#define BLOCK_BYTES (1U << BLOCK_SHIFT)

int elf_pick_init(struct elf_pick *pick, uint64_t file_bytes)
{
	*pick = (struct elf_pick){ 0 };
	if (blocks_init(&pick->want, file_bytes) == 0 &&
		blocks_init(&pick->starts, file_bytes) == 0 &&
		blocks_init(&pick->taken, file_bytes) == 0)
		return 0;
	elf_pick_done(pick);
	return -ENOMEM;
}

void elf_pick_done(struct elf_pick *pick)
{
	blocks_done(&pick->want);
	blocks_done(&pick->starts);
	blocks_done(&pick->taken);
	vec_done(&pick->more_want);
	vec_done(&pick->more_starts);
	vec_done(&pick->outside);
}

void elf_pick_want(struct elf_pick *pick, uint64_t offset)
{
	blocks_add(&pick->want, offset);
	blocks_add(&pick->starts, offset);
}

void elf_pick_want_start(struct elf_pick *pick, uint64_t offset)
{
	blocks_add(&pick->starts, offset);
}

void elf_pick_begin(struct elf_pick *pick)
{
	blocks_seal(&pick->want);
	pick->more_want.len = pick->more_starts.len = pick->outside.len = 0;
}

static uint32_t block_end(uint32_t offset)
{
	uint64_t end = ((uint64_t)offset | (BLOCK_BYTES - 1)) + 1;

	return end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

static int note_unsized(struct elf_pick *pick, const struct elf_candidate *one)
{
	struct elf_unsized *outside;
	uint32_t *more;

	if (one->unsized) {
		outside = vec_add(&pick->outside);
		if (outside)
			*outside = (struct elf_unsized){ one->start, one->end };
		return outside ? 0 : -ENOMEM;
	}
	more = one->rank == ELF_RANK_NOTYPE ? vec_add(&pick->more_want)
					    : vec_add(&pick->more_starts);
	if (more)
		*more = one->start;
	return more ? 0 : -ENOMEM;
}

int elf_pick_takes(struct elf_pick *pick, const struct elf_candidate *one)
{
	bool begins = blocks_has(&pick->starts, one->start), reaches;

	blocks_add(&pick->taken, one->start);
	if (begins && blocks_has(&pick->want, one->start))
		return 1;
	reaches = blocks_touch(&pick->want, one->start, one->end);
	if (reaches && (!begins || one->unsized || one->rank == ELF_RANK_NOTYPE) &&
		note_unsized(pick, one) < 0)
		return -ENOMEM;
	return begins || (reaches && !one->unsized);
}

int elf_pick_lacks_start(struct elf_pick *pick, uint32_t offset)
{
	uint32_t *more = blocks_has(&pick->starts, offset) ? NULL : vec_add(&pick->more_starts);

	if (more)
		*more = offset;
	return more || blocks_has(&pick->starts, offset) ? 0 : -ENOMEM;
}

/* Does nothing begin between its block and the wanted one? */
static bool may_reach(const struct elf_pick *pick, const struct elf_unsized *one)
{
	uint64_t wanted;

	return blocks_next(&pick->want, one->start, &wanted) && wanted < one->end &&
		!blocks_touch(&pick->taken, block_end(one->start), wanted);
}

uint32_t elf_pick_reach(const struct elf_pick *pick, const struct elf_candidate *one)
{
	uint64_t next;

	if (!blocks_next(&pick->taken, block_end(one->start), &next) || next >= one->end)
		return one->end;
	return block_end((uint32_t)next);
}

bool elf_pick_grow(struct elf_pick *pick)
{
	bool grown = pick->more_want.len > 0;

	blocks_seal(&pick->taken);
	vec_each (&pick->more_starts, start) {
		grown = grown || !blocks_has(&pick->starts, *start);
		elf_pick_want_start(pick, *start);
	}
	vec_each (&pick->outside, one) {
		if (!may_reach(pick, one))
			continue;
		grown = true;
		elf_pick_want(pick, one->start);
	}
	vec_each (&pick->more_want, start)
		elf_pick_want(pick, *start);
	return grown;
}
