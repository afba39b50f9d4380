/* SPDX-License-Identifier: Apache-2.0 */
/* worker/state_reader.c - reads, does not map: these files are small and some are in /proc. A file
 * that is being written is at worst damaged, and is read again later. */
#include "worker/state_reader.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/fd.h"

void state_reader_begin(void)
{
	json_object_seed(0);
}

enum worker_status state_reader_read(
	int fd, const struct state_query *query, struct state_facts *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_all(fd, STATE_BYTES_MAX, &text);

	if (err == 0)
		err = state_file_parse(query, text.data ? text.data : "", text.len, out);
	switch (err) {
	case 0:
		return WORKER_OK;
	case -EFBIG:
		return WORKER_TOO_LARGE;
	case -ENOENT:
		return WORKER_UNKNOWN;
	case -EBADMSG:
		return WORKER_DAMAGED;
	case -ENOMEM:
		return WORKER_MEMORY;
	default:
		return WORKER_UNREADABLE;
	}
}
