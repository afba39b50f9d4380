/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.h - a growable run of bytes. data is always NUL-terminated once anything was added,
 * so text can be used as a C string; the NUL is not counted in len. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len;
	size_t cap;
};

#define BUF_INIT  \
	{         \
		0 \
	}

void buf_done(struct buf *buf);
/* Empties it and keeps the memory. */
void buf_clear(struct buf *buf);
/* Makes room for size bytes behind len and points *room there. 0 or -ENOMEM. */
int buf_reserve(struct buf *buf, size_t size, char **room);
/* Counts size bytes that were written to the reserved room. */
void buf_commit(struct buf *buf, size_t size);
/* All return 0 or -ENOMEM and leave buf as it was on failure. */
int buf_put(struct buf *buf, const void *data, size_t size);
int buf_puts(struct buf *buf, const char *text);
int buf_putc(struct buf *buf, char c);
int buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *buf, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
