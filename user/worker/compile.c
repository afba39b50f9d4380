/* SPDX-License-Identifier: Apache-2.0 */
/* worker/compile.c - rows are written into the agent's memory, which it seals before it reads them.
 * Symbols stay in the worker. */
#include "worker/compile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "dotnet/pe.h"
#include "dwarf/debug_data.h"
#include "dwarf/debug_file.h"
#include "elf/exports.h"
#include "language/cpython.h"
#include "language/hotspot.h"
#include "unwind/rows_build.h"
#include "worker/sandbox.h"

DEFINE_CLEANUP(struct elf_sym, elf_sym_free)
DEFINE_CLEANUP(struct r2r, r2r_free)

/* ---- rows ----------------------------------------------------------------------------------- */

static enum worker_status write_rows(const struct unwind_rows *rows, int memory)
{
	if (rows->size > SANDBOX_FILE_BYTES_MAX)
		return WORKER_TOO_LARGE;
	return fd_write_all(memory, rows->bytes, rows->size) < 0 ? WORKER_MEMORY : WORKER_OK;
}

/* Names that only this runtime exports: Node with its V8, CoreCLR, HotSpot, CPython. */
static const struct {
	const char *exported;
	uint32_t contents;
} runtimes[] = {
	{ "node_module_register", WORKER_KEEPS_CHAIN },
	{ "coreclr_initialize", WORKER_KEEPS_CHAIN },
	{ "DotNetRuntimeInfo", WORKER_KEEPS_CHAIN },
	{ "gHotSpotVMStructs", WORKER_IS_HOTSPOT },
	{ "_PyRuntime", WORKER_IS_CPYTHON },
};

#define CALLS_PER_PASS 16 /* each may read much code */

static uint32_t find_runtime(struct image *image)
{
	struct symtab_entry entry;
	struct exports exports;
	uint32_t found = 0;

	if (!exports_init(&exports, image))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (exports_find(&exports, runtimes[i].exported, &entry))
			found |= runtimes[i].contents;
	return found;
}

static void identify(struct image *image, struct proto_rows *out)
{
	struct debug_file_query query;

	debug_file_query(image, "", &query);
	memcpy(out->build_id, query.build_id.bytes, query.build_id.len);
	out->build_id_len = (uint32_t)query.build_id.len;
	memcpy(out->debuglink, query.link.name, strlen(query.link.name));
	out->debuglink_crc = query.link.crc;
	if (image_section_by_type(image, SHT_SYMTAB))
		out->contents |= WORKER_HAS_SYMBOLS;
	if (image_section_find(image, ".debug_info"))
		out->contents |= WORKER_HAS_LINES;
	out->contents |= find_runtime(image);
	if ((out->contents & WORKER_IS_CPYTHON) && !cpython_find(image, &out->cpython))
		out->contents &= ~WORKER_IS_CPYTHON;
	if ((out->contents & WORKER_IS_HOTSPOT) && hotspot_find(image, &out->hotspot))
		out->contents |= WORKER_HAS_HEAPS;
}

/* A .NET assembly has names and no rows: its code keeps frame pointers. */
static bool is_assembly(int fd)
{
	_cleanup_(mapping_done) struct mapping mapping = MAPPING_INIT;
	struct why why;
	struct pe pe;

	return mapping_open(fd, &mapping) == WORKER_OK &&
		pe_init(&pe, mapping.data, mapping.len, &why) == 0;
}

static void forget(void *mapping)
{
	mapping_forget(mapping);
}

/* Until the file moves. */
static void forget_what_is_read(struct elf_file *file)
{
	file->image.passed = forget;
	file->image.passed_arg = &file->mapping;
}

/* Is the file as the kernel mapped it? The descriptor stands for the rest of its key. */
static bool is_unchanged(int fd, uint64_t written_ns)
{
	struct stat st;

	return written_ns == 0 ||
		(fstat(fd, &st) == 0 &&
			(uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec ==
				written_ns);
}

/* A runtime's file is compiled whole. A walk that waits for one of its pages goes on in user space,
 * where the code of its JIT and its language's frames cannot be read. */
static int build(struct image *image, const struct compile_pages *pages, uint32_t contents,
	struct unwind_rows **rows)
{
	uint32_t numbers[PROTO_PAGES_MAX];
	struct why why;

	if (pages->whole || (contents & (WORKER_RUNTIMES | WORKER_IS_CPYTHON)))
		return unwind_rows_build(image, rows, &why);
	if (pages->len == 0)
		return unwind_rows_begin(image, rows, &why);
	for (size_t i = 0; i < pages->len; i++)
		numbers[i] = (uint32_t)pages->numbers[i];
	return unwind_rows_build_pages(image, numbers, pages->len, rows, &why);
}

/* The CFI that was read for these rows. */
static uint64_t cfi_bytes(struct image *image, const struct unwind_rows *rows)
{
	const struct image_section *section = image_section_find(image, ".eh_frame");

	if (rows->view.head->kind != UNWIND_ROWS_TABLE)
		return rows->view.head->stats.fde_bytes;
	/* as much as there is, whatever is claimed */
	return section && section->size <= image->file.len ? section->size : 0;
}

enum worker_status compile_rows(
	int fd, const struct compile_pages *pages, int memory, struct proto_rows *out)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	_cleanup_(elf_file_close) struct elf_file file = ELF_FILE_INIT;
	struct proto_rows found = { 0 };
	enum worker_status status = elf_file_open(fd, &file);
	int err;

	if (status == WORKER_NOT_ELF && is_assembly(fd)) {
		out->rows_status = WORKER_NO_DATA;
		out->contents = WORKER_KEEPS_CHAIN;
		return WORKER_OK;
	}
	out->rows_status = status;
	if (status != WORKER_OK)
		return status;
	forget_what_is_read(&file);
	if (pages->len == 0)
		identify(&file.image, &found);
	err = build(&file.image, pages, found.contents, &rows);
	found.rows_status = err == -ESTALE ? WORKER_WRONG_INDEX : elf_file_status(err);
	if (found.rows_status == WORKER_OK)
		found.rows_status = write_rows(rows, memory);
	if (found.rows_status == WORKER_OK)
		found.eh_frame_bytes = cfi_bytes(&file.image, rows);
	/* Also after the build: what was written meanwhile may be in the rows. */
	if (mapping_torn(&file.mapping) || !is_unchanged(fd, pages->written_ns))
		return out->rows_status = WORKER_UNREADABLE;
	if (found.rows_status == WORKER_OK)
		found.rows_bytes = rows->size;
	*out = found;
	return WORKER_OK;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static enum worker_debug open_debug(
	const struct debug_file_query *query, uint16_t machine, int fd, struct elf_file *out)
{
	_cleanup_(elf_file_close) struct elf_file file = ELF_FILE_INIT;
	enum debug_reason reason;

	if (elf_file_open(fd, &file) != WORKER_OK)
		return WORKER_DEBUG_SEEN + DEBUG_DAMAGED;
	reason = debug_file_verify(query, machine, &file.image);
	if (mapping_torn(&file.mapping))
		reason = DEBUG_DAMAGED;
	if (reason != DEBUG_BELONGS)
		return WORKER_DEBUG_SEEN + reason;
	*out = file;
	file = (struct elf_file)ELF_FILE_INIT;
	return WORKER_DEBUG_USED;
}

static int load_sym(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	const struct compile_wants *wants, struct elf_sym **sym)
{
	const struct elf_sym_query query = { .offsets = wants->offsets,
		.len = wants->len,
		.before = wants->before,
		.whole = wants->whole };

	if (wants->lines)
		return elf_sym_load(mapped, extra, extra_source, sym);
	return elf_sym_pick(mapped, extra, extra_source, &query, sym);
}

/* The file's own .symtab that was stripped off and packed in; where it cannot be had the file has
 * .dynsym. */
static int load_with_debug_data(
	struct image *mapped, const struct compile_wants *wants, struct elf_sym **sym)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	_cleanup_(image_done) struct image image = { 0 };
	struct why why;
	int err = debug_data_load(mapped, &packed);

	if (err == 0)
		err = image_init(&image, packed.data, packed.len, &why);
	return load_sym(mapped, err == 0 ? &image : NULL, ELF_SYM_DEBUG_DATA, wants, sym);
}

static int load(struct elf_file *mapped, const int *debug_fds, size_t debug_fds_len,
	const struct compile_wants *wants, struct elf_file *debug, struct proto_symbols *out,
	struct elf_sym **sym)
{
	struct debug_file_query query;

	debug_file_query(&mapped->image, "", &query);
	for (size_t i = 0; i < debug_fds_len && debug->mapping.len == 0; i++)
		out->debug[i] =
			(uint8_t)open_debug(&query, mapped->image.machine, debug_fds[i], debug);
	if (debug->mapping.len == 0)
		return load_with_debug_data(&mapped->image, wants, sym);
	forget_what_is_read(debug);
	return load_sym(&mapped->image, &debug->image, ELF_SYM_DEBUG_FILE, wants, sym);
}

static void tell(const struct elf_sym *sym, struct proto_symbols *out)
{
	struct elf_sym_stats stats;

	elf_sym_stats(sym, &stats);
	out->symbols = stats.symbols;
	out->dropped = stats.dropped;
	out->tables_bad = stats.tables_bad;
	out->sources = stats.sources;
	out->bytes = stats.memory_bytes;
}

static void report_methods(const struct r2r *methods, struct proto_symbols *out)
{
	struct r2r_stats stats;

	r2r_stats(methods, &stats);
	out->symbols = stats.functions;
	out->dropped = stats.dropped;
	out->bytes = stats.memory_bytes;
}

static enum worker_status compile_methods(
	int fd, struct proto_symbols *out, struct symbols **symbols)
{
	_cleanup_(mapping_done) struct mapping mapping = MAPPING_INIT;
	_cleanup_(r2r_freep) struct r2r *made = NULL;
	uint64_t started = clock_ns(CLOCK_MONOTONIC);
	enum worker_status status = mapping_open(fd, &mapping);
	int err = status == WORKER_OK ? r2r_load(mapping.data, mapping.len, &made) : 0;

	if (mapping_torn(&mapping))
		return WORKER_UNREADABLE;
	/* -ENOENT: an assembly that is all to be compiled as it runs */
	if (status == WORKER_OK && err != -ENOENT)
		status = elf_file_status(err);
	if (status != WORKER_OK)
		return status;
	if (made)
		report_methods(made, out);
	if (symbols_new(NULL, TAKE_PTR(made), symbols) < 0)
		return WORKER_MEMORY;
	out->ns = clock_ns(CLOCK_MONOTONIC) - started;
	return WORKER_OK;
}

enum worker_status compile_symbols(int fd, const int *debug_fds, size_t debug_fds_len,
	const struct compile_wants *wants, struct proto_symbols *out, struct symbols **symbols)
{
	_cleanup_(elf_sym_freep) struct elf_sym *made = NULL;
	struct symbols *kept;
	_cleanup_(elf_file_close) struct elf_file mapped = ELF_FILE_INIT;
	_cleanup_(elf_file_close) struct elf_file debug = ELF_FILE_INIT;
	uint64_t started = clock_ns(CLOCK_MONOTONIC);
	enum worker_status status = elf_file_open(fd, &mapped);

	if (status == WORKER_NOT_ELF && is_unchanged(fd, wants->written_ns))
		return compile_methods(fd, out, symbols);
	if (status != WORKER_OK)
		return status;
	forget_what_is_read(&mapped);
	status =
		elf_file_status(load(&mapped, debug_fds, debug_fds_len, wants, &debug, out, &made));
	mapped.image.passed = debug.image.passed = NULL; /* files may move to *symbols */
	/* After the reading, as for rows: these would be the names of another program. */
	if (mapping_torn(&mapped.mapping) || mapping_torn(&debug.mapping) ||
		!is_unchanged(fd, wants->written_ns))
		return WORKER_UNREADABLE;
	if (status != WORKER_OK)
		return status;
	tell(made, out);
	if (symbols_new(TAKE_PTR(made), NULL, &kept) < 0)
		return WORKER_MEMORY;
	if (wants->lines)
		symbols_take_files(kept, &mapped, &debug);
	out->ns = clock_ns(CLOCK_MONOTONIC) - started;
	*symbols = kept;
	return WORKER_OK;
}

/* ---- calls ---------------------------------------------------------------------------------- */

enum worker_status compile_calls(
	int fd, const struct elf_call_query *queries, size_t len, struct elf_call *out)
{
	_cleanup_(elf_file_close) struct elf_file file = ELF_FILE_INIT;
	_cleanup_(elf_calls_done) struct elf_calls calls = { 0 };
	enum worker_status status = elf_file_open(fd, &file);
	int err;

	memset(out, 0, len * sizeof(*out));
	if (status != WORKER_OK)
		return status;
	forget_what_is_read(&file);
	err = elf_calls_init(&calls, &file.image);
	for (size_t i = 0; err == 0 && i < len; i++) {
		err = elf_calls_check(&calls, &queries[i], &out[i]);
		if ((i + 1) % CALLS_PER_PASS == 0)
			image_pass(&file.image);
	}
	if (mapping_torn(&file.mapping))
		status = WORKER_UNREADABLE;
	else
		status = elf_file_status(err);
	if (status != WORKER_OK)
		memset(out, 0, len * sizeof(*out));
	return status;
}
