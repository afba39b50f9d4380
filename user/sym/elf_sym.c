/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_sym.c - symbol tables boiled down to ranges that do not overlap.
 * collect: every candidate of every table, 16 bytes each; settle: one winner an address; sweep: the
 * winners in order of address become ranges, an outer symbol going on behind an inner one in a
 * piece of its own. So a look-up is one binary search, whatever nesting a file claims. Invariant:
 * ranges are sorted and disjoint, and each one's name ends within the block of names. Demangling,
 * and finding the extra file, are left to the caller. */
#include "sym/elf_sym.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/radix.h"
#include "base/vec.h"
#include "elf/gopclntab.h"
#include "elf/plt.h"
#include "elf/symtab.h"
#include "sym/name_rule.h"

#define SOURCES (ELF_SYM_GO + 1)
#define COVER_SAMPLES 128

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
	struct buf names;
	struct elf_sym_stats stats;
};

enum rank { RANK_NOTYPE, RANK_PLT, RANK_FUNC };

struct candidate {
	uint32_t start; /* first: what they are sorted by */
	uint32_t end;   /* of an unsized one: the furthest that it can reach */
	uint32_t name;  /* in the strings of its source */
	uint8_t source;
	uint8_t rank;
	uint8_t bind;
	uint8_t unsized;
};

struct open {
	uint32_t start;
	uint32_t end;
	uint32_t name; /* offset in the names that stay */
	uint32_t source;
};

struct loader {
	struct image *mapped;
	struct symtab tabs[SOURCES]; /* by source; PLT's and Go's have strings alone */
	struct buf plt_names, go_names;
	VEC(struct candidate) candidates;
	size_t settled;        /* that many in front are sorted, one an address */
	VEC(struct open) open; /* the sweep's stack: symbols that began and may not have ended */
	uint32_t pos;          /* the sweep has made the ranges before this offset */
	struct elf_sym *sym;
};

/* ---- names --------------------------------------------------------------------------------- */

static struct bytes plain_name(const struct loader *l, const struct candidate *s)
{
	struct bytes name = symtab_name(&l->tabs[s->source], s->name, ELF_SYM_NAME_MAX);
	const uint8_t *at;

	if (s->source == ELF_SYM_PLT || name.len == 0)
		return name;
	at = memchr(name.data, '@', name.len);
	if (at && at != name.data)
		name.len = (size_t)(at - name.data);
	return name;
}

static int bind_order(uint8_t bind)
{
	return bind == STB_LOCAL ? 2 : bind == STB_WEAK ? 1 : 0;
}

/* The rule of the header, between two at one address. */
static bool is_better(const struct loader *l, const struct candidate *a, const struct candidate *b)
{
	bool equal, better;

	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->unsized != b->unsized)
		return b->unsized;
	if (bind_order(a->bind) != bind_order(b->bind))
		return bind_order(a->bind) < bind_order(b->bind);
	better = name_rule_better(plain_name(l, a), plain_name(l, b), &equal);
	return equal ? a->source < b->source : better;
}

/* ---- collect -------------------------------------------------------------------------------- */

static bool is_label(const struct symtab *tab, const struct symtab_entry *e)
{
	struct bytes name = symtab_name(tab, e->name, 2);

	return name.len == 0 || name.data[0] == '$' ||
		(name.len == 2 && name.data[0] == '.' && name.data[1] == 'L');
}

static bool is_wanted(const struct symtab *tab, const struct symtab_entry *e,
	const struct image_section *section, enum rank *rank)
{
	if (e->section == SHN_UNDEF || e->section == SHN_COMMON)
		return false;
	switch (e->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		*rank = RANK_FUNC;
		return symtab_name(tab, e->name, 1).len > 0;
	case STT_NOTYPE:
		*rank = RANK_NOTYPE;
		return section && (section->flags & SHF_EXECINSTR) && !is_label(tab, e);
	default:
		return false;
	}
}

/* How far anything that begins at this vaddr can reach, in bytes; 0: it is in no code. */
static uint64_t room_for(
	const struct image *mapped, const struct image_section *section, uint64_t vaddr)
{
	if (section)
		return vaddr >= section->vaddr && vaddr - section->vaddr < section->size
			? section->size - (vaddr - section->vaddr)
			: 0;
	for (size_t i = 0; i < image_segments(mapped); i++) {
		const struct image_segment *s = image_segment(mapped, i);

		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
			return s->file_size - (vaddr - s->vaddr);
	}
	return 0;
}

static int add_candidate(
	struct loader *l, struct candidate c, uint64_t vaddr, uint64_t room, uint64_t size)
{
	struct candidate *added;
	uint64_t offset, end;

	if (room == 0 || !image_vaddr_to_offset(l->mapped, vaddr, &offset) ||
		!image_offset_is_code(l->mapped, offset))
		return 0;
	if (size > 0 && size < room)
		room = size;
	end = room < UINT64_MAX - offset ? offset + room : UINT64_MAX;
	if (offset >= UINT32_MAX || l->candidates.len >= ELF_SYM_MAX) {
		l->sym->stats.dropped++;
		return 0;
	}
	added = vec_add(&l->candidates);
	if (!added)
		return -ENOMEM;
	c.start = (uint32_t)offset;
	c.end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
	c.unsized = size == 0;
	*added = c;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What is in .dynsym is in .symtab too, where the linker made both: half the work of a large
 * program. Somebody may have dropped symbols since, so some of them are looked up. */
static bool is_covered(const struct loader *l, const struct symtab *tab)
{
	size_t step = tab->len / COVER_SAMPLES + 1, sampled = 0;
	struct symtab_entry e;
	uint64_t offset;

	if (l->tabs[ELF_SYM_SYMTAB].len < tab->len || l->candidates.len == 0)
		return false;
	for (size_t i = 1; symtab_get(tab, i, &e); i += e.type == STT_FUNC ? step : 1) {
		struct candidate c = { 0 };

		if (e.type != STT_FUNC || e.section == SHN_UNDEF ||
			!image_vaddr_to_offset(l->mapped, e.value, &offset) || offset > UINT32_MAX)
			continue;
		c.start = (uint32_t)offset;
		if (!bsearch(&c, l->candidates.data, l->candidates.len, sizeof(c), by_start))
			return false;
		sampled++;
	}
	return sampled > 0;
}

static int collect_table(
	struct loader *l, struct image *image, uint32_t type, enum elf_sym_source source)
{
	const struct image_section *section = image_section_by_type(image, type);
	struct symtab *tab = &l->tabs[source];
	struct symtab_entry e;
	int err;

	if (!section || section->type == SHT_NOBITS)
		return 0;
	err = symtab_init(tab, image, section);
	if (err == -ENOMEM)
		return err;
	l->sym->stats.tables_bad += err < 0;
	if (err == 0 && source == ELF_SYM_DYNSYM && is_covered(l, tab))
		return 0;
	for (size_t i = 1; err == 0 && symtab_get(tab, i, &e); i++) {
		const struct image_section *in = image_section_at(image, e.section);
		struct candidate c = { .name = e.name, .source = source, .bind = e.bind };
		enum rank rank;

		if (!is_wanted(tab, &e, in, &rank))
			continue;
		c.rank = rank;
		err = add_candidate(l, c, e.value, room_for(l->mapped, in, e.value), e.size);
	}
	return err == -ENOMEM ? err : 0;
}

/* ---- settle --------------------------------------------------------------------------------- */

/* Sorted by address, one candidate an address. The sort knows nothing of names, so that no file can
 * make it compare long ones n log n times. */
static int settle(struct loader *l)
{
	struct candidate *all = l->candidates.data;
	size_t n = l->candidates.len, kept = 0;

	if (n == 0)
		return 0;
	if (radix_sort32(all, n, sizeof(*all)) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		if (all[i].start != all[kept].start)
			all[++kept] = all[i];
		else if (is_better(l, &all[i], &all[kept]))
			all[kept] = all[i];
	}
	l->candidates.len = kept + 1;
	return 0;
}

/* ---- PLT ------------------------------------------------------------------------------------ */

/* Whom a stub calls: the relocation's symbol, or for IFUNCs that have none, the name of the
 * resolver. */
static struct bytes callee_name(const struct loader *l, const struct plt_entry *entry)
{
	struct candidate c = { .source = ELF_SYM_DYNSYM };
	const struct candidate *at;
	struct symtab_entry e;
	uint64_t offset;

	if (entry->symbol != 0) {
		if (!symtab_get(&l->tabs[ELF_SYM_DYNSYM], entry->symbol, &e))
			return (struct bytes){ 0 };
		c.name = e.name;
		return plain_name(l, &c);
	}
	if (l->settled == 0 || !image_vaddr_to_offset(l->mapped, entry->resolver, &offset) ||
		offset > UINT32_MAX)
		return (struct bytes){ 0 };
	c.start = (uint32_t)offset;
	at = bsearch(&c, l->candidates.data, l->settled, sizeof(c), by_start);
	return at ? plain_name(l, at) : (struct bytes){ 0 };
}

static int add_stub(struct loader *l, const struct plt_entry *entry)
{
	static const char suffix[] = "@plt";
	struct candidate c = { .source = ELF_SYM_PLT, .rank = RANK_PLT, .bind = STB_LOCAL };
	struct bytes name = callee_name(l, entry);
	int err;

	if (name.len == 0)
		return 0;
	if (l->plt_names.len + name.len + sizeof(suffix) > ELF_SYM_NAMES_BYTES_MAX) {
		l->sym->stats.dropped++;
		return 0;
	}
	c.name = (uint32_t)l->plt_names.len;
	err = buf_put(&l->plt_names, name.data, name.len);
	if (err == 0)
		err = buf_put(&l->plt_names, suffix, sizeof(suffix));
	return err < 0 ? err : add_candidate(l, c, entry->vaddr, entry->size, entry->size);
}

static int collect_plt(struct loader *l)
{
	_cleanup_(plt_done) struct plt plt = { 0 };
	int err = plt_load(l->mapped, &plt);

	l->settled = l->candidates.len;
	for (size_t i = 0; err == 0 && i < plt.len; i++)
		err = add_stub(l, &plt.entries[i]);
	l->tabs[ELF_SYM_PLT].strings =
		(struct bytes){ (const uint8_t *)l->plt_names.data, l->plt_names.len };
	return err;
}

/* ---- Go ------------------------------------------------------------------------------------- */

static int add_go(struct loader *l, const struct gopclntab_function *f)
{
	struct candidate c = { .source = ELF_SYM_GO, .rank = RANK_FUNC, .bind = STB_LOCAL };
	size_t len = strlen(f->name) + 1;
	int err;

	if (f->end <= f->start || l->go_names.len + len > ELF_SYM_NAMES_BYTES_MAX) {
		l->sym->stats.dropped++;
		return 0;
	}
	c.name = (uint32_t)l->go_names.len;
	err = buf_put(&l->go_names, f->name, len);
	return err < 0 ? err : add_candidate(l, c, f->start, f->end - f->start, f->end - f->start);
}

/* The table says what .symtab would: it is read where that was stripped. */
static int collect_go(struct loader *l)
{
	struct gopclntab tab;
	struct gopclntab_function f;
	int err;

	if (l->tabs[ELF_SYM_SYMTAB].strings.len > 0)
		return 0;
	err = gopclntab_init(&tab, l->mapped);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; err == 0 && i < tab.functions_len; i++)
		if (gopclntab_get(&tab, i, &f))
			err = add_go(l, &f);
	l->tabs[ELF_SYM_GO].strings =
		(struct bytes){ (const uint8_t *)l->go_names.data, l->go_names.len };
	return err;
}

/* ---- sweep ---------------------------------------------------------------------------------- */

static int add_range(struct loader *l, const struct open *o, uint32_t end)
{
	struct elf_sym *sym = l->sym;
	struct range *range = vec_add(&sym->ranges);
	struct piece *piece = NULL;

	if (!range)
		return -ENOMEM;
	*range = (struct range){ .start = l->pos,
		.size = end - l->pos,
		.name = o->name,
		.source = o->source,
		.piece = l->pos != o->start };
	if (range->piece) {
		piece = vec_add(&sym->pieces);
		if (!piece)
			return -ENOMEM;
		*piece = (struct piece){ .at = l->pos, .start = o->start };
	}
	l->pos = end;
	return 0;
}

/* Ends the symbols that do not reach beyond upto. What is left open covers upto. */
static int close_until(struct loader *l, uint32_t upto)
{
	int err = 0;

	while (err == 0 && l->open.len > 0) {
		const struct open *top = &l->open.data[l->open.len - 1];

		if (top->end > upto)
			break;
		if (top->end > l->pos)
			err = add_range(l, top, top->end);
		l->open.len--;
	}
	return err;
}

static int put_name(struct loader *l, const struct candidate *c, uint32_t *out)
{
	struct buf *names = &l->sym->names;
	struct bytes name = plain_name(l, c);
	size_t at = names->len;
	int err;

	if (at + name.len + 1 > ELF_SYM_NAMES_BYTES_MAX)
		return -EFBIG;
	err = buf_put(names, name.data, name.len);
	if (err == 0)
		err = buf_putc(names, '\0');
	if (err == 0)
		*out = (uint32_t)at;
	return err;
}

static int open_symbol(struct loader *l, const struct candidate *c, uint32_t end)
{
	struct open *top = l->open.len > 0 ? &l->open.data[l->open.len - 1] : NULL;
	uint32_t name;
	int err = put_name(l, c, &name);

	if (err == -EFBIG) {
		l->sym->stats.dropped++;
		return 0;
	}
	if (err == 0 && top && c->start > l->pos)
		err = add_range(l, top, c->start);
	top = err == 0 ? vec_add(&l->open) : NULL;
	if (!top)
		return -ENOMEM;
	*top = (struct open){ .start = c->start, .end = end, .name = name, .source = c->source };
	l->pos = c->start;
	l->sym->stats.symbols++;
	l->sym->stats.sources |= 1U << c->source;
	return 0;
}

static int sweep(struct loader *l)
{
	const struct candidate *all = l->candidates.data;
	int err = 0;

	for (size_t i = 0; err == 0 && i < l->candidates.len; i++) {
		uint32_t end = all[i].end;

		err = close_until(l, all[i].start);
		if (err < 0 || (all[i].rank == RANK_NOTYPE && l->open.len > 0))
			continue;
		if (all[i].unsized && i + 1 < l->candidates.len && all[i + 1].start < end)
			end = all[i + 1].start;
		if (all[i].unsized && l->open.len > 0 && l->open.data[l->open.len - 1].end < end)
			end = l->open.data[l->open.len - 1].end;
		err = open_symbol(l, &all[i], end);
	}
	return err < 0 ? err : close_until(l, UINT32_MAX);
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
		sym->pieces.cap * sizeof(struct piece) + sym->names.cap;
}

/* ---- public --------------------------------------------------------------------------------- */

static int load(struct loader *l, struct image *extra, enum elf_sym_source extra_source)
{
	int err = collect_table(l, l->mapped, SHT_SYMTAB, ELF_SYM_SYMTAB);

	if (err == 0)
		err = settle(l);
	if (err == 0)
		err = collect_table(l, l->mapped, SHT_DYNSYM, ELF_SYM_DYNSYM);
	if (err == 0 && extra)
		err = collect_table(l, extra, SHT_SYMTAB, extra_source);
	if (err == 0)
		err = collect_go(l);
	if (err == 0)
		err = settle(l);
	if (err == 0)
		err = collect_plt(l);
	if (err == 0)
		err = settle(l);
	return err < 0 ? err : sweep(l);
}

int elf_sym_load(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	struct elf_sym **out)
{
	_cleanup_(elf_sym_freep) struct elf_sym *sym = calloc(1, sizeof(*sym));
	struct loader l = { .mapped = mapped, .sym = sym };
	int err;

	if (!sym)
		return -ENOMEM;
	err = load(&l, extra, extra_source);
	vec_done(&l.candidates);
	vec_done(&l.open);
	buf_done(&l.plt_names);
	buf_done(&l.go_names);
	if (err < 0)
		return err;
	trim(sym);
	*out = TAKE_PTR(sym);
	return 0;
}

void elf_sym_free(struct elf_sym *sym)
{
	if (!sym)
		return;
	vec_done(&sym->ranges);
	vec_done(&sym->pieces);
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
	if (file_offset - range->start >= range->size)
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

const char *elf_sym_source_name(enum elf_sym_source source)
{
	static const char *const names[] = { [ELF_SYM_SYMTAB] = "symtab",
		[ELF_SYM_DYNSYM] = "dynsym",
		[ELF_SYM_DEBUG_FILE] = "debug_file",
		[ELF_SYM_DEBUG_DATA] = "debug_data",
		[ELF_SYM_PLT] = "plt",
		[ELF_SYM_GO] = "gopclntab",
		[ELF_SYM_R2R] = "readytorun" };

	return names[source];
}
