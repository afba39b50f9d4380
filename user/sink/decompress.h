/* SPDX-License-Identifier: Apache-2.0 */
/* sink/decompress.h - the bytes of a compressed file. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/cursor.h"

/* Appends the decompressed bytes to out. gzip (RFC 1952) and Zstandard (RFC 8878) are recognised by
 * their first bytes and may have several parts; skippable frames are left out. Other bytes are
 * appended as they are. -EBADMSG: damaged or cut short; -EFBIG: more than size_max bytes; -ENOMEM.
 */
int decompress(struct bytes in, size_t size_max, struct buf *out);
