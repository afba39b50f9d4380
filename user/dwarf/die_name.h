/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/die_name.h - the name of a function: DWARF 5 §3.3.1, §3.3.8.2, §5.7.8.
 * The linkage name, left mangled, of the function, its abstract instance or its declaration.
 * Without one: its name after the names of the enclosing namespaces and types. */
#pragma once

#include "base/buf.h"
#include "dwarf/dwarf_units.h"

#define DIE_NAME_MAX 4096 /* longer names are cut */

/* Appends the name of the function whose DIE is at an offset of a file's .debug_info; nothing if it
 * has none. -EBADMSG: the DIE refers to damaged data; -ENOMEM; -ETIME. */
int die_name(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t die,
	struct dwarf_work *work, struct buf *out);
