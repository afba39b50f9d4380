/* SPDX-License-Identifier: Apache-2.0 */
/* worker/compile.c - rows leave in a memfd that is sealed: the agent would not look at one that
 * could still change under it. Symbols stay. */
#include "worker/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "sym/debug_data.h"
#include "sym/debug_file.h"
#include "unwind/rows.h"
#include "worker/mapping.h"
#include "worker/sandbox.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

DEFINE_CLEANUP(struct elf_sym, elf_sym_free)

static enum worker_status status_of(int err)
{
	switch (err) {
	case 0:
		return WORKER_OK;
	case -ENOEXEC:
		return WORKER_NOT_ELF;
	case -ENODATA:
		return WORKER_NO_DATA;
	case -ENOTSUP:
		return WORKER_MACHINE;
	case -EFBIG:
		return WORKER_TOO_LARGE;
	case -ENOMEM:
		return WORKER_MEMORY;
	default:
		return WORKER_DAMAGED;
	}
}

/* A descriptor's image, for as long as the mapping. */
struct file {
	struct mapping mapping;
	struct image image;
};

static void file_close(struct file *file)
{
	image_done(&file->image);
	mapping_done(&file->mapping);
}

static enum worker_status file_open(int fd, struct file *out)
{
	struct file file = { .mapping = MAPPING_INIT };
	struct why why;
	enum worker_status status = mapping_open(fd, &file.mapping);

	if (status == WORKER_OK)
		status = status_of(
			image_init(&file.image, file.mapping.data, file.mapping.len, &why));
	if (status == WORKER_OK)
		*out = file;
	else
		mapping_done(&file.mapping);
	return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int make_memfd(void)
{
	int fd = memfd_create("rows", MFD_CLOEXEC | MFD_NOEXEC_SEAL | MFD_ALLOW_SEALING);

	/* Kernels before 6.3. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static enum worker_status write_rows(const struct unwind_rows *rows, int *rows_fd)
{
	_cleanup_fd_ int fd = -1;

	if (rows->size > SANDBOX_FILE_BYTES_MAX)
		return WORKER_TOO_LARGE;
	fd = make_memfd();
	if (fd < 0 || fd_write_all(fd, rows->bytes, rows->size) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) <
			0)
		return WORKER_MEMORY;
	*rows_fd = TAKE_FD(fd);
	return WORKER_OK;
}

static void identify(struct image *image, struct proto_rows *out)
{
	const struct image_section *eh_frame = image_section_find(image, ".eh_frame");
	struct debug_file_query query;

	debug_file_query(image, "", &query);
	memcpy(out->build_id, query.build_id.bytes, query.build_id.len);
	out->build_id_len = (uint32_t)query.build_id.len;
	memcpy(out->debuglink, query.link.name, strlen(query.link.name));
	out->debuglink_crc = query.link.crc;
	out->eh_frame_bytes = eh_frame ? eh_frame->size : 0;
}

enum worker_status compile_rows(int fd, struct proto_rows *out, int *rows_fd)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	_cleanup_(file_close) struct file file = { .mapping = MAPPING_INIT };
	_cleanup_fd_ int made = -1;
	struct proto_rows found = { 0 };
	uint64_t started = clock_ns(CLOCK_MONOTONIC);
	enum worker_status status = file_open(fd, &file);
	struct why why;

	out->rows_status = status;
	if (status != WORKER_OK)
		return status;
	identify(&file.image, &found);
	found.rows_status = status_of(unwind_rows_build(&file.image, &rows, &why));
	if (found.rows_status == WORKER_OK)
		found.rows_status = write_rows(rows, &made);
	if (mapping_torn(&file.mapping))
		return out->rows_status = WORKER_UNREADABLE;
	if (made >= 0)
		found.rows_bytes = rows->size;
	found.ns = clock_ns(CLOCK_MONOTONIC) - started;
	*out = found;
	*rows_fd = TAKE_FD(made);
	return WORKER_OK;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static enum worker_debug open_debug(
	const struct debug_file_query *query, uint16_t machine, int fd, struct file *out)
{
	_cleanup_(file_close) struct file file = { .mapping = MAPPING_INIT };
	struct why why;
	int match;

	if (file_open(fd, &file) != WORKER_OK)
		return WORKER_DEBUG_BAD;
	match = debug_file_verify(query, machine, &file.image, &why);
	if (mapping_torn(&file.mapping))
		return WORKER_DEBUG_BAD;
	if (match != DEBUG_FILE_MATCHES)
		return WORKER_DEBUG_OTHER;
	*out = file;
	file = (struct file){ .mapping = MAPPING_INIT };
	return WORKER_DEBUG_USED;
}

/* The file's own .symtab that was stripped off and packed in; where it cannot be had the file has
 * .dynsym. */
static int load_with_debug_data(struct image *mapped, struct elf_sym **sym)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	_cleanup_(image_done) struct image image = { 0 };
	struct why why;
	int err = debug_data_load(mapped, &packed);

	if (err == 0)
		err = image_init(&image, packed.data, packed.len, &why);
	return elf_sym_load(mapped, err == 0 ? &image : NULL, ELF_SYM_DEBUG_DATA, sym);
}

static int load(struct file *mapped, const int *debug_fds, size_t debug_fds_len, struct file *debug,
	struct proto_symbols *out, struct elf_sym **sym)
{
	struct debug_file_query query;

	debug_file_query(&mapped->image, "", &query);
	for (size_t i = 0; i < debug_fds_len && debug->mapping.len == 0; i++)
		out->debug[i] =
			(uint8_t)open_debug(&query, mapped->image.machine, debug_fds[i], debug);
	if (debug->mapping.len == 0)
		return load_with_debug_data(&mapped->image, sym);
	return elf_sym_load(&mapped->image, &debug->image, ELF_SYM_DEBUG_FILE, sym);
}

static void tell(const struct elf_sym *sym, struct proto_symbols *out)
{
	struct elf_sym_stats stats;

	elf_sym_stats(sym, &stats);
	out->symbols = stats.symbols;
	out->dropped = stats.dropped;
	out->tables_bad = stats.tables_bad;
	out->bytes = stats.memory_bytes;
}

enum worker_status compile_symbols(int fd, const int *debug_fds, size_t debug_fds_len,
	struct proto_symbols *out, struct elf_sym **sym)
{
	_cleanup_(elf_sym_freep) struct elf_sym *made = NULL;
	_cleanup_(file_close) struct file mapped = { .mapping = MAPPING_INIT };
	_cleanup_(file_close) struct file debug = { .mapping = MAPPING_INIT };
	uint64_t started = clock_ns(CLOCK_MONOTONIC);
	enum worker_status status = file_open(fd, &mapped);

	if (status != WORKER_OK)
		return status;
	status = status_of(load(&mapped, debug_fds, debug_fds_len, &debug, out, &made));
	if (mapping_torn(&mapped.mapping) || mapping_torn(&debug.mapping))
		return WORKER_UNREADABLE;
	if (status != WORKER_OK)
		return status;
	tell(made, out);
	out->ns = clock_ns(CLOCK_MONOTONIC) - started;
	*sym = TAKE_PTR(made);
	return WORKER_OK;
}
