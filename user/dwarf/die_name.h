/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/die_name.h - what a function is called: DWARF 5 §3.3.1, §3.3.8.2, §5.7.8.
 * The linkage name where the function, what it is an instance of or what it was declared as has
 * one; it is left mangled. Else its name behind those of the namespaces and types around it. */
#pragma once

#include "base/buf.h"
#include "dwarf/dwarf_units.h"

#define DIE_NAME_MAX 4096 /* a longer one is cut */

/* Appends the name of the function whose DIE is at an offset of a file's .debug_info; nothing when
 * it has none. -EBADMSG: what it refers to is damaged; -ENOMEM; -ETIME. */
int die_name(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t die,
	struct dwarf_work *work, struct buf *out);
