/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/stops.c - the signals of all children are one, and one is kept while it is not read. */
#include "daemon/stops.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/starter.h"

static int watch(struct stops *stops, int how, bool muted)
{
	struct epoll_event event = { .events = muted ? 0 : EPOLLIN };

	return epoll_ctl(stops->epoll_fd, how, stops->fd, &event) < 0 ? -errno : 0;
}

int stops_open(struct stops *stops, int epoll_fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*stops = (struct stops){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
		.epoll_fd = epoll_fd };
	return stops->fd < 0 ? -errno : watch(stops, EPOLL_CTL_ADD, false);
}

void stops_close(struct stops *stops)
{
	fd_close(&stops->fd);
}

bool stops_heard(struct stops *stops)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct signalfd_siginfo signal;

	if (stops->muted && now < stops->due_ns)
		return false;
	if (read(stops->fd, &signal, sizeof(signal)) == sizeof(signal)) {
		stops->muted = stops->muted || watch(stops, EPOLL_CTL_MOD, true) == 0;
		stops->due_ns = now + STARTER_WAKE_NS;
		return true;
	}
	stops->muted = stops->muted && watch(stops, EPOLL_CTL_MOD, false) < 0;
	return false;
}

uint64_t stops_due_ns(const struct stops *stops)
{
	return stops->muted ? stops->due_ns : CLOCK_NEVER_NS;
}
