/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.c - whole reads and writes, and descriptors passed to another process. No descriptor is
 * leaked on any path. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#ifndef MFD_EXEC
#define MFD_EXEC 16U
#endif

#define PROGRAM_PIECE (1U << 30)
#define READ_CHUNK_BYTES 65536
/* With these nobody can change a file; whether more seals may be added does not matter. */
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

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

int fd_rewrite(int fd, const void *data, size_t size)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return fd_write_all(fd, data, size);
}

/* vm.memfd_noexec=2 refuses a file that may be executed; before 6.3 there is no such flag. */
static int memory(const char *name, unsigned flags)
{
	int fd = memfd_create(name, flags | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create(name, flags | MFD_ALLOW_SEALING) : fd;
}

int fd_memory(const char *name)
{
	int fd = memory(name, MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int fd_seal(int memory_fd)
{
	_cleanup_fd_ int fd = memory_fd;

	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int program_memory(void)
{
	int fd = memfd_create("stoker", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	return fd < 0 && errno == EINVAL ? memfd_create("stoker", MFD_CLOEXEC | MFD_ALLOW_SEALING)
					 : fd;
}

int fd_own_program(void)
{
	_cleanup_fd_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int to = from < 0 ? -1 : program_memory();
	ssize_t len = 1;

	while (to >= 0 && len > 0)
		len = sendfile(to, from, NULL, PROGRAM_PIECE);
	return to < 0 || len < 0 || fchmod(to, 0555) < 0 ? -errno : fd_seal(TAKE_FD(to));
}

bool fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS;
}

int fd_in_memory(const char *name, const void *data, size_t size, int *fd)
{
	_cleanup_fd_ int made = fd_memory(name);
	int err = made < 0 ? made : fd_write_all(made, data, size);
	int sealed = err < 0 ? err : fd_seal(TAKE_FD(made));

	if (sealed < 0)
		return sealed;
	*fd = sealed;
	return 0;
}

const char *fd_memory_text(int err)
{
	return err == -EFBIG
		? "file too large; files in memory count, too: raise the limit with ulimit -f"
		: err_text(err);
}

int fd_open_null(int flags, int *fd)
{
	int made = open("/dev/null", O_RDWR | flags);

	if (made < 0) {
		made = memory("null", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
		made = made < 0 ? -errno : fd_seal(made);
	}
	if (made < 0)
		return made;
	*fd = made;
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

int fd_watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

const char *fd_watch_text(int err)
{
	return err == -ENOSPC
		? "no epoll watches are left to this user: end the process that has them, or raise "
		  "the sysctl fs.epoll.max_user_watches"
		: err_text(err);
}

int fd_pair(int *one, int *other)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*one = pair[0];
	*other = pair[1];
	return 0;
}

/* Room for one descriptor. */
union passed {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int fd_pass(int socket, const void *data, size_t size, int fd)
{
	union passed control = { 0 };
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int fd_take(int socket, int flags, void *data, size_t size, int *fd)
{
	union passed control = { 0 };
	struct iovec part = { data, size };
	/* Not all of control: there is room for a second descriptor at its end. */
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = fd ? &control : NULL,
		.msg_controllen = fd ? CMSG_LEN(sizeof(int)) : 0 };
	ssize_t len = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	/* Also a message of no bytes may have a descriptor. */
	const struct cmsghdr *head = fd && len >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
		head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	if ((message.msg_flags & MSG_CTRUNC) && fd && *fd < 0 && len == (ssize_t)size)
		return -EMFILE;
	/* The kernel has cut a longer message, or one with more descriptors. */
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPIPE;
	return len == (ssize_t)size ? 0 : -EPIPE;
}
