/* SPDX-License-Identifier: Apache-2.0 */
/* base/library.c - the only place that loads code at run time. */
#include "base/library.h"

#include <dlfcn.h>

bool library_load(
	const char *const *files, const struct library_symbol *symbols, size_t len, void *out)
{
	void *library = NULL;

	for (; *files && !library; files++)
		library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!dlsym(library, symbols[i].name))
			return false;
	for (size_t i = 0; i < len; i++)
		*(void **)((char *)out + symbols[i].offset) = dlsym(library, symbols[i].name);
	return true;
}
