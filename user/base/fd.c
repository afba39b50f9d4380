/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.c - whole reads and writes. No descriptor is leaked on any path. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"

#define READ_CHUNK_BYTES 65536

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, size_t size_max, struct buf *out)
{
	size_t start = out->len;

	for (;;) {
		char *room;
		ssize_t n;
		int err = buf_reserve(out, READ_CHUNK_BYTES, &room);

		if (err < 0)
			return err;
		n = read(fd, room, READ_CHUNK_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (out->len - start + (size_t)n > size_max)
			return -EFBIG;
		buf_commit(out, (size_t)n);
	}
}

int fd_read_path(const char *path, size_t size_max, struct buf *out)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd_read_all(fd, size_max, out);
}
