/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_tables.h - reports which tables of language runtimes there are: a line for what is
 * built in, and one for each file. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "files/language_files.h"

struct worker_client;

struct doctor_tables {
	struct worker_client *worker; /* NULL: not needed so far */
	struct language_files files;
};

/* path NULL: the default. Starts a worker if there is a folder, or if it is needed anyway. */
int doctor_tables_load(
	struct doctor_tables *tables, const char *path, bool needs_worker, struct why *why);
void doctor_tables_done(struct doctor_tables *tables);
/* verdict: "ok", "less". */
typedef void (*doctor_tables_fn)(
	void *ctx, const char *verdict, const char *thing, const char *text);
void doctor_tables_report(const struct doctor_tables *tables, doctor_tables_fn fn, void *ctx);
