/* SPDX-License-Identifier: Apache-2.0 */
/* sink/zip.h - an archive that is written as its files' bytes come (APPNOTE.TXT 6.3): deflated,
 * sizes behind each file, 64-bit ones where they are needed. Nothing is sought back for, so that it
 * can go into a pipe. Archives of libarchive would do; it would bring an XML parser and a dozen
 * libraries into the process that holds the privileges. */
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
/* The directory: the archive is whole. */
int zip_finish(struct zip *zip, struct buf *out);
void zip_done(struct zip *zip);
