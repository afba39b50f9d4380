/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r.h - the names of a .NET assembly's precompiled methods ("ReadyToRun"), by file offset:
 * code mapped from the assembly's file is in no perf map. Names are `Namespace.Type::Method`;
 * generic code has the arguments that it was compiled for. Exception handlers have the name of
 * their method. Images of several assemblies in one (composite) are not supported.
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define R2R_FUNCTIONS_MAX (1U << 21)
#define R2R_NAMES_BYTES_MAX (1U << 26)

struct r2r_stats {
	size_t functions; /* with a name */
	size_t unnamed;   /* generics of other modules, or malformed */
	size_t dropped;   /* over a limit */
	size_t memory_bytes;
};

struct r2r;

/* -ENOEXEC: not a PE file; -ENOENT: no compiled code of its own (plain IL, or a part of a
 * composite); -EBADMSG: tables that point outside it; -ENOMEM. On success *out is the caller's and
 * no longer needs the bytes. */
int r2r_load(const void *data, size_t len, struct r2r **out);
void r2r_free(struct r2r *r2r);

/* False: no named method covers the offset. The name is built by the call and valid until the next;
 * start is the file offset of the function. */
bool r2r_find(struct r2r *r2r, uint64_t file_offset, const char **name, uint64_t *start);
void r2r_stats(const struct r2r *r2r, struct r2r_stats *out);
