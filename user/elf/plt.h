/* SPDX-License-Identifier: Apache-2.0 */
/* elf/plt.h - the targets of the stubs in the procedure linkage table.
 * A stub has no symbol of its own; it jumps through a slot of the GOT, and a relocation names the
 * symbol that the dynamic linker puts there. x86-64 (.plt, .plt.sec, .plt.got) and arm64 (.plt).
 * Source: psABI x86-64 §5.2, "Procedure Linkage Table", and its IBT form; ELF for the Arm 64-bit
 * Architecture, "Dynamic linking" and the BTI and PAC forms of the stub. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define PLT_ENTRIES_MAX (1U << 18)
#define PLT_RELOCS_MAX (1U << 18)
#define PLT_SECTIONS 3

struct plt_entry {
	uint64_t vaddr;
	uint64_t resolver; /* vaddr of an IFUNC's resolver, if symbol is 0 */
	uint32_t size;
	uint32_t symbol; /* index in .dynsym */
};

struct plt {
	struct plt_entry *entries; /* stubs with a known target */
	size_t len;
};

/* Names of the sections with stubs. */
extern const char *const plt_sections[PLT_SECTIONS];

/* 0; no entries if there is no table or it is not understood. -ENOMEM. */
int plt_load(struct image *image, struct plt *out);
void plt_done(struct plt *plt);
