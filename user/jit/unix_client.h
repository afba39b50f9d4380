/* SPDX-License-Identifier: Apache-2.0 */
/* jit/unix_client.h - talks to another process over its unix socket, which may be hostile: the
 * socket is checked before use, the peer is checked, and nothing waits beyond a deadline. Times are
 * CLOCK_MONOTONIC. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Connects to NAME in a directory, however long the directory's path is. The socket must belong to
 * uid or root (-EPERM), and the listener must be pid (-EXDEV). -ENOTSOCK: not a socket. Others as
 * connect(2): -ENOENT, -EACCES, -ECONNREFUSED (a dead process left it). */
int unix_client_connect(
	int dir_fd, const char *name, uid_t uid, pid_t pid, uint64_t deadline_ns, int *fd);
/* Sends everything, or returns -errno; -ETIMEDOUT. */
int unix_client_send(int fd, const void *data, size_t size, uint64_t deadline_ns);
/* Receives until size bytes have come or the peer has closed: *got. -ETIMEDOUT. */
int unix_client_receive(int fd, void *data, size_t size, uint64_t deadline_ns, size_t *got);
