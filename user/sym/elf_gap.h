/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_gap.h - divides a run of code of unknown functions, by its instructions alone.
 * The caller marks the known beginnings; elf_gap_read() notes where others may be; elf_gap_called()
 * adds targets of calls; elf_gap_divide() gives the functions. sym/elf_functions.h has the rules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "sym/elf_functions.h"

#define ELF_GAP_START 1 /* a mark: a function begins here */

struct elf_gap {
	struct bytes file; /* the caller's */
	uint16_t machine;
	uint32_t start, end; /* file offsets */
	uint8_t *marks;      /* a byte for each byte of the gap, zeroed by the caller */
};

void elf_gap_read(struct elf_gap *gap);
/* After elf_gap_read(): does an instruction begin here? */
bool elf_gap_has(const struct elf_gap *gap, uint32_t offset);
/* A call, or bytes that look like one, leads here: a beginning, unless it is padding or within an
 * instruction. */
void elf_gap_called(struct elf_gap *gap, uint32_t offset);
/* Call it last: it uses up the marks. -ENOMEM */
int elf_gap_divide(struct elf_gap *gap, struct elf_functions *out);
