/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_sym.c - reduces symbols to ranges that do not overlap.
 * The candidates (sym/elf_candidates.h) in order of address become ranges; an outer symbol that
 * goes on after an inner one gets a second range. So a look-up is one binary search, whatever
 * nesting a file claims. Invariant: ranges are sorted and disjoint, and each name ends within the
 * block of names. The caller demangles, and finds the extra file. */
#include "sym/elf_sym.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/vec.h"
#include "sym/elf_candidates.h"

/* Mostly one, two where a symbol begins before the first block that was asked for. */
#define PASSES_MAX 8
#define NO_NAME UINT32_MAX

DEFINE_CLEANUP(struct elf_sym, elf_sym_free)

struct range {
	uint32_t start;
	uint32_t size;
	uint32_t name : 27; /* offset in names */
	uint32_t source : 4;
	uint32_t piece : 1; /* the symbol began before: see pieces */
};

_Static_assert(sizeof(struct range) == 12, "a range is 12 bytes");
_Static_assert(ELF_SYM_NAMES_BYTES_MAX <= 1U << 27, "a name's offset fits its field");

struct piece {
	uint32_t at;    /* start of the range */
	uint32_t start; /* of the symbol */
};

struct elf_sym {
	VEC(struct range) ranges;
	VEC(struct piece) pieces; /* sorted like the ranges that they are about */
	VEC(uint32_t) known;      /* where there are ranges, if not everywhere: blocks, sorted */
	bool whole;
	uint64_t file_bytes;
	struct buf names;
	struct elf_sym_stats stats;
};

struct open {
	const struct elf_candidate *symbol;
	uint32_t end;
	uint32_t name; /* offset in the names that stay, once it has a range */
};

struct sweeper {
	const struct elf_candidates *candidates;
	const struct elf_pick *pick; /* NULL: everything stays */
	VEC(struct open) open; /* symbols that began and may not have ended, the last one on top */
	uint32_t pos;          /* the ranges before this offset are made */
	struct elf_sym *sym;
};

/* ---- sweep ---------------------------------------------------------------------------------- */

static int put_name(struct sweeper *w, struct open *o)
{
	struct buf *names = &w->sym->names;
	struct bytes name = elf_candidates_name(w->candidates, o->symbol);
	size_t at = names->len;
	int err;

	if (at + name.len + 1 > ELF_SYM_NAMES_BYTES_MAX)
		return -EFBIG;
	err = buf_put(names, name.data, name.len);
	if (err == 0)
		err = buf_putc(names, '\0');
	if (err == 0)
		o->name = (uint32_t)at;
	return err;
}

static int add_range(struct sweeper *w, struct open *o, uint32_t end)
{
	struct elf_sym *sym = w->sym;
	uint32_t start = w->pos;
	struct range *range;
	struct piece *piece;
	int err;

	w->pos = end;
	if (w->pick && !blocks_touch(&w->pick->want, start, end))
		return 0;
	err = o->name == NO_NAME ? put_name(w, o) : 0;
	if (err < 0) {
		sym->stats.dropped += err == -EFBIG;
		return err == -EFBIG ? 0 : err;
	}
	range = vec_add(&sym->ranges);
	piece = range && start != o->symbol->start ? vec_add(&sym->pieces) : NULL;
	if (!range || (start != o->symbol->start && !piece))
		return -ENOMEM;
	*range = (struct range){ .start = start,
		.size = end - start,
		.name = o->name,
		.source = o->symbol->source,
		.piece = piece != NULL };
	if (piece)
		*piece = (struct piece){ .at = start, .start = o->symbol->start };
	return 0;
}

/* Ends the symbols that do not reach beyond upto. What is left open covers upto. */
static int close_until(struct sweeper *w, uint32_t upto)
{
	int err = 0;

	while (err == 0 && w->open.len > 0) {
		struct open *top = &w->open.data[w->open.len - 1];

		if (top->end > upto)
			break;
		if (top->end > w->pos)
			err = add_range(w, top, top->end);
		w->open.len--;
	}
	return err;
}

static int open_symbol(struct sweeper *w, const struct elf_candidate *one, uint32_t end)
{
	struct open *top = w->open.len > 0 ? &w->open.data[w->open.len - 1] : NULL;
	int err = top && one->start > w->pos ? add_range(w, top, one->start) : 0;

	top = err == 0 ? vec_add(&w->open) : NULL;
	if (!top)
		return -ENOMEM;
	*top = (struct open){ .symbol = one, .end = end, .name = NO_NAME };
	w->pos = one->start;
	return 0;
}

/* To the next one, or as far as the one that it is in. */
static uint32_t unsized_end(const struct sweeper *w, size_t i)
{
	const struct elf_candidate *one = &w->candidates->all.data[i];
	uint32_t end = w->pick ? elf_pick_reach(w->pick, one) : one->end;

	if (i + 1 < w->candidates->all.len && one[1].start < end)
		end = one[1].start;
	if (w->open.len > 0 && w->open.data[w->open.len - 1].end < end)
		end = w->open.data[w->open.len - 1].end;
	return end;
}

static int sweep(struct sweeper *w)
{
	const struct elf_candidate *all = w->candidates->all.data;
	int err = 0;

	for (size_t i = 0; err == 0 && i < w->candidates->all.len; i++) {
		err = close_until(w, all[i].start);
		if (err < 0 || (all[i].rank == ELF_RANK_NOTYPE && w->open.len > 0))
			continue;
		err = open_symbol(w, &all[i], all[i].unsized ? unsized_end(w, i) : all[i].end);
	}
	return err < 0 ? err : close_until(w, UINT32_MAX);
}

/* Gives back what the doubling took too much of. */
static void trim(struct elf_sym *sym)
{
	void *ranges = reallocarray(sym->ranges.data, sym->ranges.len + 1, sizeof(struct range));
	void *names = realloc(sym->names.data, sym->names.len + 1);

	if (ranges) {
		sym->ranges.data = ranges;
		sym->ranges.cap = sym->ranges.len + 1;
	}
	if (names) {
		sym->names.data = names;
		sym->names.cap = sym->names.len + 1;
	}
	sym->stats.memory_bytes = sizeof(*sym) + sym->ranges.cap * sizeof(struct range) +
		sym->pieces.cap * sizeof(struct piece) + sym->names.cap +
		sym->known.cap * sizeof(uint32_t);
}

/* ---- what is known --------------------------------------------------------------------------- */

static int note_known(struct elf_sym *sym, const struct elf_pick *pick)
{
	uint64_t at = 0;

	for (; blocks_next(&pick->want, at, &at); at += 1U << BLOCK_SHIFT) {
		uint32_t *block = vec_add(&sym->known);

		if (!block)
			return -ENOMEM;
		*block = (uint32_t)(at >> BLOCK_SHIFT);
	}
	return 0;
}

bool elf_sym_knows(const struct elf_sym *sym, uint64_t file_offset)
{
	size_t low = 0, high = sym->known.len;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sym->known.data[middle] <= file_offset >> BLOCK_SHIFT)
			low = middle;
		else
			high = middle;
	}
	/* behind the file's end there is nothing to know */
	return sym->whole || file_offset >= sym->file_bytes ||
		(high > low && sym->known.data[low] == file_offset >> BLOCK_SHIFT);
}

/* ---- public --------------------------------------------------------------------------------- */

static int make(
	struct elf_candidates *candidates, const struct elf_pick *pick, struct elf_sym **out)
{
	_cleanup_(elf_sym_freep) struct elf_sym *sym = calloc(1, sizeof(*sym));
	struct sweeper w = { .candidates = candidates, .pick = pick, .sym = sym };
	int err;

	if (!sym)
		return -ENOMEM;
	sym->whole = !pick;
	sym->stats = (struct elf_sym_stats){ .symbols = candidates->symbols,
		.sources = candidates->sources,
		.dropped = candidates->dropped,
		.tables_bad = candidates->tables_bad };
	err = sweep(&w);
	vec_done(&w.open);
	if (err == 0 && pick)
		err = note_known(sym, pick);
	if (err < 0)
		return err;
	trim(sym);
	*out = TAKE_PTR(sym);
	return 0;
}

int elf_sym_load(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	struct elf_sym **out)
{
	_cleanup_(elf_candidates_done) struct elf_candidates candidates = { 0 };
	int err = elf_candidates_collect(mapped, extra, extra_source, NULL, &candidates);

	return err < 0 ? err : make(&candidates, NULL, out);
}

static void want(
	struct elf_pick *pick, const uint64_t *offsets, size_t len, const struct elf_sym *before)
{
	for (size_t i = 0; i < len; i++)
		elf_pick_want(pick, offsets[i]);
	for (size_t i = 0; before && i < before->known.len; i++)
		elf_pick_want(pick, (uint64_t)before->known.data[i] << BLOCK_SHIFT);
}

int elf_sym_pick(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	const uint64_t *offsets, size_t len, const struct elf_sym *before, struct elf_sym **out)
{
	_cleanup_(elf_candidates_done) struct elf_candidates candidates = { 0 };
	_cleanup_(elf_pick_done) struct elf_pick pick = { 0 };
	int err = before && before->whole ? 0 : elf_pick_init(&pick, mapped->file.len);

	if (err < 0)
		return err;
	want(&pick, offsets, len, before);
	for (int i = 0; i < PASSES_MAX && pick.want.words_len > 0; i++) {
		elf_pick_begin(&pick);
		err = elf_candidates_collect(mapped, extra, extra_source, &pick, &candidates);
		if (err < 0)
			return err;
		if (elf_pick_grow(&pick))
			continue;
		err = make(&candidates, &pick, out);
		if (err == 0)
			(*out)->file_bytes = mapped->file.len;
		return err;
	}
	return elf_sym_load(mapped, extra, extra_source, out);
}

void elf_sym_free(struct elf_sym *sym)
{
	if (!sym)
		return;
	vec_done(&sym->ranges);
	vec_done(&sym->pieces);
	vec_done(&sym->known);
	buf_done(&sym->names);
	free(sym);
}

static uint64_t symbol_start(const struct elf_sym *sym, const struct range *range)
{
	size_t low = 0, high = sym->pieces.len;

	if (!range->piece)
		return range->start;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sym->pieces.data[middle].at <= range->start)
			low = middle;
		else
			high = middle;
	}
	return sym->pieces.data[low].start;
}

bool elf_sym_find(const struct elf_sym *sym, uint64_t file_offset, struct elf_name *out)
{
	size_t low = 0, high = sym->ranges.len;
	const struct range *range;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sym->ranges.data[middle].start <= file_offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	range = &sym->ranges.data[low - 1];
	if (file_offset - range->start >= range->size || !elf_sym_knows(sym, file_offset) ||
		sym->names.data[range->name] == '\0')
		return false;
	*out = (struct elf_name){ .name = sym->names.data + range->name,
		.start = symbol_start(sym, range),
		.source = range->source };
	return true;
}

void elf_sym_stats(const struct elf_sym *sym, struct elf_sym_stats *out)
{
	*out = sym->stats;
}
