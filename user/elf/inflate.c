/* SPDX-License-Identifier: Apache-2.0 */
/* elf/inflate.c - the two compressions of SHF_COMPRESSED, each by its own library.
 * The caller sets the size of the output; nothing grows here. zlib counts in 32 bits, so input and
 * output are passed in pieces. */
#include "elf/inflate.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#define PIECE_MAX (1U << 30)

static unsigned int piece(size_t left)
{
	return left < PIECE_MAX ? (unsigned int)left : PIECE_MAX;
}

static int zlib_run(z_stream *z, struct bytes in, uint8_t *out, size_t out_len)
{
	struct cursor c = cursor_init(in.data, in.len);
	struct cursor o = cursor_init(out, out_len);
	int ret = Z_OK;

	while (ret == Z_OK) {
		if (z->avail_in == 0) {
			z->avail_in = piece(cursor_left(&c));
			z->next_in = (Bytef *)cursor_bytes(&c, z->avail_in).data;
		}
		if (z->avail_out == 0) {
			z->avail_out = piece(cursor_left(&o));
			z->next_out = (Bytef *)cursor_bytes(&o, z->avail_out).data;
		}
		ret = inflate(z, Z_NO_FLUSH);
	}
	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret == Z_STREAM_END && z->avail_out == 0 && cursor_left(&o) == 0 ? 0 : -EBADMSG;
}

int inflate_zlib(struct bytes in, uint8_t *out, size_t out_len)
{
	z_stream z = { 0 };
	int err;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	err = zlib_run(&z, in, out, out_len);
	inflateEnd(&z);
	return err;
}

int inflate_zstd(struct bytes in, uint8_t *out, size_t out_len)
{
	size_t got = ZSTD_decompress(out, out_len, in.data, in.len);

	return !ZSTD_isError(got) && got == out_len ? 0 : -EBADMSG;
}
