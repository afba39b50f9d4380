/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_program.h - runs the call frame instructions of one function.
 * DWARF 5 §6.4.2, with the GNU and AArch64 extensions that compilers emit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/cfi_pointer.h"
#include "elf/cfi_rule.h"

/* How deep DW_CFA_remember_state may nest; compilers go to two or three. */
#define CFI_STATES_MAX 32

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra; /* column of the return address */
	uint8_t pointer_encoding;
	bool augmented; /* 'z': FDEs have augmentation data after its length */
	bool signal_frame;
	struct cfi_state initial;
};

/* Valid from this many bytes after the function's start up to the next row. */
struct cfi_row {
	uint32_t delta;
	struct unwind_rule rule;
};

/* Reused from function to function, to save allocations. */
struct cfi_machine {
	const struct cfi_arch *arch;
	VEC(struct cfi_row) rows; /* of the latest function */
	struct cfi_state saved[CFI_STATES_MAX];
	uint32_t lost[CFI_LOST_MAX]; /* of all functions */
};

void cfi_machine_done(struct cfi_machine *m);

/* Runs a CIE's program on an empty row and stores the result in cie->initial. -EBADMSG. */
int cfi_machine_run_cie(struct cfi_machine *m, struct cfi_cie *cie, struct cursor program);

/* Runs an FDE's program. The first row has delta 0, deltas rise, neighbours differ, and all are
 * below size, which is not 0. -EBADMSG: malformed (m->rows is then meaningless); -ENOMEM. */
int cfi_machine_run_fde(struct cfi_machine *m, const struct cfi_cie *cie, struct cursor program,
	const struct cfi_bases *bases, uint64_t start, uint32_t size);
