/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_sym.c - stores a hundred thousand names in two megabytes.
 * Symbols are in order of address in chunks of up to 64. A chunk has the address of its first
 * symbol and the offset of its names. A symbol has two bytes of distance from that address and its
 * name, which is found by walking over the names before it. A kernel built with patching room
 * before functions has a `__pfx_NAME` for each NAME; the second of such a pair takes one byte.
 * Invariant: an entry with an empty name ends the one before it and names nothing. */
#include "sym/kernel_sym.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/line.h"

#define CHUNK_LEN 64
#define NAME_LEN_MAX 1024
#define PREFIX "__pfx_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define AS_BEFORE '\1' /* the name is the one before it, without PREFIX */

struct chunk {
	uint64_t base;
	uint32_t first; /* index of its first symbol */
	uint32_t name;  /* where the names of its symbols begin */
};

/* From this symbol on, up to the next run, all are of one module. */
struct run {
	uint32_t first;
	uint32_t module;
};

struct kernel_sym {
	VEC(struct chunk) chunks;
	VEC(uint16_t) distances;
	VEC(struct run) runs;
	struct buf names;
	struct strtab modules;
	struct kernel_sym_stats stats;
};

struct symbol {
	uint64_t addr;
	uint32_t name; /* offset in the text; 0, which no name has, where code ends */
	uint16_t len;
	uint16_t rank : 2, module : 14;
};

_Static_assert(sizeof(struct symbol) == 16, "what is held for a line while parsing");

#define MODULES_MAX (1U << 14)

struct parser {
	struct bytes text;
	struct kernel_sym *sym;
	VEC(struct symbol) symbols;
	uint64_t addr_max;
	struct bytes previous; /* the name that was put last */
	bool is_sorted;
};

DEFINE_CLEANUP(struct kernel_sym, kernel_sym_free)

/* ---- lines ---------------------------------------------------------------------------------- */

enum { RANK_END, RANK_LOCAL, RANK_WEAK, RANK_GLOBAL };

static unsigned int rank_of(uint8_t type)
{
	switch (type) {
	case 'T':
		return RANK_GLOBAL;
	case 'W':
	case 'w':
		return RANK_WEAK;
	case 't':
		return RANK_LOCAL;
	default:
		return RANK_END;
	}
}

static bool is_end_marker(struct bytes name)
{
	static const char *const markers[] = { "_etext", "_einittext" };

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++)
		if (name.len == strlen(markers[i]) && memcmp(name.data, markers[i], name.len) == 0)
			return true;
	return false;
}

static int module_id(struct parser *p, struct bytes field, uint32_t *id)
{
	*id = 0;
	if (field.len < 2 || field.data[0] != '[' || field.data[field.len - 1] != ']' ||
		p->sym->modules.len >= MODULES_MAX)
		return 0;
	return strtab_put(&p->sym->modules, (const char *)field.data + 1, field.len - 2, id);
}

/* Names are kept one after the other, so the byte that ends one must not be in it. */
static bool is_name(struct bytes name)
{
	return name.len > 0 && name.len <= NAME_LEN_MAX && name.data[0] >= ' ' &&
		!memchr(name.data, '\0', name.len);
}

static int add_symbol(struct parser *p, struct symbol symbol)
{
	size_t n = p->symbols.len;
	struct symbol *added;

	if (n > 0 && p->symbols.data[n - 1].addr > symbol.addr)
		p->is_sorted = false;
	if (n >= KERNEL_SYM_MAX) {
		p->sym->stats.dropped++;
		return 0;
	}
	added = vec_add(&p->symbols);
	if (!added)
		return -ENOMEM;
	*added = symbol;
	return 0;
}

static int parse_line(struct parser *p, struct cursor line)
{
	struct symbol symbol = { 0 };
	struct bytes type, name;
	uint32_t module;
	int err;

	if (!line_hex(&line, &symbol.addr) || !line_blanks(&line))
		goto bad;
	type = line_word(&line);
	line_blanks(&line);
	name = line_word(&line);
	if (type.len != 1 || !is_name(name))
		goto bad;
	line_blanks(&line);
	err = module_id(p, line_word(&line), &module);
	if (err < 0)
		return err;
	symbol.rank = is_end_marker(name) ? RANK_END : rank_of(type.data[0]);
	symbol.module = module & (MODULES_MAX - 1);
	symbol.name = (uint32_t)(name.data - p->text.data);
	symbol.len = (uint16_t)name.len;
	if (symbol.addr > p->addr_max && symbol.rank != RANK_END)
		p->addr_max = symbol.addr;
	return add_symbol(p, symbol);
bad:
	p->sym->stats.bad++;
	return 0;
}

static int parse_lines(struct parser *p)
{
	struct cursor c = cursor_init(p->text.data, p->text.len), line;
	int err = 0;

	while (err == 0 && line_next(&c, &line))
		err = parse_line(p, line);
	return err;
}

/* ---- which of them stay --------------------------------------------------------------------- */

static struct bytes name_of(const struct parser *p, const struct symbol *s)
{
	struct cursor c = cursor_init(p->text.data, p->text.len);

	cursor_seek(&c, s->name);
	return cursor_bytes(&c, s->len);
}

static size_t underscores(struct bytes name)
{
	size_t n = 0;

	while (n < name.len && name.data[n] == '_')
		n++;
	return n;
}

static bool is_better(const struct parser *p, const struct symbol *a, const struct symbol *b)
{
	struct bytes x = name_of(p, a), y = name_of(p, b);

	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (underscores(x) != underscores(y))
		return underscores(x) < underscores(y);
	if (x.len != y.len)
		return x.len < y.len;
	return memcmp(x.data, y.data, x.len) < 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* In order of address, one an address, one end after code and none after an end. */
static void settle(struct parser *p)
{
	struct symbol *all = p->symbols.data;
	size_t n = p->symbols.len, kept = 0;

	if (!p->is_sorted)
		qsort(all, n, sizeof(*all), by_addr);
	for (size_t i = 0; i < n; i++) {
		struct symbol best = all[i];

		for (; i + 1 < n && all[i + 1].addr == best.addr; i++)
			if (is_better(p, &all[i + 1], &best))
				best = all[i + 1];
		if (best.rank == RANK_END && (kept == 0 || all[kept - 1].rank == RANK_END))
			continue;
		all[kept++] = best;
	}
	p->symbols.len = kept;
}

/* ---- packing -------------------------------------------------------------------------------- */

static bool is_pair(struct bytes before, struct bytes name)
{
	struct cursor c = cursor_init(before.data, before.len);
	struct bytes prefix = cursor_bytes(&c, PREFIX_LEN), rest = line_rest(&c);

	return !c.bad && memcmp(prefix.data, PREFIX, PREFIX_LEN) == 0 && rest.len == name.len &&
		memcmp(rest.data, name.data, name.len) == 0;
}

static int put_name(struct parser *p, const struct symbol *s, bool starts_chunk)
{
	struct buf *names = &p->sym->names;
	struct bytes name = name_of(p, s), before = p->previous;
	int err;

	if (s->rank == RANK_END)
		name.len = 0;
	p->previous = name;
	if (!starts_chunk && name.len > 0 && is_pair(before, name))
		return buf_putc(names, AS_BEFORE);
	err = buf_put(names, name.data, name.len);
	return err < 0 ? err : buf_putc(names, '\0');
}

static int start_chunk(struct kernel_sym *sym, uint64_t base)
{
	struct chunk *chunk = vec_add(&sym->chunks);

	if (!chunk)
		return -ENOMEM;
	*chunk = (struct chunk){ .base = base,
		.first = (uint32_t)sym->distances.len,
		.name = (uint32_t)sym->names.len };
	return 0;
}

static int start_run(struct kernel_sym *sym, uint32_t module)
{
	struct run *run;

	if (sym->runs.len > 0 && sym->runs.data[sym->runs.len - 1].module == module)
		return 0;
	run = vec_add(&sym->runs);
	if (!run)
		return -ENOMEM;
	*run = (struct run){ .first = (uint32_t)sym->distances.len, .module = module };
	return 0;
}

static int pack_symbol(struct parser *p, const struct symbol *s)
{
	struct kernel_sym *sym = p->sym;
	const struct chunk *last = sym->chunks.data ? &sym->chunks.data[sym->chunks.len - 1] : NULL;
	bool starts = !last || sym->distances.len - last->first >= CHUNK_LEN ||
		s->addr - last->base > UINT16_MAX;
	uint16_t *distance;
	int err = starts ? start_chunk(sym, s->addr) : 0;

	if (err == 0)
		err = start_run(sym, s->module);
	if (err == 0)
		err = put_name(p, s, starts);
	distance = err == 0 ? vec_add(&sym->distances) : NULL;
	if (!distance)
		return -ENOMEM;
	*distance = (uint16_t)(s->addr - sym->chunks.data[sym->chunks.len - 1].base);
	sym->stats.symbols += s->rank != RANK_END;
	return 0;
}

/* Gives back what the doubling took too much of, where realloc() lets it. */
static void trim(struct kernel_sym *sym)
{
	void *names = realloc(sym->names.data, sym->names.len + 1);
	void *distances = reallocarray(sym->distances.data, sym->distances.len, sizeof(uint16_t));

	if (names) {
		sym->names.data = names;
		sym->names.cap = sym->names.len + 1;
	}
	if (distances) {
		sym->distances.data = distances;
		sym->distances.cap = sym->distances.len;
	}
	sym->stats.memory_bytes = sizeof(*sym) + sym->names.cap +
		sym->distances.cap * sizeof(uint16_t) + sym->chunks.cap * sizeof(struct chunk) +
		sym->runs.cap * sizeof(struct run) + strtab_memory(&sym->modules);
}

static int build(struct parser *p)
{
	int err = parse_lines(p);

	if (err < 0)
		return err;
	settle(p);
	if (p->symbols.len == 0)
		return KERNEL_SYM_EMPTY;
	if (p->addr_max == 0)
		return KERNEL_SYM_HIDDEN;
	for (size_t i = 0; err == 0 && i < p->symbols.len; i++)
		err = pack_symbol(p, &p->symbols.data[i]);
	return err;
}

/* ---- public --------------------------------------------------------------------------------- */

int kernel_sym_parse(const void *text, size_t len, struct kernel_sym **out)
{
	_cleanup_(kernel_sym_freep) struct kernel_sym *sym = calloc(1, sizeof(*sym));
	struct parser p = {
		.text = { text, len < UINT32_MAX ? len : UINT32_MAX }, .sym = sym, .is_sorted = true
	};
	int result;

	if (!sym || strtab_init(&sym->modules) < 0)
		return -ENOMEM;
	result = build(&p);
	vec_done(&p.symbols);
	if (result != KERNEL_SYM_OK)
		return result;
	trim(sym);
	*out = TAKE_PTR(sym);
	return KERNEL_SYM_OK;
}

void kernel_sym_free(struct kernel_sym *sym)
{
	if (!sym)
		return;
	vec_done(&sym->chunks);
	vec_done(&sym->distances);
	vec_done(&sym->runs);
	buf_done(&sym->names);
	strtab_done(&sym->modules);
	free(sym);
}

/* The last symbol of a chunk that begins at or before an address, which is not before the chunk. */
static size_t index_in(const struct kernel_sym *sym, size_t at, uint64_t addr)
{
	const struct chunk *chunk = &sym->chunks.data[at];
	size_t end = at + 1 < sym->chunks.len ? chunk[1].first : sym->distances.len;
	size_t index = chunk->first;

	while (index + 1 < end && chunk->base + sym->distances.data[index + 1] <= addr)
		index++;
	return index;
}

static const char *name_at(const struct kernel_sym *sym, const struct chunk *chunk, size_t index)
{
	const char *names = sym->names.data;
	size_t at = chunk->name, name = at;

	for (size_t i = chunk->first; i <= index; i++) {
		if (names[at] == AS_BEFORE) {
			name += PREFIX_LEN;
			at++;
		} else {
			name = at;
			at += strlen(names + at) + 1;
		}
	}
	return names + name;
}

static uint32_t module_at(const struct kernel_sym *sym, size_t index)
{
	size_t low = 0, high = sym->runs.len;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sym->runs.data[middle].first <= index)
			low = middle;
		else
			high = middle;
	}
	return sym->runs.data[low].module;
}

/* The chunk whose first symbol is the last at or before the address, or false. */
static bool find_chunk(const struct kernel_sym *sym, uint64_t addr, size_t *out)
{
	size_t low = 0, high = sym->chunks.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sym->chunks.data[middle].base <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		*out = low - 1;
	return low > 0;
}

bool kernel_sym_find(const struct kernel_sym *sym, uint64_t addr, struct kernel_name *out)
{
	const struct chunk *chunk;
	size_t at, index;
	const char *name;
	uint64_t start;

	if (!find_chunk(sym, addr, &at))
		return false;
	chunk = &sym->chunks.data[at];
	index = index_in(sym, at, addr);
	start = chunk->base + sym->distances.data[index];
	name = name_at(sym, chunk, index);
	if (name[0] == '\0' || addr - start >= KERNEL_SYM_REACH_MAX)
		return false;
	*out = (struct kernel_name){ .name = name,
		.module = strtab_get(&sym->modules, module_at(sym, index)),
		.start = start };
	return true;
}

void kernel_sym_stats(const struct kernel_sym *sym, struct kernel_sym_stats *out)
{
	*out = sym->stats;
}
