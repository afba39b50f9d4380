/* SPDX-License-Identifier: Apache-2.0 */
/* sym/demangle.h - names as their authors wrote them: C++ with parameters (Itanium ABI), Rust (v0,
 * and legacy without its hash) and D. Names of other languages are left alone. Mangled names are
 * untrusted: a short one may expand without end, so input and output are limited. */
#pragma once

#define DEMANGLE_IN_MAX 1024   /* longer names stay mangled: libiberty's C++ limit too */
#define DEMANGLE_OUT_MAX 16384 /* names with longer results stay mangled */

/* The demangled name, which the caller frees. NULL: not mangled, over a limit, or no memory; use
 * the name unchanged. A trailing "@plt" is kept. */
char *demangle(const char *name);
