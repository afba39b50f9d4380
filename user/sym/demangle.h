/* SPDX-License-Identifier: Apache-2.0 */
/* sym/demangle.h - names as their authors wrote them: C++ with parameters (Itanium ABI), Rust (v0,
 * and legacy without its hash) and D. Names of other languages are not touched. Mangled names are
 * hostile: a short one can stand for an endless one, so both sides are bounded. */
#pragma once

#define DEMANGLE_IN_MAX 1024   /* longer names stay as they are: libiberty's C++ limit too */
#define DEMANGLE_OUT_MAX 16384 /* and so do those that would become longer than this */

/* The demangled name, which the caller frees; NULL: it is not mangled, or not to be demangled (or
 * memory is out), so use it as it is. A trailing "@plt" stays where it is. */
char *demangle(const char *name);
