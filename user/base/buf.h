/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.h - a growable run of bytes with a sticky error: the first put that fails makes all
 * later ones do nothing, so a writer puts a whole record without a look at the results, and checks
 * once, by buf_err, before it hands the bytes on. data ends with a NUL once anything was put, so
 * text can be used as a C string; len does not count the NUL. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max_bytes; /* puts beyond it fail with -EFBIG; 0: no limit */
	int err;          /* of the first put that failed; 0 or -errno */
};

#define BUF_INIT  \
	{         \
		0 \
	}

void buf_done(struct buf *buf);
/* Begins a new text: no bytes and no error. Keeps the memory and the limit. */
void buf_clear(struct buf *buf);
/* Records an error of the writer, which then goes the way of the buffer's own. 0 is no error, and
 * only the first error counts. Returns buf_err. */
int buf_fail(struct buf *buf, int err);
/* Makes room for size bytes after len and points *room there. 0 or the buffer's error. */
int buf_reserve(struct buf *buf, size_t size, char **room);
/* Counts size bytes that were written to the reserved room. */
void buf_commit(struct buf *buf, size_t size);

/* All return buf_err and add nothing when it is not 0. */
int buf_put(struct buf *buf, const void *data, size_t size);
int buf_puts(struct buf *buf, const char *text);
int buf_putc(struct buf *buf, char c);
/* part of whole in per cent, with two digits and without a sign: "12.34". Rounding makes no share
 * none, and no share all: "<0.01", ">99.99". "0.00" where the whole is 0. */
int buf_put_percent(struct buf *buf, uint64_t part, uint64_t whole);
/* DWARF 5 §7.6, as cursor_uleb reads it. */
int buf_put_uleb(struct buf *buf, uint64_t value);
int buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *buf, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The bytes of another buffer, or its error. */
int buf_append(struct buf *buf, const struct buf *from);

/* 0: all puts succeeded. -ENOMEM; -EFBIG: the limit; or what buf_fail recorded. */
static inline int buf_err(const struct buf *buf)
{
	return buf->err;
}

/* "" for a buffer without data. */
static inline const char *buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
