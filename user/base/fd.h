/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.h - descriptors: owned by a local, read and written whole. */
#pragma once

#include <stdbool.h>
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

/* Leaves these bytes alone in the file, and its offset at their end. 0 or -errno. */
int fd_rewrite(int fd, const void *data, size_t size);

/* An empty memfd, the caller's, for fd_seal; or -errno. */
int fd_memory(const char *name);
/* Takes a memfd: gives it back at its beginning, and nobody can change it any more; or -errno. */
int fd_seal(int memory_fd);
/* A sealed memfd with the bytes of this program's file, which any user may execute; or -errno. */
int fd_own_program(void);
/* Whether it is a memfd that nobody can change. */
bool fd_is_sealed(int fd);
/* A sealed memfd with these bytes. *fd is the caller's. 0 or -errno. */
int fd_in_memory(const char *name, const void *data, size_t size, int *fd);
/* err_text for its error: a limit of file sizes is one of memfds, too. */
const char *fd_memory_text(int err);

/* Opens /dev/null. Our empty root has none: then it is an empty file, and a write fails with EPERM.
 * flags: O_CLOEXEC or 0. *fd is the caller's. 0 or -errno. */
int fd_open_null(int flags, int *fd);

/* Appends the rest of fd to out, at most size_max bytes. -EFBIG: there is more; other -errno from
 * read. After an error out has what was read. */
int fd_read_all(int fd, size_t size_max, struct buf *out);

/* Appends the text of a file such as /proc/sys/...: open, read, close. */
int fd_read_path(const char *path, size_t size_max, struct buf *out);

/* Has epoll report when fd is readable. */
int fd_watch(int epoll, int fd);

/* Two ends of a SOCK_SEQPACKET socket, the caller's, closed on exec. */
int fd_pair(int *one, int *other);
/* err_text for the error of adding to an epoll. */
const char *fd_watch_text(int err);
/* Sends one message over such a socket, with a descriptor if fd is not negative. -ETOOMANYREFS: not
 * now; processes with our user have more descriptors in flight, sent over unix sockets and not yet
 * received, than we may have open files (unix(7)). */
int fd_pass(int socket, const void *data, size_t size, int fd);
/* Receives one such message of this size; flags as for recvmsg. *fd is set to an attached
 * descriptor, the caller's, else unchanged. -EAGAIN: none (MSG_DONTWAIT), or a signal; -EMFILE: the
 * message came, and we have no room for its descriptor; -EPIPE: the peer is gone or sent something
 * else, and *fd may be set. fd NULL: none is due. If there is one, that is -EPIPE, and it is not
 * closed: close(2) calls the flush of its file system, which may wait for ever, and the kernel does
 * not. */
int fd_take(int socket, int flags, void *data, size_t size, int *fd);
