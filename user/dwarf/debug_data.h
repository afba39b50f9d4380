/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_data.h - .gnu_debugdata ("MiniDebugInfo"): an xz stream in a stripped file. It
 * contains an ELF file whose .symtab has the functions that .dynsym lacks, at the addresses of the
 * outer file. Pass its image to elf_sym_load() as the extra one, ELF_SYM_DEBUG_DATA. */
#pragma once

#include "base/buf.h"
#include "elf/image.h"

#define DEBUG_DATA_BYTES_MAX (64UL << 20)   /* decompressed */
#define DEBUG_DATA_MEMORY_MAX (128UL << 20) /* memory of the decoder; xz -9 needs 65 MiB */

/* Appends the decompressed file to out. -ENOENT: no such section; -EBADMSG: no xz stream, or a
 * broken one; -EFBIG: over a limit above; -ENOMEM. After a failure out is unchanged. */
int debug_data_load(struct image *image, struct buf *out);
