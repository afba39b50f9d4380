/* SPDX-License-Identifier: Apache-2.0 */
/* sink/compress.c - two libraries as one stream. A profile repeats itself, stacks above all, at any
 * distance. So zstd searches well, in a window of many seconds' samples; a larger window would save
 * a hundredth of the bytes and take an eighth of a gigabyte. */
#include "sink/compress.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW_BITS (15 + 16) /* 16: a gzip header and not zlib's */
#define GZIP_MEM_LEVEL 8
#define ZSTD_LEVEL 9
#define ZSTD_WINDOW_LOG 24
#define ZSTD_TABLE_LOG 20
#define ZSTD_SEARCH_LOG 5
#define ZSTD_MATCH_MIN 5
#define STEP_BYTES 65536

struct compress {
	enum compress_kind kind;
	z_stream gzip;
	bool gzip_open;
	ZSTD_CCtx *zstd;
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && strcmp(text + len - n, end) == 0;
}

enum compress_kind compress_kind_of(const char *path)
{
	if (ends_with(path, ".gz"))
		return COMPRESS_GZIP;
	return ends_with(path, ".zst") ? COMPRESS_ZSTD : COMPRESS_NONE;
}

static int open_gzip(struct compress *c)
{
	if (deflateInit2(&c->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
		    GZIP_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	c->gzip_open = true;
	return 0;
}

static int open_zstd(struct compress *c)
{
	const struct {
		ZSTD_cParameter parameter;
		int value;
	} settings[] = {
		{ ZSTD_c_compressionLevel, ZSTD_LEVEL },
		{ ZSTD_c_windowLog, ZSTD_WINDOW_LOG },
		{ ZSTD_c_hashLog, ZSTD_TABLE_LOG },
		{ ZSTD_c_chainLog, ZSTD_TABLE_LOG },
		{ ZSTD_c_searchLog, ZSTD_SEARCH_LOG },
		{ ZSTD_c_minMatch, ZSTD_MATCH_MIN },
		{ ZSTD_c_strategy, ZSTD_lazy2 },
		{ ZSTD_c_checksumFlag, 1 },
	};

	c->zstd = ZSTD_createCCtx();
	if (!c->zstd)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (ZSTD_isError(ZSTD_CCtx_setParameter(
			    c->zstd, settings[i].parameter, settings[i].value)))
			return -EIO;
	return 0;
}

int compress_new(enum compress_kind kind, struct compress **out)
{
	struct compress *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (err == 0) {
		c->kind = kind;
		err = kind == COMPRESS_GZIP     ? open_gzip(c)
			: kind == COMPRESS_ZSTD ? open_zstd(c)
						: 0;
	}
	if (err < 0) {
		compress_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void compress_free(struct compress *c)
{
	if (!c)
		return;
	if (c->gzip_open)
		deflateEnd(&c->gzip);
	ZSTD_freeCCtx(c->zstd);
	free(c);
}

static int put_gzip(struct compress *c, const void *data, size_t size, bool end, struct buf *out)
{
	int status = Z_OK;

	c->gzip.next_in = (Bytef *)data;
	c->gzip.avail_in = (uInt)size;
	do {
		char *room;

		if (buf_reserve(out, STEP_BYTES, &room) < 0)
			return buf_err(out);
		c->gzip.next_out = (Bytef *)room;
		c->gzip.avail_out = STEP_BYTES;
		status = deflate(&c->gzip, end ? Z_FINISH : Z_NO_FLUSH);
		if (status == Z_STREAM_ERROR)
			return buf_fail(out, -EIO);
		buf_commit(out, STEP_BYTES - c->gzip.avail_out);
	} while (end ? status != Z_STREAM_END : c->gzip.avail_out == 0);
	return 0;
}

static int put_zstd(struct compress *c, const void *data, size_t size, bool end, struct buf *out)
{
	ZSTD_inBuffer in = { data, size, 0 };
	size_t left;

	do {
		ZSTD_outBuffer to = { NULL, STEP_BYTES, 0 };
		char *room;

		if (buf_reserve(out, STEP_BYTES, &room) < 0)
			return buf_err(out);
		to.dst = room;
		left = ZSTD_compressStream2(c->zstd, &to, &in, end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return buf_fail(out, -EIO);
		buf_commit(out, to.pos);
	} while (end ? left > 0 : in.pos < in.size);
	return 0;
}

/* zlib counts in 32 bits. */
static int put_bytes(struct compress *c, const void *data, size_t size, bool end, struct buf *out)
{
	if (c->kind == COMPRESS_NONE)
		return buf_put(out, data, size);
	if (c->kind == COMPRESS_ZSTD)
		return put_zstd(c, data, size, end, out);
	while (size > INT32_MAX) {
		put_gzip(c, data, INT32_MAX, false, out);
		data = (const char *)data + INT32_MAX;
		size -= INT32_MAX;
	}
	return put_gzip(c, data, size, end, out);
}

int compress_put(struct compress *c, const void *data, size_t size, struct buf *out)
{
	return size > 0 ? put_bytes(c, data, size, false, out) : buf_err(out);
}

int compress_end(struct compress *c, struct buf *out)
{
	return put_bytes(c, "", 0, true, out);
}

int compress_all(enum compress_kind kind, const struct buf *in, struct buf *out)
{
	struct compress *c = NULL;
	int err = buf_err(in) < 0 ? buf_err(in) : compress_new(kind, &c);

	if (err < 0)
		return buf_fail(out, err);
	compress_put(c, in->data, in->len, out);
	compress_end(c, out);
	compress_free(c);
	return buf_err(out);
}
