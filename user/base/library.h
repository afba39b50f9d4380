/* SPDX-License-Identifier: Apache-2.0 */
/* base/library.h - loads shared libraries on demand, in the one process that needs each. A static
 * build (`make static`) loads none: libc cannot do it there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A symbol's name, and the offset of its pointer in the struct to fill. */
struct library_symbol {
	const char *name;
	size_t offset;
};

bool library_can_load(void);
/* -ENOSYS: this build cannot load libraries; why says that `thing` needs `library` and suggests
 * `instead`. Does not check whether the library is installed. */
int library_check(const char *thing, const char *library, const char *instead, struct why *why);
/* Loads the first existing of these files (NULL ends the list); it stays loaded. False: none
 * exists, or it lacks one of the symbols. */
bool library_load(
	const char *const *files, const struct library_symbol *symbols, size_t len, void *out);
