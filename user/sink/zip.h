/* SPDX-License-Identifier: Apache-2.0 */
/* sink/zip.h - writes a ZIP archive as the bytes of its files come (APPNOTE.TXT 6.3): deflated, the
 * sizes after each file, in 64 bits where that is needed. It never seeks, so a pipe will do.
 * libarchive was ruled out: it brings an XML parser and a dozen libraries into the process that has
 * the privileges. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/vec.h"

struct zip_file {
	char *name;
	uint32_t crc;
	uint64_t packed, size, offset;
};

struct zip {
	VEC(struct zip_file) files;
	z_stream deflate;
	bool open;       /* deflate is ready */
	uint64_t offset; /* written so far */
};

/* All append to out and return buf_err(out); -EIO: zlib refused. */
int zip_begin(struct zip *zip, const char *name, struct buf *out);
int zip_put(struct zip *zip, const void *data, size_t size, struct buf *out);
int zip_end(struct zip *zip, struct buf *out);
/* Writes the directory; the archive is complete. */
int zip_finish(struct zip *zip, struct buf *out);
void zip_done(struct zip *zip);
