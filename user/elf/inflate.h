/* SPDX-License-Identifier: Apache-2.0 */
/* elf/inflate.h - decompresses sections into memory of a known size.
 * Both functions fill out completely or fail with -EBADMSG (-ENOMEM): a stream that is shorter or
 * longer than stated is as bad as a broken one. After a failure the contents of out are
 * undefined. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/* RFC 1950. */
int inflate_zlib(struct bytes in, uint8_t *out, size_t out_len);
/* RFC 8878: one or more frames. */
int inflate_zstd(struct bytes in, uint8_t *out, size_t out_len);
