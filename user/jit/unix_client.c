/* SPDX-License-Identifier: Apache-2.0 */
/* jit/unix_client.c - a socket address has room for 108 bytes, too few for some paths below
 * /proc/PID/root, and a path may change between check and connect. So an O_PATH descriptor of the
 * socket's inode is checked, and connected to as /proc/self/fd/N. */
#include "jit/unix_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"

static uint64_t left_ns(uint64_t deadline_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return deadline_ns > now ? deadline_ns - now : 0;
}

static int connect_inode(int path_fd, uint64_t deadline_ns, int *out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint64_t left = left_ns(deadline_ns);
	struct timeval timeout = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_usec = (suseconds_t)(left % NSEC_PER_SEC / 1000 + 1),
	};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* connect(2) waits as long as a send may, should the other's queue be full */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*out = TAKE_FD(fd);
	return 0;
}

int unix_client_connect(
	int dir_fd, const char *name, uid_t uid, pid_t pid, uint64_t deadline_ns, int *fd)
{
	_cleanup_fd_ int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int connected = -1;
	struct ucred peer = { 0 };
	socklen_t peer_size = sizeof(peer);
	struct stat st;
	int err;

	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (st.st_uid != uid && st.st_uid != 0)
		return -EPERM;
	err = connect_inode(path_fd, deadline_ns, &connected);
	if (err < 0)
		return err;
	if (getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
		return -errno;
	if (peer.pid != pid)
		return -EXDEV;
	*fd = TAKE_FD(connected);
	return 0;
}

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t left = left_ns(deadline_ns);
	int n = poll(&pfd, 1, (int)(left / NSEC_PER_MSEC));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

int unix_client_send(int fd, const void *data, size_t size, uint64_t deadline_ns)
{
	const char *at = data;

	while (size > 0) {
		int err = wait_for(fd, POLLOUT, deadline_ns);
		ssize_t n = err < 0 ? 0 : send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (err < 0)
			return err;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int unix_client_receive(int fd, void *data, size_t size, uint64_t deadline_ns, size_t *got)
{
	size_t have = 0;

	while (have < size) {
		int err = wait_for(fd, POLLIN, deadline_ns);
		ssize_t n = err < 0 ? 0 : recv(fd, (char *)data + have, size - have, MSG_DONTWAIT);

		if (err < 0)
			return err;
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		have += n > 0 ? (size_t)n : 0;
	}
	*got = have;
	return 0;
}
