/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_tables.c - the files are read as a capture reads them, by a worker. */
#include "cmd/doctor_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "client/client.h"
#include "elf/build_id.h"
#include "language/cpython.h"

#define THING "language tables"
#define VERSIONS_MAX 256

int doctor_tables_load(
	struct doctor_tables *tables, const char *path, bool needs_worker, struct why *why)
{
	const struct worker_client_options options = { 0 };
	const char *folder = path ? path : LANGUAGE_FILES_PATH;
	int err = 0;

	*tables = (struct doctor_tables){ 0 };
	if (needs_worker || access(folder, F_OK) == 0)
		err = worker_client_open(&options, &tables->worker, why);
	if (err < 0)
		return err;
	err = language_files_load(&tables->files, path, tables->worker);
	return err < 0 ? why_set(why, err, "out of memory") : 0;
}

void doctor_tables_done(struct doctor_tables *tables)
{
	language_files_done(&tables->files);
	worker_client_free(tables->worker);
}

/* The versions that are built in follow each other. */
static void report_built_in(
	const struct doctor_tables *tables, doctor_tables_fn fn, void *ctx)
{
	const struct language_files *files = &tables->files;
	uint32_t first = 0, last;
	char text[512];

	while (first < VERSIONS_MAX && !cpython_is_built_in(first))
		first++;
	for (last = first; cpython_is_built_in(last + 1); last++)
		;
	snprintf(text, sizeof(text),
		"built in for CPython 3.%u to 3.%u; HotSpot describes itself; %zu file(s) of "
		"%.200s are used",
		first, last, files->used, files->path[0] ? files->path : "no folder");
	fn(ctx, "ok", THING, text);
}

static void report_file(const struct language_file *file, doctor_tables_fn fn, void *ctx)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const struct cpython_table *table = &file->table;
	struct build_id id = { .len = table->build_id_len };
	char hex[BUILD_ID_HEX_SIZE];

	utf8_put_clean(&text, file->name);
	if (!file->used) {
		buf_printf(&text, " is not used: %s", file->why);
		fn(ctx, "less", THING, text.data ? text.data : "?");
		return;
	}
	buf_printf(&text, " is used for CPython 3.%u%s", table->version,
		table->free_threaded ? " without the global lock" : "");
	if (table->release)
		buf_printf(&text, ", its release %08x alone", table->release);
	memcpy(id.bytes, table->build_id, table->build_id_len);
	build_id_hex(&id, hex);
	if (id.len > 0)
		buf_printf(&text, ", build ID %s alone", hex);
	fn(ctx, "ok", THING, text.data ? text.data : "?");
}

void doctor_tables_report(const struct doctor_tables *tables, doctor_tables_fn fn, void *ctx)
{
	const struct language_files *files = &tables->files;
	char text[128];

	report_built_in(tables, fn, ctx);
	if (files->fault.text[0])
		fn(ctx, "less", THING, files->fault.text);
	vec_each (&files->all, file)
		report_file(file, fn, ctx);
	snprintf(text, sizeof(text), "%zu further file(s) are not used: %d are read at most",
		files->left_out, LANGUAGE_FILES_MAX);
	if (files->left_out > 0)
		fn(ctx, "less", THING, text);
}
