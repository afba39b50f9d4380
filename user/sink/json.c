/* SPDX-License-Identifier: Apache-2.0 */
/* sink/json.c - clean text has no control characters, so only two characters need a backslash.
 * Commas and brackets are left to the callers. */
#include "sink/json.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/utf8.h"

void json_put(struct buf *out, const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	buf_fail(out, utf8_put_clean(&clean, text));
	buf_putc(out, '"');
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_putc(out, '\\');
		buf_putc(out, clean.data[i]);
	}
	buf_putc(out, '"');
}
