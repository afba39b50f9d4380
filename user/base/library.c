/* SPDX-License-Identifier: Apache-2.0 */
/* base/library.c - the only place that loads code at run time, and the only file that a static
 * build compiles differently. */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>

#ifdef STOKER_STATIC
static const bool can_load = false;

static void *open_library(const char *file)
{
	(void)file;
	return NULL;
}

static void *find_symbol(void *library, const char *name)
{
	(void)library, (void)name;
	return NULL;
}
#else
static const bool can_load = true;

static void *open_library(const char *file)
{
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void *find_symbol(void *library, const char *name)
{
	return dlsym(library, name);
}
#endif

bool library_can_load(void)
{
	return can_load;
}

int library_check(const char *thing, const char *library, const char *instead, struct why *why)
{
	return can_load ? 0
			: why_set(why, -ENOSYS,
				  "%s: this static build has no %s; use the dynamic build or %s",
				  thing, library, instead);
}

bool library_load(
	const char *const *files, const struct library_symbol *symbols, size_t len, void *out)
{
	void *library = NULL;

	for (; *files && !library; files++)
		library = open_library(*files);
	if (!library)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!find_symbol(library, symbols[i].name))
			return false;
	for (size_t i = 0; i < len; i++)
		*(void **)((char *)out + symbols[i].offset) = find_symbol(library, symbols[i].name);
	return true;
}
