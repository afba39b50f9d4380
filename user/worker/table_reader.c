/* SPDX-License-Identifier: Apache-2.0 */
/* worker/table_reader.c - the file is small, and whole in memory when it is parsed. */
#include "worker/table_reader.h"

#include <errno.h>

#include "base/buf.h"
#include "base/fd.h"

enum worker_status table_reader_read(int fd, struct cpython_table *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_all(fd, CPYTHON_TABLE_BYTES_MAX, &text);

	if (err == -EFBIG)
		return WORKER_TOO_LARGE;
	if (err == -ENOMEM)
		return WORKER_MEMORY;
	if (err < 0)
		return WORKER_UNREADABLE;
	cpython_table_parse(text.data ? text.data : "", text.len, out);
	return WORKER_OK;
}
