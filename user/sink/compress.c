/* SPDX-License-Identifier: Apache-2.0 */
/* sink/compress.c - whole buffers: a profile is in memory anyway. */
#include "sink/compress.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW_BITS (15 + 16) /* 16: a gzip header and not zlib's */
#define GZIP_MEM_LEVEL 8
#define ZSTD_LEVEL 3

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && strcmp(text + len - n, end) == 0;
}

static int gzip(const struct buf *in, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)in->data, .avail_in = (uInt)in->len };
	char *room;
	int err;

	if (in->len > UINT32_MAX)
		return -EIO;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEM_LEVEL,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	err = buf_reserve(out, deflateBound(&z, in->len), &room);
	if (err == 0) {
		z.next_out = (Bytef *)room;
		z.avail_out = (uInt)deflateBound(&z, in->len);
		err = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		buf_commit(out, z.total_out);
	}
	deflateEnd(&z);
	return err;
}

static int zstd(const struct buf *in, struct buf *out)
{
	size_t bound = ZSTD_compressBound(in->len), len;
	char *room;
	int err = buf_reserve(out, bound, &room);

	if (err < 0)
		return err;
	len = ZSTD_compress(room, bound, in->data, in->len, ZSTD_LEVEL);
	if (ZSTD_isError(len))
		return -EIO;
	buf_commit(out, len);
	return 0;
}

int compress_for_path(const char *path, struct buf *in, struct buf *out)
{
	if (ends_with(path, ".gz"))
		return gzip(in, out);
	if (ends_with(path, ".zst"))
		return zstd(in, out);
	*out = *in;
	*in = (struct buf)BUF_INIT;
	return 0;
}
