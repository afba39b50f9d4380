/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r.h - the names of the methods that a .NET assembly carries compiled ("ReadyToRun"), by
 * file offset: code that is mapped from the assembly's file and so is in no perf map. Names are
 * `Namespace.Type::Method`, of generic code with the arguments that it was compiled for. A method's
 * exception handlers have its name. Images of several assemblies in one (composite) have none here.
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define R2R_FUNCTIONS_MAX (1U << 21)
#define R2R_NAMES_BYTES_MAX (1U << 26)

struct r2r_stats {
	size_t functions; /* with a name */
	size_t unnamed;   /* of other modules' generics, or senseless */
	size_t dropped;   /* over a limit */
	size_t memory_bytes;
};

struct r2r;

/* -ENOEXEC: no PE file; -ENOENT: one without compiled code of its own (plain IL, or a part of a
 * composite); -EBADMSG: tables that lead out of it; -ENOMEM. On success *out is the caller's and
 * needs the bytes no more. */
int r2r_load(const void *data, size_t len, struct r2r **out);
void r2r_free(struct r2r *r2r);

/* False: no method with a name covers the offset. The name is put together for the call and lives
 * until the next; start is the file offset where the function begins. */
bool r2r_find(struct r2r *r2r, uint64_t file_offset, const char **name, uint64_t *start);
void r2r_stats(const struct r2r *r2r, struct r2r_stats *out);
