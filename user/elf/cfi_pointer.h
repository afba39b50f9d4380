/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_pointer.h - encoded pointers of .eh_frame and .eh_frame_hdr.
 * Linux Standard Base Core 5.0 §10.5 (DWARF exception header encoding). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* Bases that a pointer may be relative to. */
struct cfi_bases {
	uint64_t section; /* address of the first byte of the bytes that the cursor reads */
	uint64_t data;    /* what DW_EH_PE_datarel counts from */
	bool data_known;
};

/* Is it an encoding that cfi_pointer_read reads? Text and function relative pointers, and ones that
 * must be fetched from the memory of a process, are not. */
bool cfi_pointer_readable(uint8_t encoding, const struct cfi_bases *bases);

/* One pointer. An encoding that is not readable, or too few bytes, makes the cursor bad. */
uint64_t cfi_pointer_read(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases);

/* Passes over a pointer of any encoding. */
void cfi_pointer_skip(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases);
