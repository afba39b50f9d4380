/* SPDX-License-Identifier: Apache-2.0 */
/* worker/symbols.c - files stay mapped for lines, because each query reads other parts of them. A
 * file that was truncated has no lines from then on: results may be wrong. */
#include "worker/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"

#define OPENED_MAX 3 /* when it takes too long */

enum { MAPPED, DEBUG_FILE, FILES };

int symbols_new(struct elf_sym *sym, struct r2r *methods, struct symbols **out)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols) {
		elf_sym_free(sym);
		r2r_free(methods);
		return -ENOMEM;
	}
	symbols->sym = sym;
	symbols->methods = methods;
	*out = symbols;
	return 0;
}

static void drop_files(struct symbols *symbols)
{
	inlined_free(symbols->inlined);
	symbols->inlined = NULL;
	vec_each (&symbols->parts, part) {
		elf_file_close(*part);
		free(*part);
	}
	vec_done(&symbols->parts);
	for (int i = 0; symbols->files && i < FILES; i++)
		elf_file_close(&symbols->files[i]);
	free(symbols->files);
	symbols->files = NULL;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	drop_files(symbols);
	elf_sym_free(symbols->sym);
	r2r_free(symbols->methods);
	free(symbols);
}

static bool has_dwarf(const struct elf_file *file)
{
	const struct image_section *info = image_section_find(&file->image, ".debug_info");

	return info && info->type != SHT_NOBITS && info->size > 0;
}

/* Rather the debug file's: what has one was stripped of its own. */
void symbols_take_files(struct symbols *symbols, struct elf_file *mapped, struct elf_file *debug)
{
	bool separate = has_dwarf(debug);

	if ((!separate && !has_dwarf(mapped)) || mapping_scarce())
		return;
	symbols->files = malloc(FILES * sizeof(*symbols->files));
	if (!symbols->files)
		return;
	symbols->dwarf = separate ? DEBUG_FILE : MAPPED;
	symbols->files[MAPPED] = *mapped;
	symbols->files[DEBUG_FILE] = *debug;
	*mapped = *debug = (struct elf_file)ELF_FILE_INIT;
}

bool symbols_know(const struct symbols *symbols, uint64_t file_offset)
{
	return !symbols->sym || elf_sym_knows(symbols->sym, file_offset);
}

bool symbols_find(const struct symbols *symbols, uint64_t file_offset, struct elf_name *out)
{
	struct elf_name found = { .source = ELF_SYM_R2R };

	if (symbols->sym && elf_sym_find(symbols->sym, file_offset, out))
		return true;
	if (symbols->sym) {
		found = (struct elf_name){ .name = "", .source = ELF_SYM_SYMTAB };
		if (!elf_sym_find_start(symbols->sym, file_offset, &found.start))
			return false;
		*out = found;
		return true;
	}
	if (!symbols->methods ||
		!r2r_find(symbols->methods, file_offset & ~ELF_SYM_CALLER, &found.name,
			&found.start))
		return false;
	*out = found;
	return true;
}

static bool is_late(void *ctx)
{
	const struct symbols *symbols = ctx;

	return clock_ns(CLOCK_MONOTONIC) >= symbols->until_ns;
}

static void open_inlined(struct symbols *symbols)
{
	struct inlined_input input = {
		.image = &symbols->files[symbols->dwarf].image,
		.asking = true,
		.memory_max = SYMBOLS_LINES_BYTES_MAX,
		.stop = is_late,
		.ctx = symbols,
	};

	int err = inlined_open(&input, &symbols->inlined);

	if (err < 0 && (err != -ETIME || ++symbols->opened == OPENED_MAX))
		drop_files(symbols);
}

static bool is_torn(const struct symbols *symbols)
{
	vec_each (&symbols->parts, part)
		if (mapping_torn(&(*part)->mapping))
			return true;
	return mapping_torn(&symbols->files[MAPPED].mapping) ||
		mapping_torn(&symbols->files[DEBUG_FILE].mapping);
}

enum inlined_result symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out)
{
	uint64_t vaddr;
	int result;

	if (symbols->files && !symbols->inlined)
		open_inlined(symbols);
	if (!symbols->inlined ||
		!image_offset_to_vaddr(&symbols->files[MAPPED].image,
			file_offset & ~ELF_SYM_CALLER, &vaddr))
		return INLINED_NONE;
	result = inlined_find(symbols->inlined, vaddr, out);
	if (is_torn(symbols)) {
		drop_files(symbols);
		return INLINED_NONE;
	}
	return result < 0 ? INLINED_NONE : (enum inlined_result)result;
}

const struct debug_part *symbols_wanted(const struct symbols *symbols)
{
	static const struct debug_part nothing = { .kind = DEBUG_PART_NONE };

	return symbols->inlined ? inlined_wanted(symbols->inlined) : &nothing;
}

/* Split units say themselves whose they are; of a shared file it is the build ID. */
static struct elf_file *open_part(const struct debug_part *wanted, int fd)
{
	struct elf_file *part = malloc(sizeof(*part));
	struct build_id id;

	if (!part)
		return NULL;
	*part = (struct elf_file)ELF_FILE_INIT;
	if (elf_file_open_part(fd, part) == WORKER_OK &&
		(wanted->kind != DEBUG_PART_ALT ||
			(build_id_find(&part->image, &id) == 0 &&
				build_id_equal(&id, &wanted->build_id))))
		return part;
	elf_file_close(part);
	free(part);
	return NULL;
}

void symbols_give(struct symbols *symbols, int fd)
{
	const struct debug_part *wanted = symbols_wanted(symbols);
	struct elf_file *part, **slot;

	if (wanted->kind == DEBUG_PART_NONE)
		return;
	part = fd >= 0 && !mapping_scarce() ? open_part(wanted, fd) : NULL;
	slot = part ? vec_add(&symbols->parts) : NULL;
	if (slot)
		*slot = part;
	if (inlined_give(symbols->inlined, slot ? &part->image : NULL) < 0) {
		drop_files(symbols);
	} else if (!slot && part) {
		elf_file_close(part);
		free(part);
	}
}

static void rest(const struct mapping *mapping)
{
	if (mapping->len > 0)
		madvise((void *)mapping->data, mapping->len, MADV_DONTNEED);
}

void symbols_release(struct symbols *symbols)
{
	vec_each (&symbols->parts, part)
		rest(&(*part)->mapping);
	for (int i = 0; symbols->files && i < FILES; i++)
		rest(&symbols->files[i].mapping);
}

size_t symbols_memory(const struct symbols *symbols)
{
	struct elf_sym_stats sym = { 0 };
	struct r2r_stats methods = { 0 };
	struct inlined_stats lines = { 0 };
	size_t bytes;

	if (symbols->sym)
		elf_sym_stats(symbols->sym, &sym);
	if (symbols->methods)
		r2r_stats(symbols->methods, &methods);
	bytes = sizeof(*symbols) + sym.memory_bytes + methods.memory_bytes;
	if (symbols->inlined)
		inlined_stats(symbols->inlined, &lines);
	for (int i = 0; symbols->files && i < FILES; i++)
		bytes += sizeof(*symbols->files) + symbols->files[i].image.inflated_bytes;
	vec_each (&symbols->parts, part)
		bytes += sizeof(**part) + (*part)->image.inflated_bytes;
	return bytes + lines.memory_bytes;
}
