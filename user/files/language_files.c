/* SPDX-License-Identifier: Apache-2.0 */
/* files/language_files.c - a file here chooses addresses that BPF reads in processes of others, so
 * none but root may have put it there. It is not read here, and what a worker makes of it is
 * checked again. It adds to what is built in, and replaces nothing. */
#include "files/language_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/codes.h"
#include "output/folder.h"

#define FILE_WAIT_NS (2 * NSEC_PER_SEC)

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* ---- one file -------------------------------------------------------------------------------- */

/* NULL, or why it is none that root has put there. */
static const char *open_fault(int dir, const char *name, int *out)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? "it is a symbolic link" : err_text(errno);
	if (fstat(fd, &st) < 0)
		return err_text(errno);
	if (!S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_uid != 0)
		return "it is not root's: give it to root by chown";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "others than root can write to it: take that from them by chmod go-w";
	if (st.st_size > CPYTHON_TABLE_BYTES_MAX)
		return cpython_table_text(CPYTHON_TABLE_TEXT);
	*out = TAKE_FD(fd);
	return NULL;
}

static bool is_same_use(const struct cpython_table *a, const struct cpython_table *b)
{
	return a->version == b->version && a->release == b->release &&
		a->free_threaded == b->free_threaded && a->build_id_len == b->build_id_len &&
		memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

/* The table is well formed: may it be used? Fills in why not. */
static bool may_use(const struct language_files *files, struct language_file *file)
{
	const struct cpython_table *table = &file->table;

	if (cpython_is_built_in(table->version)) {
		snprintf(file->why, sizeof(file->why),
			"CPython 3.%u has a built-in table, which no file replaces",
			table->version);
		return false;
	}
	vec_each (&files->all, other)
		if (other->used && is_same_use(&other->table, table)) {
			snprintf(file->why, sizeof(file->why), "%.64s is for the same builds",
				other->name);
			return false;
		}
	return true;
}

static bool is_parsed(int fd, uint64_t number, struct worker_client *worker,
	struct language_file *file)
{
	struct cpython_table *table = &file->table;
	const struct worker_table query = { .id = number,
		.fd = fd,
		.until_ns = clock_ns(CLOCK_MONOTONIC) + FILE_WAIT_NS };
	enum worker_status status = worker_client_language(worker, &query, table);

	if (status != WORKER_OK)
		snprintf(file->why, sizeof(file->why), "%s", worker_status_text(status));
	else if (table->fault != CPYTHON_TABLE_OK && table->line > 0)
		snprintf(file->why, sizeof(file->why), "line %u: %s", table->line,
			cpython_table_text((enum cpython_table_fault)table->fault));
	else if (table->fault != CPYTHON_TABLE_OK)
		snprintf(file->why, sizeof(file->why), "%s",
			cpython_table_text((enum cpython_table_fault)table->fault));
	return status == WORKER_OK && table->fault == CPYTHON_TABLE_OK;
}

static void read_file(struct language_files *files, int dir, uint64_t number,
	struct worker_client *worker, struct language_file *file)
{
	size_t len = strlen(file->name), ending = strlen(LANGUAGE_FILES_ENDING);
	_cleanup_fd_ int fd = -1;
	const char *fault;

	if (len < ending || strcmp(file->name + len - ending, LANGUAGE_FILES_ENDING) != 0) {
		snprintf(file->why, sizeof(file->why),
			"its name does not end in " LANGUAGE_FILES_ENDING);
		return;
	}
	fault = open_fault(dir, file->name, &fd);
	if (fault)
		snprintf(file->why, sizeof(file->why), "%s", fault);
	else
		file->used = is_parsed(fd, number, worker, file) && may_use(files, file);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	const struct language_file *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* Hidden names are those of editors and package managers. */
static int list(int dir, struct language_files *files)
{
	_cleanup_(close_dir) DIR *entries = NULL;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	if (fd < 0)
		return why_set(&files->fault, 0, "cannot list %.200s: %s", files->path,
			err_text(errno));
	entries = fdopendir(fd);
	if (!entries) {
		fd_close(&fd);
		return -ENOMEM;
	}
	while ((entry = readdir(entries))) {
		struct language_file *slot;

		if (entry->d_name[0] == '.')
			continue;
		if (files->all.len == LANGUAGE_FILES_SEEN_MAX) {
			files->left_out++;
			continue;
		}
		slot = vec_add(&files->all);
		if (!slot)
			return -ENOMEM;
		*slot = (struct language_file){ .name = strdup(entry->d_name) };
		if (!slot->name)
			return -ENOMEM;
	}
	if (files->all.len > 1)
		qsort(files->all.data, files->all.len, sizeof(*files->all.data), by_name);
	return 0;
}

static void leave_out(struct language_files *files)
{
	while (files->all.len > LANGUAGE_FILES_MAX) {
		free(files->all.data[--files->all.len].name);
		files->left_out++;
	}
}

/* False: there is nothing to list, and `fault` says why if somebody should know. */
static bool open_folder(struct language_files *files, bool is_default, int *dir)
{
	int err = folder_open_roots(files->path, dir, &files->fault);

	if (err == FOLDER_OPEN)
		return true;
	if (err < 0 && !(err == -ENOENT && is_default))
		why_set(&files->fault, err,
			"no tables of language runtimes are read: cannot open %.200s: %s",
			files->path, err_text(err));
	return false;
}

int language_files_load(
	struct language_files *out, const char *path, struct worker_client *worker)
{
	_as_user_ uint64_t rights = caps_pause(); /* the caller may have named the path */
	_cleanup_fd_ int dir = -1;
	int err;

	*out = (struct language_files){ .path = path ? path : LANGUAGE_FILES_PATH };
	if (!out->path[0] || !open_folder(out, strcmp(out->path, LANGUAGE_FILES_PATH) == 0, &dir))
		return 0;
	err = list(dir, out);
	if (err < 0)
		return err;
	leave_out(out);
	for (size_t i = 0; i < out->all.len; i++) {
		read_file(out, dir, i, worker, &out->all.data[i]);
		out->used += out->all.data[i].used;
	}
	out->refused = out->all.len - out->used + out->left_out;
	return 0;
}

void language_files_done(struct language_files *files)
{
	vec_each (&files->all, file)
		free(file->name);
	vec_done(&files->all);
}

/* One for this very build goes before one for its release, and that before one for its version. */
static int closeness(const struct cpython_table *table)
{
	return (table->build_id_len > 0) * 2 + (table->release > 0);
}

const struct language_file *language_files_find(const struct language_files *files,
	const struct cpython_facts *facts, const struct build_id *id)
{
	const struct language_file *best = NULL;

	if (cpython_is_built_in(facts->version))
		return NULL;
	vec_each (&files->all, file)
		if (file->used && cpython_table_fits(&file->table, facts, id) &&
			(!best || closeness(&file->table) > closeness(&best->table)))
			best = file;
	return best;
}
