/* SPDX-License-Identifier: Apache-2.0 */
/* files/language_files.h - tables of language runtimes that came after this program: files in a
 * folder of root's, which a worker parses. stoker-tables(5) has their format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "language/cpython_table.h"

#define LANGUAGE_FILES_PATH "/etc/stoker/tables.d"
#define LANGUAGE_FILES_ENDING ".table"
#define LANGUAGE_FILES_MAX 64 /* files in the folder; more of them, by name, are left out */
#define LANGUAGE_FILES_SEEN_MAX 1024 /* names of all kinds */

struct worker_client;

struct language_file {
	char *name;
	bool used;
	struct cpython_table table; /* if it is used */
	char why[160];              /* if not */
};

struct language_files {
	const char *path;
	VEC(struct language_file) all; /* by name */
	size_t used, refused;
	size_t left_out; /* too many, of which nothing is known */
	struct why fault; /* "": the folder was read, or the default folder does not exist */
};

/* path NULL: LANGUAGE_FILES_PATH; "": no folder. Waits for a worker. 0 or -ENOMEM: what is wrong
 * with the folder or a file is in *out. */
int language_files_load(
	struct language_files *out, const char *path, struct worker_client *worker);
void language_files_done(struct language_files *files);
/* The file whose table is for this runtime, which has no built-in one. NULL: none is. */
const struct language_file *language_files_find(const struct language_files *files,
	const struct cpython_facts *facts, const struct build_id *id);
