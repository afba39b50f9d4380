/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_data.c - decompresses .gnu_debugdata. The decompressed size is not stored, so the
 * output buffer grows up to a limit. The result is an ELF file, as untrusted as any other. */
#include "dwarf/debug_data.h"

#include <errno.h>
#include <lzma.h>

#define PIECE (256UL << 10)

static int from_lzma(lzma_ret ret)
{
	switch (ret) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

static int decode(lzma_stream *z, struct bytes in, struct buf *out)
{
	size_t before = out->len;
	lzma_ret ret = LZMA_OK;

	z->next_in = in.data;
	z->avail_in = in.len;
	while (ret == LZMA_OK) {
		char *room;
		int err = buf_reserve(out, PIECE, &room);

		if (err < 0)
			return err;
		z->next_out = (uint8_t *)room;
		z->avail_out = PIECE;
		ret = lzma_code(z, LZMA_FINISH);
		buf_commit(out, PIECE - z->avail_out);
		if (out->len - before > DEBUG_DATA_BYTES_MAX)
			return -EFBIG;
	}
	return from_lzma(ret);
}

int debug_data_load(struct image *image, struct buf *out)
{
	const struct image_section *section = image_section_find(image, ".gnu_debugdata");
	lzma_stream z = LZMA_STREAM_INIT;
	size_t before = out->len;
	struct bytes in;
	int err;

	if (!section)
		return -ENOENT;
	err = image_section_bytes(image, section, &in);
	if (err < 0)
		return err == -ENOMEM || err == -EFBIG ? err : -EBADMSG;
	err = from_lzma(lzma_stream_decoder(&z, DEBUG_DATA_MEMORY_MAX, 0));
	if (err == 0)
		err = decode(&z, in, out);
	lzma_end(&z);
	if (err < 0) {
		out->len = before;
		if (out->data)
			out->data[before] = '\0';
	}
	return err;
}
