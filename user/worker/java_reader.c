/* SPDX-License-Identifier: Apache-2.0 */
/* worker/java_reader.c - the image is read whole, and nothing is kept. */
#include "worker/java_reader.h"

#include <errno.h>

#include "base/buf.h"
#include "base/fd.h"
#include "language/java_code.h"
#include "language/java_reply.h"

enum worker_status java_reader_read(int image, int memory, struct proto_methods *out)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(buf_done) struct buf reply = { .max_bytes = JAVA_REPLY_BYTES_MAX };
	int err = fd_read_all(image, JAVA_IMAGE_BYTES_MAX, &bytes);

	if (err == 0)
		err = java_code_read(bytes.data, bytes.len, &reply);
	if (err == 0)
		err = fd_write_all(memory, reply.data, reply.len);
	if (err < 0)
		return err == -EFBIG     ? WORKER_TOO_LARGE
			: err == -ENOMEM  ? WORKER_MEMORY
			: err == -EBADMSG ? WORKER_DAMAGED
					  : WORKER_UNREADABLE;
	out->bytes = reply.len;
	return WORKER_OK;
}
