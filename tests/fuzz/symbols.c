/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - an ELF file: headers, sections, symbols of all kinds, what leads to its debug file.
 */
#include <elf.h>

#include "fuzz.h"
#include "dwarf/blocks.h"
#include "dwarf/debug_data.h"
#include "dwarf/debug_file.h"
#include "elf/exports.h"
#include "sym/elf_sym.h"

DEFINE_CLEANUP(struct elf_sym, elf_sym_free)

/* Some of it picked says the same as all of it. */
static void pick(struct image *image, struct image *extra, const struct elf_sym *all)
{
	uint64_t size = image->file.len, offsets[4];
	struct elf_sym_query query = { offsets, 2, NULL, false };
	_cleanup_(elf_sym_freep) struct elf_sym *one = NULL;
	_cleanup_(elf_sym_freep) struct elf_sym *more = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		offsets[i] = size * (2 * i + 1) / 8;
	if (elf_sym_pick(image, extra, ELF_SYM_DEBUG_DATA, &query, &one) < 0)
		return;
	query = (struct elf_sym_query){ offsets + 2, 2, one, size % 8 == 0 };
	if (elf_sym_pick(image, extra, ELF_SYM_DEBUG_DATA, &query, &more) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		must(offsets[i] >= BLOCKS_BYTES_MAX || elf_sym_knows(more, offsets[i]));
	for (uint64_t at = 0; at < size; at += size / 512 + 1) {
		struct elf_name a, b;
		bool found = elf_sym_find(more, at, &a);

		must(found == (elf_sym_knows(more, at) && elf_sym_find(all, at, &b)));
		must(!found || (strcmp(a.name, b.name) == 0 && a.start == b.start));
		if (found || !elf_sym_knows(more, at))
			continue;
		found = elf_sym_find_start(more, at, &a.start);
		must(found == elf_sym_find_start(all, at, &b.start));
		must(!found || a.start == b.start);
	}
}

static void look_up(struct image *image, struct image *extra)
{
	_cleanup_(elf_sym_freep) struct elf_sym *sym = NULL;
	struct elf_name name;

	if (elf_sym_load(image, extra, ELF_SYM_DEBUG_DATA, &sym) < 0)
		return;
	for (uint64_t at = 0; at < image->file.len; at += image->file.len / 512 + 1) {
		if (elf_sym_find_start(sym, at, &name.start))
			must(name.start <= at + 1);
		if (!elf_sym_find(sym, at, &name))
			continue;
		must(name.start <= at + 1);
		touch_text(name.name);
	}
	pick(image, extra, sym);
}

static void load_packed(struct image *image)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	struct image inner;
	struct why why;

	if (debug_data_load(image, &packed) < 0 ||
		image_init(&inner, packed.data, packed.len, &why) < 0) {
		look_up(image, NULL);
		return;
	}
	look_up(image, &inner);
	image_done(&inner);
}

static void find_debug_file(struct image *image)
{
	struct debug_file_query query;
	char path[PATH_MAX];

	debug_file_query(image, "/usr/bin/x", &query);
	for (int place = 0; place < DEBUG_FILE_PLACES; place++)
		if (debug_file_candidate(&query, (enum debug_file_place)place, path) == 0)
			must(path[0] == '/' && !strstr(path, "/../"));
	debug_file_verify(&query, image->machine, image);
}

static void find_export(struct image *image)
{
	struct symtab_entry entry;
	struct exports exports;

	if (exports_init(&exports, image))
		must(!exports_find(&exports, "main", &entry) || entry.section != SHN_UNDEF);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image;
	struct why why;

	if (image_init(&image, data, size, &why) < 0)
		return 0;
	for (size_t i = 0; i < image_sections(&image) && i < 64; i++) {
		struct bytes bytes;

		if (image_section_bytes(&image, image_section_at(&image, i), &bytes) == 0)
			touch(bytes.data, bytes.len);
	}
	find_debug_file(&image);
	find_export(&image);
	load_packed(&image);
	image_done(&image);
	return 0;
}
