/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.c - growth doubles, and a failed growth changes nothing. */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_CAP_MIN 64

void buf_done(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

int buf_reserve(struct buf *buf, size_t size, char **room)
{
	size_t need, cap = buf->cap ? buf->cap : BUF_CAP_MIN;
	char *data;

	if (size > SIZE_MAX / 4 - buf->len)
		return -ENOMEM;
	need = buf->len + size + 1;
	if (need > buf->cap) {
		while (cap < need)
			cap *= 2;
		data = realloc(buf->data, cap);
		if (!data)
			return -ENOMEM;
		buf->data = data;
		buf->cap = cap;
	}
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
	int err = buf_reserve(buf, size, &room);

	if (err < 0)
		return err;
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

int buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = buf_vprintf(buf, fmt, ap);
	va_end(ap);
	return err;
}

int buf_vprintf(struct buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	char *room;
	int size, err;

	va_copy(again, ap);
	size = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (size < 0)
		return -EINVAL;
	err = buf_reserve(buf, (size_t)size, &room);
	if (err < 0)
		return err;
	vsnprintf(room, (size_t)size + 1, fmt, ap);
	buf_commit(buf, (size_t)size);
	return 0;
}
