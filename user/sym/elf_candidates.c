/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_candidates.c - reads one table after the other, 16 bytes a symbol, sorts them, and keeps
 * one an address. It reads names only where two symbols share an address and for symbols without a
 * type: the strings of a large program are tens of megabytes. */
#include "sym/elf_candidates.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/radix.h"
#include "elf/gopclntab.h"
#include "elf/plt.h"
#include "sym/name_rule.h"

#define COVER_SAMPLES 128

struct collector {
	struct image *mapped;
	struct elf_functions *functions;
	struct elf_pick *pick; /* NULL: all are taken */
	struct elf_candidates *out;
	size_t settled;                   /* number of sorted ones in front, one an address */
	const struct image_segment *code; /* the one that the last symbol was in, or NULL */
};

/* ---- names --------------------------------------------------------------------------------- */

struct bytes elf_candidates_name(
	const struct elf_candidates *candidates, const struct elf_candidate *one)
{
	struct bytes name =
		symtab_name(&candidates->tabs[one->source], one->name, ELF_SYM_NAME_MAX);
	const uint8_t *at;

	if (one->source == ELF_SYM_PLT || name.len == 0)
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

/* The rule of sym/elf_sym.h, between two at one address. */
static bool is_better(const struct elf_candidates *all, const struct elf_candidate *a,
	const struct elf_candidate *b)
{
	struct bytes name_a, name_b;
	bool equal, better;

	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->unsized != b->unsized)
		return b->unsized;
	if (bind_order(a->bind) != bind_order(b->bind))
		return bind_order(a->bind) < bind_order(b->bind);
	name_a = elf_candidates_name(all, a);
	name_b = elf_candidates_name(all, b);
	if (name_a.len == 0 || name_b.len == 0)
		return name_a.len > 0;
	better = name_rule_better(name_a, name_b, &equal);
	return equal ? a->source < b->source : better;
}

/* ---- one symbol ------------------------------------------------------------------------------ */

static bool is_label(const struct symtab *tab, const struct symtab_entry *e)
{
	struct bytes name = symtab_name(tab, e->name, 2);

	return name.len == 0 || name.data[0] == '$' ||
		(name.len == 2 && name.data[0] == '.' && name.data[1] == 'L');
}

static bool is_wanted(const struct symtab *tab, const struct symtab_entry *e,
	const struct image_section *section, enum elf_rank *rank)
{
	if (e->section == SHN_UNDEF || e->section == SHN_COMMON)
		return false;
	switch (e->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		*rank = ELF_RANK_FUNC;
		return e->name != 0;
	case STT_NOTYPE:
		*rank = ELF_RANK_NOTYPE;
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

/* Most symbols are in the segment that the last one was in. */
static bool code_offset(struct collector *c, uint64_t vaddr, uint64_t *offset)
{
	const struct image_segment *code = c->code;

	if (!code || vaddr < code->vaddr || vaddr - code->vaddr >= code->file_size)
		c->code = code = image_vaddr_segment(c->mapped, vaddr);
	if (!code || !(code->flags & PF_X)) {
		c->code = NULL;
		return false;
	}
	*offset = vaddr - code->vaddr + code->file_offset;
	return true;
}

static int add_candidate(struct collector *c, const struct elf_candidate *one)
{
	struct elf_candidate *added;

	if (c->out->all.len >= ELF_SYM_MAX) {
		c->out->dropped++;
		return 0;
	}
	added = vec_add(&c->out->all);
	if (!added)
		return -ENOMEM;
	*added = *one;
	return 0;
}

/* An FDE that begins a byte before its symbol is of a signal trampoline: nothing calls it, and the
 * place before its return address, where callers are looked up, is that byte. */
static void fit_function(struct elf_functions *functions, struct elf_candidate *one)
{
	struct elf_extent at = elf_frames_find(&functions->frames, one->start);

	if (at.function && one->start > 0 && at.start == one->start - 1)
		one->start--;
	one->end = at.end < one->end ? at.end : one->end;
	one->loose = !at.function && elf_functions_divides(functions, one->start);
	if (one->loose)
		one->end = one->start + 1;
}

/* 1: it was taken; 0: not; -ENOMEM. room: no more than this; size 0: unsized. */
static int add(
	struct collector *c, struct elf_candidate one, uint64_t vaddr, uint64_t room, uint64_t size)
{
	uint64_t offset, end;
	int taken = 1;

	if (room == 0 || !code_offset(c, vaddr, &offset))
		return 0;
	if (size > 0 && size < room)
		room = size;
	end = room < UINT64_MAX - offset ? offset + room : UINT64_MAX;
	if (offset >= UINT32_MAX) {
		c->out->dropped++;
		return 0;
	}
	one.start = (uint32_t)offset;
	one.end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
	one.unsized = size == 0;
	if (one.unsized)
		fit_function(c->functions, &one);
	c->out->symbols++;
	c->out->sources |= 1U << one.source;
	if (c->pick)
		taken = elf_pick_takes(c->pick, &one);
	if (taken == 1 && add_candidate(c, &one) < 0)
		return -ENOMEM;
	return taken;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct elf_candidate *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Some functions of a table, evenly spread: the offset of the next one from *i on. */
static bool next_sample(
	const struct collector *c, const struct symtab *tab, size_t *i, uint32_t *offset)
{
	size_t step = tab->len / COVER_SAMPLES + 1;
	struct symtab_entry e;
	uint64_t at;

	for (; symtab_get(tab, *i, &e); (*i)++) {
		if (e.type != STT_FUNC || e.section == SHN_UNDEF ||
			!image_vaddr_to_offset(c->mapped, e.value, &at) || at > UINT32_MAX)
			continue;
		*offset = (uint32_t)at;
		*i += step;
		return true;
	}
	return false;
}

/* Symbols of .dynsym are in .symtab too, where the linker made both: half the work of a large
 * program. Somebody may have dropped symbols since, so some of them are looked up. */
static bool is_covered(const struct collector *c, const struct symtab *tab)
{
	const struct elf_candidates *out = c->out;
	struct elf_candidate key = { 0 };
	size_t i = 1, sampled = 0;

	if (out->tabs[ELF_SYM_SYMTAB].len < tab->len || out->all.len == 0)
		return false;
	for (; next_sample(c, tab, &i, &key.start); sampled++)
		if (!bsearch(&key, out->all.data, out->all.len, sizeof(key), by_start))
			return false;
	return sampled > 0;
}

/* 1: it is there; 0: it is not, or cannot be read; -ENOMEM */
static int open_table(
	struct collector *c, struct image *image, uint32_t type, enum elf_sym_source source)
{
	const struct image_section *section = image_section_by_type(image, type);
	int err;

	if (!section || section->type == SHT_NOBITS)
		return 0;
	err = symtab_init(&c->out->tabs[source], image, section);
	if (err == -ENOMEM)
		return err;
	c->out->tables_bad += err < 0;
	return err == 0;
}

static int collect_table(struct collector *c, struct image *image, enum elf_sym_source source)
{
	const struct symtab *tab = &c->out->tabs[source];
	struct symtab_entry e;
	int err = 0;

	for (size_t i = 1; err >= 0 && symtab_get(tab, i, &e); i++) {
		const struct image_section *in = image_section_at(image, e.section);
		struct elf_candidate one = { .name = e.name, .source = source, .bind = e.bind };
		enum elf_rank rank;

		if (i % SYMTAB_PER_PASS == 0)
			image_pass(image);
		if (!is_wanted(tab, &e, in, &rank))
			continue;
		one.rank = rank;
		err = add(c, one, e.value, room_for(c->mapped, in, e.value), e.size);
	}
	return err < 0 ? err : 0;
}

/* ---- settle --------------------------------------------------------------------------------- */

/* Sorted by address, one candidate an address. The sort knows nothing of names, so that no file can
 * make it compare long ones n log n times. */
static int settle(struct collector *c)
{
	struct elf_candidate *all = c->out->all.data;
	size_t n = c->out->all.len, kept = 0;

	if (n == 0)
		return 0;
	if (radix_sort32(all, n, sizeof(*all)) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		if (all[i].start != all[kept].start)
			all[++kept] = all[i];
		else if (is_better(c->out, &all[i], &all[kept]))
			all[kept] = all[i];
	}
	c->out->all.len = kept + 1;
	return 0;
}

/* ---- PLT ------------------------------------------------------------------------------------ */

/* For IFUNCs that have no name of their own it is the resolver's. */
static int resolver_name(struct collector *c, const struct plt_entry *entry, struct bytes *out)
{
	struct elf_candidate key = { 0 };
	const struct elf_candidate *at;
	uint64_t offset;

	if (!image_vaddr_to_offset(c->mapped, entry->resolver, &offset) || offset > UINT32_MAX)
		return 0;
	key.start = (uint32_t)offset;
	if (c->pick && elf_pick_lacks_start(c->pick, key.start) < 0)
		return -ENOMEM;
	at = c->settled > 0 ? bsearch(&key, c->out->all.data, c->settled, sizeof(key), by_start)
			    : NULL;
	if (at)
		*out = elf_candidates_name(c->out, at);
	return 0;
}

/* Whom a stub calls: the relocation's symbol. */
static int callee_name(struct collector *c, const struct plt_entry *entry, struct bytes *out)
{
	struct elf_candidate named = { .source = ELF_SYM_DYNSYM };
	struct symtab_entry e;

	*out = (struct bytes){ 0 };
	if (entry->symbol == 0)
		return resolver_name(c, entry, out);
	if (symtab_get(&c->out->tabs[ELF_SYM_DYNSYM], entry->symbol, &e)) {
		named.name = e.name;
		*out = elf_candidates_name(c->out, &named);
	}
	return 0;
}

static int add_stub(struct collector *c, const struct plt_entry *entry)
{
	static const char suffix[] = "@plt";
	struct elf_candidate one = {
		.source = ELF_SYM_PLT, .rank = ELF_RANK_PLT, .bind = STB_LOCAL
	};
	struct buf *names = &c->out->plt_names;
	struct bytes name;
	int err = callee_name(c, entry, &name);

	if (err < 0 || name.len == 0)
		return err;
	if (names->len + name.len + sizeof(suffix) > ELF_SYM_NAMES_BYTES_MAX) {
		c->out->dropped++;
		return 0;
	}
	one.name = (uint32_t)names->len;
	err = add(c, one, entry->vaddr, entry->size, entry->size);
	if (err == 1)
		err = buf_put(names, name.data, name.len);
	if (err == 0 && names->len > one.name)
		err = buf_put(names, suffix, sizeof(suffix));
	return err < 0 ? err : 0;
}

/* Would a stub in [start, end) of the file be asked for, or cut one that was taken? */
static bool matters(const struct collector *c, uint64_t start, uint64_t end)
{
	if (blocks_touch(&c->pick->want, start, end))
		return true;
	vec_each (&c->out->all, one)
		if (one->unsized && one->start < end && one->end > start)
			return true;
	return false;
}

/* From the first to the last place where segments may put it, mostly one. */
static bool section_matters(const struct collector *c, const struct image_section *s)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; s && i < image_segments(c->mapped); i++) {
		const struct image_segment *in = image_segment(c->mapped, i);
		uint64_t skipped = s->vaddr < in->vaddr ? in->vaddr - s->vaddr : 0;
		uint64_t at = s->vaddr + skipped - in->vaddr;

		if (in->type != PT_LOAD || skipped >= s->size || at >= in->file_size)
			continue;
		at += in->file_offset;
		start = at < start ? at : start;
		end = at + s->size - skipped > end ? at + s->size - skipped : end;
	}
	return start < end && matters(c, start, end);
}

/* Reading it takes all relocations: only if somebody may be there. */
static bool wants_plt(const struct collector *c)
{
	bool wanted = !c->pick || c->pick->outside.len > 0;

	for (size_t i = 0; !wanted && i < PLT_SECTIONS; i++)
		wanted = section_matters(c, image_section_find(c->mapped, plt_sections[i]));
	return wanted;
}

static int collect_plt(struct collector *c)
{
	_cleanup_(plt_done) struct plt plt = { 0 };
	int err = wants_plt(c) ? plt_load(c->mapped, &plt) : 0;

	c->settled = c->out->all.len;
	for (size_t i = 0; err == 0 && i < plt.len; i++)
		err = add_stub(c, &plt.entries[i]);
	c->out->tabs[ELF_SYM_PLT].strings =
		(struct bytes){ (const uint8_t *)c->out->plt_names.data, c->out->plt_names.len };
	return err;
}

/* ---- Go ------------------------------------------------------------------------------------- */

static int add_go(struct collector *c, const struct gopclntab_function *f)
{
	struct elf_candidate one = {
		.source = ELF_SYM_GO, .rank = ELF_RANK_FUNC, .bind = STB_LOCAL
	};
	struct buf *names = &c->out->go_names;
	size_t len = strlen(f->name) + 1;
	int err;

	if (f->end <= f->start || names->len + len > ELF_SYM_NAMES_BYTES_MAX) {
		c->out->dropped++;
		return 0;
	}
	one.name = (uint32_t)names->len;
	err = add(c, one, f->start, f->end - f->start, f->end - f->start);
	if (err == 1)
		err = buf_put(names, f->name, len);
	return err;
}

/* The table says what .symtab would: it is read where that was stripped. */
static int collect_go(struct collector *c)
{
	struct gopclntab tab;
	struct gopclntab_function f;
	int err;

	if (c->out->tabs[ELF_SYM_SYMTAB].strings.len > 0)
		return 0;
	err = gopclntab_init(&tab, c->mapped);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; err == 0 && i < tab.functions_len; i++)
		if (gopclntab_get(&tab, i, &f))
			err = add_go(c, &f);
	c->out->tabs[ELF_SYM_GO].strings =
		(struct bytes){ (const uint8_t *)c->out->go_names.data, c->out->go_names.len };
	return err;
}

/* ---- public --------------------------------------------------------------------------------- */

static int collect_mapped(struct collector *c)
{
	int err = open_table(c, c->mapped, SHT_DYNSYM, ELF_SYM_DYNSYM), dynamic = err;
	size_t i = 1;
	uint32_t at;

	while (dynamic == 1 && c->pick && next_sample(c, &c->out->tabs[ELF_SYM_DYNSYM], &i, &at))
		elf_pick_want_start(c->pick, at);
	if (err >= 0)
		err = open_table(c, c->mapped, SHT_SYMTAB, ELF_SYM_SYMTAB);
	if (err == 1)
		err = collect_table(c, c->mapped, ELF_SYM_SYMTAB);
	if (err == 0)
		err = settle(c);
	if (err == 0 && dynamic == 1 && !is_covered(c, &c->out->tabs[ELF_SYM_DYNSYM]))
		err = collect_table(c, c->mapped, ELF_SYM_DYNSYM);
	return err;
}

static int collect_extra(struct collector *c, struct image *extra, enum elf_sym_source source)
{
	int err = extra ? open_table(c, extra, SHT_SYMTAB, source) : 0;

	return err == 1 ? collect_table(c, extra, source) : err;
}

int elf_candidates_collect(struct image *mapped, struct image *extra,
	enum elf_sym_source extra_source, struct elf_functions *functions, struct elf_pick *pick,
	struct elf_candidates *out)
{
	struct collector c = { .mapped = mapped, .functions = functions, .pick = pick, .out = out };
	int err;

	elf_candidates_done(out);
	err = collect_mapped(&c);
	if (err == 0)
		err = collect_extra(&c, extra, extra_source);
	if (err == 0)
		err = collect_go(&c);
	if (err == 0)
		err = settle(&c);
	if (err == 0)
		err = collect_plt(&c);
	return err < 0 ? err : settle(&c);
}

void elf_candidates_done(struct elf_candidates *candidates)
{
	vec_done(&candidates->all);
	buf_done(&candidates->plt_names);
	buf_done(&candidates->go_names);
	*candidates = (struct elf_candidates){ 0 };
}
