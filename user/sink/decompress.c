/* SPDX-License-Identifier: Apache-2.0 */
/* sink/decompress.c - decompresses in steps of a fixed size: a small file that claims to be large
 * costs only the memory of its real bytes, and never more than the caller's limit. */
#include "sink/decompress.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>
#include <zstd.h>

#include "base/own.h"

#define STEP_BYTES (1U << 18)
#define INPUT_STEP_BYTES (1U << 30)
#define SKIPPABLE 0x184D2A50U      /* and the next 15 numbers */
#define GZIP_WINDOW_BITS (15 + 16) /* 16: a gzip header and not zlib's */

/* Room for the next step. */
static int make_room(struct buf *out, size_t start, size_t size_max, char **room)
{
	return out->len - start > size_max ? -EFBIG : buf_reserve(out, STEP_BYTES, room);
}

/* Reads one member; *in begins after it then. */
static int gunzip(z_stream *z, struct bytes *in, size_t start, size_t size_max, struct buf *out)
{
	int status = Z_OK;

	if (inflateReset(z) != Z_OK)
		return -EBADMSG;
	while (status != Z_STREAM_END) {
		size_t given;
		char *room;
		int err = make_room(out, start, size_max, &room);

		if (err < 0)
			return err;
		given = in->len < INPUT_STEP_BYTES ? in->len : INPUT_STEP_BYTES;
		z->next_in = (Bytef *)in->data;
		z->avail_in = (uInt)given;
		z->next_out = (Bytef *)room;
		z->avail_out = STEP_BYTES;
		status = inflate(z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END)
			return status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		buf_commit(out, STEP_BYTES - z->avail_out);
		in->data += given - z->avail_in;
		in->len -= given - z->avail_in;
	}
	return 0;
}

static int gunzip_all(struct bytes in, size_t size_max, struct buf *out)
{
	size_t start = out->len;
	z_stream z = { 0 };
	int err = 0;

	if (inflateInit2(&z, GZIP_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	while (err == 0 && in.len > 0)
		err = gunzip(&z, &in, start, size_max, out);
	inflateEnd(&z);
	return err;
}

static void free_stream(ZSTD_DStream **stream)
{
	ZSTD_freeDStream(*stream);
}

static int unzstd_all(struct bytes bytes, size_t size_max, struct buf *out)
{
	_cleanup_(free_stream) ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { .src = bytes.data, .size = bytes.len };
	size_t start = out->len, left = 0;
	bool full = true;

	if (!stream)
		return -ENOMEM;
	/* a step that is filled to its end may not be the last */
	while (in.pos < in.size || full) {
		ZSTD_outBuffer step = { .size = STEP_BYTES };
		char *room;
		int err = make_room(out, start, size_max, &room);

		if (err < 0)
			return err;
		step.dst = room;
		left = ZSTD_decompressStream(stream, &step, &in);
		if (ZSTD_isError(left))
			return -EBADMSG;
		buf_commit(out, step.pos);
		full = step.pos == step.size;
	}
	return left == 0 ? 0 : -EBADMSG;
}

int decompress(struct bytes in, size_t size_max, struct buf *out)
{
	struct cursor c = cursor_init(in.data, in.len);
	uint32_t magic = cursor_u32(&c);
	size_t start = out->len;
	int err;

	if (in.len > 2 && in.data[0] == 0x1f && in.data[1] == 0x8b)
		err = gunzip_all(in, size_max, out);
	else if (!c.bad && (magic == ZSTD_MAGICNUMBER || (magic & 0xfffffff0U) == SKIPPABLE))
		err = unzstd_all(in, size_max, out);
	else
		err = in.len > size_max ? -EFBIG : buf_put(out, in.data, in.len);
	return err == 0 && out->len - start > size_max ? -EFBIG : err;
}
