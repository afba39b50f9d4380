/* SPDX-License-Identifier: Apache-2.0 */
/* elf/build_id.h - the build ID: the linker's name of this very build.
 * Source: the note NT_GNU_BUILD_ID of owner "GNU" (gABI chapter 5, "Note Section"). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define BUILD_ID_BYTES_MAX 64
#define BUILD_ID_HEX_SIZE (2 * BUILD_ID_BYTES_MAX + 1)

struct build_id {
	uint8_t bytes[BUILD_ID_BYTES_MAX];
	size_t len;
};

/* From PT_NOTE segments, else from SHT_NOTE sections. -ENOENT: there is none. */
int build_id_find(struct image *image, struct build_id *out);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* Lower-case hex digits and a NUL. */
void build_id_hex(const struct build_id *id, char out[BUILD_ID_HEX_SIZE]);
