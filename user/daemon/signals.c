/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/signals.c - signals that end a capture are read in the loop, apart from errors. */
#include "daemon/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

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
