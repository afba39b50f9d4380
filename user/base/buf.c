/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.c - growth doubles the memory. A growth that fails leaves the bytes as they are and is
 * remembered in err. The caller knows what the bytes mean and where they go. */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_CAP_MIN 64
#define ULEB_BYTES_MAX 10

void buf_done(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->err = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

int buf_fail(struct buf *buf, int err)
{
	if (buf->err >= 0)
		buf->err = err;
	return buf->err;
}

static int grow(struct buf *buf, size_t need)
{
	size_t cap = buf->cap ? buf->cap : BUF_CAP_MIN;
	char *data;

	while (cap < need)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		return buf_fail(buf, -ENOMEM);
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int buf_reserve(struct buf *buf, size_t size, char **room)
{
	if (buf->err < 0)
		return buf->err;
	if (buf->max_bytes > 0 && (buf->len > buf->max_bytes || size > buf->max_bytes - buf->len))
		return buf_fail(buf, -EFBIG);
	if (size > SIZE_MAX / 4 - buf->len)
		return buf_fail(buf, -ENOMEM);
	if (buf->len + size + 1 > buf->cap && grow(buf, buf->len + size + 1) < 0)
		return -ENOMEM;
	*room = buf->data + buf->len;
	return 0;
}

void buf_commit(struct buf *buf, size_t size)
{
	assert(buf->len + size < buf->cap);
	buf->len += size;
	buf->data[buf->len] = '\0';
}

int buf_put(struct buf *buf, const void *data, size_t size)
{
	char *room;

	if (buf_reserve(buf, size, &room) < 0)
		return buf->err;
	if (size > 0)
		memcpy(room, data, size);
	buf_commit(buf, size);
	return 0;
}

int buf_puts(struct buf *buf, const char *text)
{
	return buf_put(buf, text, strlen(text));
}

int buf_putc(struct buf *buf, char c)
{
	return buf_put(buf, &c, 1);
}

int buf_put_uleb(struct buf *buf, uint64_t value)
{
	char bytes[ULEB_BYTES_MAX];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	return buf_put(buf, bytes, len);
}

int buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(buf, fmt, ap);
	va_end(ap);
	return buf->err;
}

int buf_vprintf(struct buf *buf, const char *fmt, va_list ap)
{
	size_t room_size;
	va_list again;
	char *room;
	int size;

	if (buf_reserve(buf, 0, &room) < 0)
		return buf->err;
	/* Most texts fit where they are put. */
	room_size = buf->cap - buf->len;
	va_copy(again, ap);
	size = vsnprintf(room, room_size, fmt, again);
	va_end(again);
	if (size < 0)
		buf_fail(buf, -EINVAL);
	if (buf_reserve(buf, size < 0 ? 0 : (size_t)size, &room) < 0) {
		buf->data[buf->len] = '\0';
		return buf->err;
	}
	if ((size_t)size >= room_size)
		vsnprintf(room, (size_t)size + 1, fmt, ap);
	buf_commit(buf, (size_t)size);
	return 0;
}

int buf_put_percent(struct buf *buf, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part > 0 && share < 0.005)
		return buf_puts(buf, "<0.01");
	if (part < whole && share >= 99.995)
		return buf_puts(buf, ">99.99");
	return buf_printf(buf, "%.2f", share);
}

int buf_append(struct buf *buf, const struct buf *from)
{
	buf_fail(buf, from->err);
	return buf_put(buf, from->data, from->len);
}
