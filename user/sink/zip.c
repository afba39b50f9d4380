/* SPDX-License-Identifier: Apache-2.0 */
/* sink/zip.c - for each file a local header, deflated bytes and a descriptor; then the directory.
 * Times are the format's first day: a profile has its own times. */
#include "sink/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL 0x04034b50
#define DESCRIPTOR 0x08074b50
#define CENTRAL 0x02014b50
#define END 0x06054b50
#define END64 0x06064b50
#define LOCATOR64 0x07064b50
#define VERSION 20
#define VERSION64 45
#define FLAGS (1 << 3 | 1 << 11) /* a descriptor follows; names are UTF-8 */
#define DEFLATE 8
#define FIRST_DAY (0 << 9 | 1 << 5 | 1) /* 1980-01-01 */
#define EXTRA64 1
#define EXTRA64_BYTES 24
#define END64_BYTES 44 /* after its length */
#define STEP_BYTES 65536
#define RAW_WINDOW_BITS (-15)

static void put_le(struct buf *out, uint64_t value, unsigned int bytes)
{
	char text[8];

	for (unsigned int i = 0; i < bytes; i++)
		text[i] = (char)(value >> 8 * i);
	buf_put(out, text, bytes);
}

struct field {
	uint64_t value;
	unsigned int bytes;
};

static void put_fields(struct buf *out, const struct field *fields, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put_le(out, fields[i].value, fields[i].bytes);
}

#define PUT_FIELDS(out, ...)                                   \
	put_fields(out, (const struct field[]){ __VA_ARGS__ }, \
		sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field))

static bool is_large(const struct zip_file *f)
{
	return f->size >= UINT32_MAX || f->packed >= UINT32_MAX || f->offset >= UINT32_MAX;
}

/* Counts what was appended. */
static int counted(struct zip *zip, const struct buf *out, size_t before)
{
	zip->offset += out->len - before;
	return buf_err(out);
}

int zip_begin(struct zip *zip, const char *name, struct buf *out)
{
	size_t before = out->len;
	struct zip_file *file;

	if (buf_err(out) < 0)
		return buf_err(out); /* the file before this one is still open */
	file = vec_add(&zip->files);
	if (!file)
		return buf_fail(out, -ENOMEM);
	file->name = strdup(name);
	file->offset = zip->offset;
	file->crc = (uint32_t)crc32(0, NULL, 0);
	zip->deflate = (z_stream){ 0 };
	if (!file->name ||
		deflateInit2(&zip->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_WINDOW_BITS,
			MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return buf_fail(out, -ENOMEM);
	zip->open = true;
	PUT_FIELDS(out, { LOCAL, 4 }, { VERSION, 2 }, { FLAGS, 2 }, { DEFLATE, 2 }, { 0, 2 },
		{ FIRST_DAY, 2 }, { 0, 4 }, { 0, 4 }, { 0, 4 }, { strlen(name), 2 }, { 0, 2 });
	buf_puts(out, name);
	return counted(zip, out, before);
}

/* The result of deflate; Z_STREAM_ERROR: out has failed. */
static int deflate_step(struct zip *zip, int flush, struct buf *out)
{
	char *room;
	int status;

	if (buf_reserve(out, STEP_BYTES, &room) < 0)
		return Z_STREAM_ERROR;
	zip->deflate.next_out = (Bytef *)room;
	zip->deflate.avail_out = STEP_BYTES;
	status = deflate(&zip->deflate, flush);
	if (status == Z_STREAM_ERROR)
		buf_fail(out, -EIO);
	else
		buf_commit(out, STEP_BYTES - zip->deflate.avail_out);
	return status;
}

int zip_put(struct zip *zip, const void *data, size_t size, struct buf *out)
{
	size_t before = out->len;
	struct zip_file *file;

	if (buf_err(out) < 0 || size == 0)
		return buf_err(out);
	if (size > INT32_MAX)
		return buf_fail(out, -EIO);
	file = &zip->files.data[zip->files.len - 1];
	file->crc = (uint32_t)crc32(file->crc, data, (uInt)size);
	file->size += size;
	zip->deflate.next_in = (Bytef *)data;
	zip->deflate.avail_in = (uInt)size;
	while (deflate_step(zip, Z_NO_FLUSH, out) != Z_STREAM_ERROR && zip->deflate.avail_out == 0)
		;
	return counted(zip, out, before);
}

int zip_end(struct zip *zip, struct buf *out)
{
	size_t before = out->len;
	struct zip_file *file;
	unsigned int bytes;
	int status;

	if (buf_err(out) < 0)
		return buf_err(out);
	do
		status = deflate_step(zip, Z_FINISH, out);
	while (status != Z_STREAM_ERROR && status != Z_STREAM_END);
	file = &zip->files.data[zip->files.len - 1];
	file->packed = zip->deflate.total_out;
	deflateEnd(&zip->deflate);
	zip->open = false;
	bytes = is_large(file) ? 8 : 4;
	PUT_FIELDS(out, { DESCRIPTOR, 4 }, { file->crc, 4 }, { file->packed, bytes },
		{ file->size, bytes });
	return counted(zip, out, before);
}

static void put_central(const struct zip_file *f, struct buf *out)
{
	bool large = is_large(f);

	PUT_FIELDS(out, { CENTRAL, 4 }, { VERSION64, 2 }, { large ? VERSION64 : VERSION, 2 },
		{ FLAGS, 2 }, { DEFLATE, 2 }, { 0, 2 }, { FIRST_DAY, 2 }, { f->crc, 4 },
		{ large ? UINT32_MAX : f->packed, 4 }, { large ? UINT32_MAX : f->size, 4 },
		{ strlen(f->name), 2 }, { large ? EXTRA64_BYTES + 4 : 0, 2 }, { 0, 2 }, { 0, 2 },
		{ 0, 2 }, { 0, 4 }, { large ? UINT32_MAX : f->offset, 4 });
	buf_puts(out, f->name);
	if (large)
		PUT_FIELDS(out, { EXTRA64, 2 }, { EXTRA64_BYTES, 2 }, { f->size, 8 },
			{ f->packed, 8 }, { f->offset, 8 });
}

int zip_finish(struct zip *zip, struct buf *out)
{
	uint64_t from = zip->offset, size, len = zip->files.len;
	size_t before = out->len;
	bool large;

	if (buf_err(out) < 0)
		return buf_err(out);
	vec_each (&zip->files, file)
		put_central(file, out);
	size = out->len - before;
	large = from >= UINT32_MAX || len >= UINT16_MAX;
	if (large)
		PUT_FIELDS(out, { END64, 4 }, { END64_BYTES, 8 }, { VERSION64, 2 },
			{ VERSION64, 2 }, { 0, 4 }, { 0, 4 }, { len, 8 }, { len, 8 }, { size, 8 },
			{ from, 8 }, { LOCATOR64, 4 }, { 0, 4 }, { from + size, 8 }, { 1, 4 });
	PUT_FIELDS(out, { END, 4 }, { 0, 2 }, { 0, 2 }, { large ? UINT16_MAX : len, 2 },
		{ large ? UINT16_MAX : len, 2 }, { large ? UINT32_MAX : size, 4 },
		{ large ? UINT32_MAX : from, 4 }, { 0, 2 });
	return counted(zip, out, before);
}

void zip_done(struct zip *zip)
{
	vec_each (&zip->files, file)
		free(file->name);
	vec_done(&zip->files);
	if (zip->open)
		deflateEnd(&zip->deflate);
	zip->open = false;
}
