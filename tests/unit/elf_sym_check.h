/* SPDX-License-Identifier: Apache-2.0 */
/* elf_sym_check.h - loads the symbols of a made file, in all ways, and looks them up. Include it
 * after unit.h. */
#pragma once

#include <stdlib.h>

#include "base/own.h"
#include "make_elf_symbols.h"
#include "sym/elf_sym.h"

#define FUNC(bind) ELF64_ST_INFO(STB_##bind, STT_FUNC)
#define NOTYPE(bind) ELF64_ST_INFO(STB_##bind, STT_NOTYPE)
#define TEXT MAKE_ELF_TEXT_INDEX

struct symbol {
	const char *name;
	unsigned char info;
	Elf64_Section section;
	Elf64_Addr at;
	Elf64_Xword size;
};

static inline void add_symbols(struct make_elf *m, const struct symbol *symbols)
{
	for (; symbols->name; symbols++)
		make_elf_symbol(m, symbols->name, symbols->info, symbols->section, symbols->at,
			symbols->size);
}

/* Picked in several steps and all at once, it says the same as when all is loaded. */
static inline void picks_alike(struct image *image, struct image *extra, const struct elf_sym *all)
{
	uint64_t step = image->file.len / 64 + 1, offsets[8];
	struct elf_sym *picked = NULL;

	for (uint64_t from = 0; from < image->file.len; from += 8 * step) {
		const struct elf_sym_query query = { .offsets = offsets,
			.len = ARRAY_SIZE(offsets),
			.before = rand() % 8 ? picked : NULL,
			.whole = rand() % 16 == 0 };
		struct elf_sym *next = NULL;
		struct elf_name a, b;

		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
			offsets[i] = from + i * step + (uint64_t)rand() % step;
		assert_int_equal(elf_sym_pick(image, extra, ELF_SYM_DEBUG_FILE, &query, &next), 0);
		elf_sym_free(picked);
		picked = next;
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
			assert_true(elf_sym_knows(picked, offsets[i]));
		for (uint64_t at = 0; at < image->file.len;
			at += 1 + (uint64_t)rand() % (step / 8 + 2)) {
			bool found = elf_sym_find(picked, at, &a);

			if (!elf_sym_knows(picked, at)) {
				assert_false(found);
				continue;
			}
			assert_int_equal(found, elf_sym_find(all, at, &b));
			if (!found) {
				a.start = b.start = 0;
				assert_int_equal(elf_sym_find_start(picked, at, &a.start),
					elf_sym_find_start(all, at, &b.start));
				assert_int_equal(a.start, b.start);
				continue;
			}
			if (strcmp(a.name, b.name) != 0 || a.start != b.start ||
				a.source != b.source)
				fail_msg("0x%lx: %s from 0x%lx, of all %s from 0x%lx", at, a.name,
					a.start, b.name, b.start);
		}
	}
	elf_sym_free(picked);
}

static inline struct elf_sym *load(struct make_elf *m, struct make_elf *extra)
{
	struct elf_sym *sym = NULL;
	struct image image, extra_image;
	struct why why;

	assert_int_equal(image_init(&image, m->file.data, m->file.len, &why), 0);
	if (extra)
		assert_int_equal(
			image_init(&extra_image, extra->file.data, extra->file.len, &why), 0);
	assert_int_equal(
		elf_sym_load(&image, extra ? &extra_image : NULL, ELF_SYM_DEBUG_FILE, &sym), 0);
	picks_alike(&image, extra ? &extra_image : NULL, sym);
	image_done(&image);
	if (extra)
		image_done(&extra_image);
	return sym;
}

/* at counts from the start of the text */
static inline const char *find(const struct elf_sym *sym, uint64_t at)
{
	struct elf_name name;

	return elf_sym_find(sym, MAKE_ELF_TEXT_OFFSET + at, &name) ? name.name : "-";
}
