/* SPDX-License-Identifier: Apache-2.0 */
/* sym/demangle.c - picks the scheme by the prefix; libiberty does the work.
 * libiberty's own limit on recursion stays on, but it limits the depth of a name, not its length:
 * back references can double it at every level. Schemes with a callback are stopped from there by a
 * long jump (their state is on the stack). D has none, so its back references are limited. */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* theirs, spelled like ours */

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)
#define D_BACK_REFERENCES_MAX 20 /* at most 3^(20/3) times its length */

typedef int (*scheme_fn)(const char *name, int options, demangle_callbackref put, void *opaque);

struct output {
	jmp_buf too_long;
	size_t len;
	char text[DEMANGLE_OUT_MAX + 1];
};

static void put_text(const char *text, size_t len, void *opaque)
{
	struct output *out = opaque;

	if (len > DEMANGLE_OUT_MAX - out->len)
		longjmp(out->too_long, 1);
	if (len > 0)
		memcpy(out->text + out->len, text, len);
	out->len += len;
}

static bool run(scheme_fn scheme, const char *name, struct output *out)
{
	out->len = 0;
	if (setjmp(out->too_long) != 0)
		return false;
	if (!scheme(name, OPTIONS, put_text, out) || out->len == 0)
		return false;
	out->text[out->len] = '\0';
	return true;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Rust's legacy names are C++ names that end in a hash of their own: 17h, 16 digits, E. */
static bool may_be_rust(const char *name)
{
	return starts_with(name, "_R") || (starts_with(name, "_ZN") && strstr(name, "17h"));
}

static bool demangle_d(const char *name, struct output *out)
{
	_cleanup_(freep) char *text = NULL;
	unsigned int references = 0;

	for (const char *p = name; *p; p++)
		references += *p == 'Q';
	if (references > D_BACK_REFERENCES_MAX)
		return false;
	text = dlang_demangle(name, OPTIONS);
	if (!text || strlen(text) > DEMANGLE_OUT_MAX)
		return false;
	memcpy(out->text, text, strlen(text) + 1);
	return true;
}

static bool demangle_any(const char *name, struct output *out)
{
	if (may_be_rust(name) && run(rust_demangle_callback, name, out))
		return true;
	if (starts_with(name, "_Z") || starts_with(name, "_GLOBAL_"))
		return run(cplus_demangle_v3_callback, name, out);
	if (starts_with(name, "_D"))
		return demangle_d(name, out);
	return false;
}

char *demangle(const char *name)
{
	static const char stub[] = "@plt";
	char in[DEMANGLE_IN_MAX + 1];
	size_t len = strnlen(name, sizeof(in)), suffix = sizeof(stub) - 1;
	struct output out;
	char *text = NULL;

	if (name[0] != '_' || len > DEMANGLE_IN_MAX)
		return NULL;
	if (len < suffix || strcmp(name + len - suffix, stub) != 0)
		suffix = 0;
	memcpy(in, name, len - suffix);
	in[len - suffix] = '\0';
	if (!demangle_any(in, &out))
		return NULL;
	len = strlen(out.text);
	text = malloc(len + suffix + 1);
	if (text) {
		memcpy(text, out.text, len);
		memcpy(text + len, stub, suffix);
		text[len + suffix] = '\0';
	}
	return text;
}
