/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.h - descriptors: owned by a local, read and written whole. */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/own.h"

struct buf;

/* Closes *fd if it is one and sets it to -1; errno is kept. */
void fd_close(int *fd);

#define _cleanup_fd_ _cleanup_(fd_close)

#define TAKE_FD(fd)                  \
	({                           \
		int *_slot = &(fd);  \
		int _taken = *_slot; \
		*_slot = -1;         \
		_taken;              \
	})

/* Writes all of it, through short writes and EINTR. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t size);

/* A file of these bytes that has no name but for whoever looks into /proc; it stands at its
 * beginning. *fd is the caller's. 0 or -errno. */
int fd_in_memory(const char *name, const void *data, size_t size, int *fd);

/* /dev/null. A root that is empty but for us has none: there it is an empty file: a write to it
 * fails with EPERM. flags: O_CLOEXEC or 0. *fd is the caller's. 0 or -errno. */
int fd_open_null(int flags, int *fd);

/* Appends what fd still holds to out, up to size_max bytes more. -EFBIG when there is more than
 * that, other -errno from read. What was read before an error stays in out. */
int fd_read_all(int fd, size_t size_max, struct buf *out);

/* Appends the text of a file such as /proc/sys/...: open, read, close. */
int fd_read_path(const char *path, size_t size_max, struct buf *out);

/* Two ends of a socket that keeps messages apart (SOCK_SEQPACKET), the caller's, closed on exec. */
int fd_pair(int *one, int *other);
/* One message over a socket that keeps messages apart; a descriptor goes along, if fd is one. */
int fd_pass(int socket, const void *data, size_t size, int fd);
/* One such message, of this size; flags as of recvmsg. *fd is the caller's when one came, else it
 * stays what it is. -EAGAIN: nothing is there (MSG_DONTWAIT), or a signal came; -EPIPE: the other
 * side is gone or sent something else, and *fd may be set. */
int fd_take(int socket, int flags, void *data, size_t size, int *fd);
