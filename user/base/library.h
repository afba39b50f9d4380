/* SPDX-License-Identifier: Apache-2.0 */
/* base/library.h - shared libraries that are loaded when they are needed, by the one process that
 * needs them. A static build (`make static`) loads none: libc cannot do it there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A symbol's name, and the offset of its pointer in the struct to fill. */
struct library_symbol {
	const char *name;
	size_t offset;
};

/* -ENOSYS: this build loads no libraries, and why says so of `thing`, which needs `library`, with
 * `instead` as what else to use. Does not look whether the library is there. */
int library_check(const char *thing, const char *library, const char *instead, struct why *why);
/* Loads the first of these files that is there (NULL ends the list); it stays loaded. False: none
 * is there, or it lacks one of the symbols. */
bool library_load(
	const char *const *files, const struct library_symbol *symbols, size_t len, void *out);
