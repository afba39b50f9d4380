/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/signals.c - signals that end a capture are read in the loop, apart from errors. */
#include "daemon/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"

#define TWICE_NS NSEC_PER_SEC /* on a busy host */

int signals_open(int *fd, struct why *why)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Both come as errors of the write. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? why_set(why, -errno, "cannot wait for signals: %s", err_text(errno)) : 0;
}

static bool comes_twice(int signo, bool passed_on)
{
	static struct {
		int signo;
		bool passed_on;
		uint64_t ns;
	} last;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool twice = last.signo == signo && last.passed_on != passed_on &&
		now - last.ns < TWICE_NS;

	last.signo = twice ? 0 : signo;
	last.passed_on = passed_on;
	last.ns = now;
	return twice;
}

int signals_take(int fd)
{
	struct signalfd_siginfo got;

	while (read(fd, &got, sizeof(got)) == sizeof(got))
		if (!comes_twice((int)got.ssi_signo, (pid_t)got.ssi_pid == getppid()))
			return (int)got.ssi_signo;
	return 0;
}
