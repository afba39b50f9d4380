/* SPDX-License-Identifier: Apache-2.0 */
/* elf/inflate.h - compressed sections, decompressed into memory of a size that is known before.
 * Both fill out to its last byte or fail with -EBADMSG (-ENOMEM): a stream that is shorter or
 * longer than stated is as bad as a broken one. What was written before a failure is undefined. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/* RFC 1950. */
int inflate_zlib(struct bytes in, uint8_t *out, size_t out_len);
/* RFC 8878: one or more frames. */
int inflate_zstd(struct bytes in, uint8_t *out, size_t out_len);
