/* SPDX-License-Identifier: Apache-2.0 */
/* sink/decompress.h - a file that was written compressed, whole again. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/cursor.h"

/* What the bytes are they say themselves: gzip (RFC 1952) or Zstandard (RFC 8878), one part behind
 * the other, skippable frames left out; anything else is taken as it is. Appends to out. -EBADMSG:
 * broken or cut off; -EFBIG: more than size_max bytes; -ENOMEM. */
int decompress(struct bytes in, size_t size_max, struct buf *out);
