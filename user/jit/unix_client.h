/* SPDX-License-Identifier: Apache-2.0 */
/* jit/unix_client.h - talking over a unix socket that another process made, and may have made to
 * annoy us: the socket is looked at before it is used, who answers is checked, and nothing waits
 * beyond a deadline. Times are CLOCK_MONOTONIC. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Connects to NAME in a directory, however long the directory's path is. The socket must belong to
 * uid or root (-EPERM), and the one who listens must be pid (-EXDEV). -ENOTSOCK: something else has
 * that name. Others as connect(2): -ENOENT, -EACCES, -ECONNREFUSED (left behind by the dead). */
int unix_client_connect(
	int dir_fd, const char *name, uid_t uid, pid_t pid, uint64_t deadline_ns, int *fd);
/* All of it or -errno; -ETIMEDOUT. */
int unix_client_send(int fd, const void *data, size_t size, uint64_t deadline_ns);
/* Until size bytes came or the other side closed: *got. -ETIMEDOUT. */
int unix_client_receive(int fd, void *data, size_t size, uint64_t deadline_ns, size_t *got);
