/* SPDX-License-Identifier: Apache-2.0 */
/* sink/compress.h - compresses an output while it is written. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

enum compress_kind {
	COMPRESS_NONE,
	COMPRESS_GZIP, /* RFC 1952 */
	COMPRESS_ZSTD, /* RFC 8878 */
};

/* By the end of a file's name: .gz, .zst. */
enum compress_kind compress_kind_of(const char *path);

struct compress;

/* 0, -ENOMEM, or -EIO: the library refused. */
int compress_new(enum compress_kind kind, struct compress **out);
void compress_free(struct compress *compress);
/* Appends the compressed bytes that are ready, perhaps none. Returns buf_err(out), as the next two.
 */
int compress_put(struct compress *compress, const void *data, size_t size, struct buf *out);
/* Appends the remaining bytes; no put may follow. */
int compress_end(struct compress *compress, struct buf *out);
/* All of in at once; an error of in goes to out. */
int compress_all(enum compress_kind kind, const struct buf *in, struct buf *out);
