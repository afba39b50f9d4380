/* SPDX-License-Identifier: Apache-2.0 */
/* sink/compress.h - a finished output made small, by the end of its file's name. */
#pragma once

#include "base/buf.h"

/* .gz: gzip (RFC 1952); .zst: Zstandard (RFC 8878); anything else: in is moved to out.
 * 0, -ENOMEM, or -EIO when the library refuses. */
int compress_for_path(const char *path, struct buf *in, struct buf *out);
