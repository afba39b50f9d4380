/* SPDX-License-Identifier: Apache-2.0 */
/* await_death.h - for tests that end processes of others. */
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Waits until the process is gone, or a zombie. */
static inline void await_death(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { fd, POLLIN, 0 };

	if (fd < 0)
		return;
	assert_int_equal(poll(&ended, 1, 10000), 1);
	close(fd);
}
