/* SPDX-License-Identifier: Apache-2.0 */
/* sink/json.c - clean text holds no control characters, so only two need a backslash. */
#include "sink/json.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/utf8.h"

int json_put(struct buf *out, const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	int err = utf8_put_clean(&clean, text);

	if (err == 0)
		err = buf_putc(out, '"');
	for (size_t i = 0; i < clean.len && err == 0; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			err = buf_putc(out, '\\');
		if (err == 0)
			err = buf_putc(out, clean.data[i]);
	}
	return err < 0 ? err : buf_putc(out, '"');
}
