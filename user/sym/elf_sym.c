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
#include "sym/elf_functions.h"

/* Mostly one, two where a symbol begins before the first block that was asked for. */
#define PASSES_MAX 8
#define NO_NAME UINT32_MAX

DEFINE_CLEANUP(struct elf_sym, elf_sym_free)

struct range {
	uint32_t start;
	uint32_t size;
	uint32_t name : 27; /* offset in names */
	uint32_t source : 3;
	uint32_t loose : 1; /* names the function that begins here */
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
	VEC(struct elf_function) functions; /* functions that the ranges do not cover */
	VEC(uint32_t) known; /* where everything is, if not everywhere: blocks, sorted */
	bool whole;          /* all symbols and FDEs are here */
	bool everything;     /* and all code was divided */
	VEC(struct elf_range) code;
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
	const struct blocks *want;   /* ranges in them stay; NULL: all */
	const struct elf_pick *pick; /* NULL: the candidates are complete */
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
	/* A wanted function may begin before the wanted blocks. */
	if (w->want && !o->symbol->loose && !blocks_touch(w->want, start, end))
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
		.loose = o->symbol->loose,
		.piece = piece != NULL };
	if (piece)
		*piece = (struct piece){ .at = start, .start = o->symbol->start };
	return 0;
}

/* Ends the symbols that do not reach beyond upto. Those left open cover upto. */
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
		if (err < 0 ||
			((all[i].rank == ELF_RANK_NOTYPE || all[i].loose) && w->open.len > 0))
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
	void *functions = reallocarray(
		sym->functions.data, sym->functions.len + 1, sizeof(struct elf_function));

	if (ranges) {
		sym->ranges.data = ranges;
		sym->ranges.cap = sym->ranges.len + 1;
	}
	if (names) {
		sym->names.data = names;
		sym->names.cap = sym->names.len + 1;
	}
	if (functions) {
		sym->functions.data = functions;
		sym->functions.cap = sym->functions.len + 1;
	}
	sym->stats.memory_bytes = sizeof(*sym) + sym->ranges.cap * sizeof(struct range) +
		sym->pieces.cap * sizeof(struct piece) + sym->names.cap +
		sym->functions.cap * sizeof(struct elf_function) +
		(sym->known.cap + 2 * sym->code.cap) * sizeof(uint32_t);
}

/* ---- what is known --------------------------------------------------------------------------- */

static int note_known(
	struct elf_sym *sym, const struct elf_functions *functions, const struct blocks *want)
{
	uint64_t at = 0;

	vec_each (&functions->code, code) {
		struct elf_range *range = vec_add(&sym->code);

		if (!range)
			return -ENOMEM;
		*range = *code;
	}
	for (; blocks_next(want, at, &at); at += 1U << BLOCK_SHIFT) {
		uint32_t *block = vec_add(&sym->known);

		if (!block)
			return -ENOMEM;
		*block = (uint32_t)(at >> BLOCK_SHIFT);
	}
	return 0;
}

/* Functions stay where a byte of theirs, in a wanted block, has no range. */
static int keep_functions(
	struct elf_sym *sym, const struct elf_functions *functions, const struct blocks *want)
{
	size_t i = 0;

	vec_each (&functions->all, function) {
		uint32_t at = function->at;
		struct elf_function *kept;

		for (; i < sym->ranges.len && sym->ranges.data[i].start <= at; i++)
			if (sym->ranges.data[i].start + sym->ranges.data[i].size > at)
				at = sym->ranges.data[i].start + sym->ranges.data[i].size;
		i -= i > 0;
		if (at >= function->end || (want && !blocks_touch(want, at, function->end)))
			continue;
		kept = vec_add(&sym->functions);
		if (!kept)
			return -ENOMEM;
		*kept = *function;
	}
	return 0;
}

/* ---- public --------------------------------------------------------------------------------- */

/* The images, and everything that is read of them. */
struct maker {
	struct image *mapped, *extra;
	enum elf_sym_source extra_source;
	const struct elf_sym *before;
	struct elf_functions functions;
	struct elf_candidates candidates;
	struct elf_pick pick;
	bool complete; /* all candidates were collected */
};

static void maker_done(struct maker *m)
{
	elf_functions_done(&m->functions);
	elf_candidates_done(&m->candidates);
	elf_pick_done(&m->pick);
}

static int collect(struct maker *m, struct elf_pick *pick)
{
	return elf_candidates_collect(
		m->mapped, m->extra, m->extra_source, &m->functions, pick, &m->candidates);
}

static int want_units(struct maker *m)
{
	return elf_functions_want(&m->functions, &m->candidates,
		m->before ? m->before->known.data : NULL, m->before ? m->before->known.len : 0,
		&m->pick);
}

/* Divided code is divided once: what was known stays. */
static int take_known(struct maker *m)
{
	if (!m->before)
		return 0;
	vec_each (&m->before->functions, known) {
		struct elf_function *taken;

		if (elf_frames_find(&m->functions.frames, known->at).function)
			continue;
		taken = vec_add(&m->functions.all);
		if (!taken)
			return -ENOMEM;
		*taken = *known;
	}
	return 0;
}

/* want NULL: everything; whole: all symbols */
static int make(struct maker *m, const struct blocks *want, bool whole, struct elf_sym **out)
{
	_cleanup_(elf_sym_freep) struct elf_sym *sym = calloc(1, sizeof(*sym));
	struct sweeper w = { .candidates = &m->candidates,
		.want = whole ? NULL : want,
		.pick = m->complete ? NULL : &m->pick,
		.sym = sym };
	int err;

	if (!sym)
		return -ENOMEM;
	sym->whole = whole;
	sym->everything = !want;
	sym->file_bytes = m->mapped->file.len;
	sym->stats = (struct elf_sym_stats){ .symbols = m->candidates.symbols,
		.sources = m->candidates.sources,
		.dropped = m->candidates.dropped + m->functions.dropped,
		.tables_bad = m->candidates.tables_bad };
	err = sweep(&w);
	vec_done(&w.open);
	if (err == 0)
		err = keep_functions(sym, &m->functions, whole ? NULL : want);
	if (err == 0 && want)
		err = note_known(sym, &m->functions, want);
	if (err < 0)
		return err;
	sym->stats.functions = sym->functions.len;
	trim(sym);
	*out = TAKE_PTR(sym);
	return 0;
}

int elf_sym_load(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	struct elf_sym **out)
{
	_cleanup_(maker_done) struct maker m = {
		.mapped = mapped, .extra = extra, .extra_source = extra_source, .complete = true
	};
	int err = elf_functions_open(mapped, &m.functions);

	if (err == 0)
		err = collect(&m, NULL);
	if (err == 0)
		err = elf_functions_list(&m.functions, &m.candidates, NULL, 0, NULL, true);
	return err < 0 ? err : make(&m, NULL, true, out);
}

static void want(struct elf_pick *pick, const struct elf_sym_query *query)
{
	for (size_t i = 0; i < query->len; i++) {
		uint64_t offset = query->offsets[i] & ~ELF_SYM_CALLER;

		elf_pick_want(pick, offset);
		if (query->offsets[i] & ELF_SYM_CALLER)
			elf_pick_want(pick, offset + 1);
	}
	for (size_t i = 0; query->before && i < query->before->known.len; i++)
		elf_pick_want(pick, (uint64_t)query->before->known.data[i] << BLOCK_SHIFT);
}

/* The candidates that the pick needs; all of them if it has grown too often. Where a file has FDEs
 * they show before the first pass which blocks will grow it. */
static int collect_picked(struct maker *m)
{
	int err;

	elf_pick_begin(&m->pick);
	err = m->functions.frames.any ? want_units(m) : 0;
	for (int i = 0; err >= 0 && i < PASSES_MAX; i++) {
		elf_pick_begin(&m->pick);
		err = collect(m, &m->pick);
		if (err < 0 || elf_pick_grow(&m->pick))
			continue;
		err = want_units(m);
		if (err <= 0)
			return err;
	}
	m->complete = true;
	return err < 0 ? err : collect(m, NULL);
}

static int collect_whole(struct maker *m)
{
	int err = collect(m, NULL);

	m->complete = true;
	elf_pick_begin(&m->pick);
	return err < 0 ? err : want_units(m);
}

int elf_sym_pick(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	const struct elf_sym_query *query, struct elf_sym **out)
{
	_cleanup_(maker_done) struct maker m = { .mapped = mapped,
		.extra = extra,
		.extra_source = extra_source,
		.before = query->before };
	bool whole = query->whole || (query->before && query->before->whole);
	int err;

	if (query->before && query->before->everything)
		return elf_sym_load(mapped, extra, extra_source, out);
	err = elf_pick_init(&m.pick, mapped->file.len);
	if (err == 0)
		err = elf_functions_open(mapped, &m.functions);
	if (err < 0)
		return err;
	want(&m.pick, query);
	err = whole ? collect_whole(&m) : collect_picked(&m);
	elf_pick_begin(&m.pick);
	if (err >= 0)
		err = take_known(&m);
	if (err == 0)
		err = elf_functions_list(&m.functions, &m.candidates,
			m.before ? m.before->known.data : NULL, m.before ? m.before->known.len : 0,
			&m.pick.want, whole);
	return err < 0 ? err : make(&m, &m.pick.want, whole, out);
}

void elf_sym_free(struct elf_sym *sym)
{
	if (!sym)
		return;
	vec_done(&sym->ranges);
	vec_done(&sym->pieces);
	vec_done(&sym->known);
	vec_done(&sym->functions);
	vec_done(&sym->code);
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

/* The range at the offset; NULL. */
static const struct range *find_range(const struct elf_sym *sym, uint64_t file_offset)
{
	size_t low = 0, high = sym->ranges.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sym->ranges.data[middle].start <= file_offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 &&
			file_offset - sym->ranges.data[low - 1].start <
				sym->ranges.data[low - 1].size
		? &sym->ranges.data[low - 1]
		: NULL;
}

static const struct elf_function *find_function(const struct elf_sym *sym, uint64_t file_offset)
{
	return elf_functions_find(sym->functions.data, sym->functions.len, file_offset);
}

static bool is_code(const struct elf_sym *sym, uint64_t file_offset)
{
	size_t i = elf_ranges_find(sym->code.data, sym->code.len, file_offset);

	return i < sym->code.len && sym->code.data[i].start <= file_offset;
}

static bool knows(const struct elf_sym *sym, uint64_t file_offset)
{
	size_t low = 0, high = sym->known.len;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sym->known.data[middle] <= file_offset >> BLOCK_SHIFT)
			low = middle;
		else
			high = middle;
	}
	/* after the file's end there is nothing to know */
	if (sym->everything || file_offset >= sym->file_bytes ||
		(high > low && sym->known.data[low] == file_offset >> BLOCK_SHIFT))
		return true;
	return sym->whole &&
		(find_range(sym, file_offset) || find_function(sym, file_offset) ||
			!is_code(sym, file_offset));
}

bool elf_sym_knows(const struct elf_sym *sym, uint64_t file_offset)
{
	uint64_t offset = file_offset & ~ELF_SYM_CALLER;

	return knows(sym, offset) && (offset == file_offset || knows(sym, offset + 1));
}

/* The offset that is meant. */
static uint64_t place_of(const struct elf_sym *sym, uint64_t file_offset)
{
	uint64_t offset = file_offset & ~ELF_SYM_CALLER, next = offset + 1;
	const struct elf_function *function;
	const struct range *range;

	if (offset == file_offset || find_range(sym, offset) || find_function(sym, offset))
		return offset;
	range = find_range(sym, next);
	function = find_function(sym, next);
	return (range && !range->piece && range->start == next) ||
			(function && function->start == next)
		? next
		: offset;
}

bool elf_sym_find(const struct elf_sym *sym, uint64_t file_offset, struct elf_name *out)
{
	uint64_t offset = place_of(sym, file_offset);
	const struct range *range = find_range(sym, offset);
	const struct elf_function *function = range ? NULL : find_function(sym, offset);

	if (function) {
		range = find_range(sym, function->start);
		if (range && (!range->loose || range->start != function->start))
			return false;
	}
	if (!range || !elf_sym_knows(sym, file_offset) || sym->names.data[range->name] == '\0')
		return false;
	*out = (struct elf_name){ .name = sym->names.data + range->name,
		.start = symbol_start(sym, range),
		.source = range->source };
	return true;
}

bool elf_sym_find_start(const struct elf_sym *sym, uint64_t file_offset, uint64_t *start)
{
	const struct elf_function *function = find_function(sym, place_of(sym, file_offset));

	if (!function || !elf_sym_knows(sym, file_offset))
		return false;
	*start = function->start;
	return true;
}

void elf_sym_stats(const struct elf_sym *sym, struct elf_sym_stats *out)
{
	*out = sym->stats;
}
