/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_pointer.h - encoded pointers of .eh_frame and .eh_frame_hdr.
 * Linux Standard Base Core 5.0 §10.5 (DWARF exception header encoding). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* The bases of relative pointers. */
struct cfi_bases {
	uint64_t section; /* address of the first byte that the cursor reads */
	uint64_t data;    /* base of DW_EH_PE_datarel */
	bool data_known;
};

/* Can cfi_pointer_read read this encoding? It cannot read pointers relative to text or function,
 * nor indirect ones, which need a process's memory. */
bool cfi_pointer_readable(uint8_t encoding, const struct cfi_bases *bases);

/* Reads one pointer. An unreadable encoding, or too few bytes, makes the cursor bad. */
uint64_t cfi_pointer_read(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases);

/* Skips a pointer of any encoding. */
void cfi_pointer_skip(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases);
