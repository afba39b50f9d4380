/* SPDX-License-Identifier: Apache-2.0 */
/* unseen_stops.h - for tests that make a process hang by SIGSTOP, which would be seen and undone.
 * Link: -Wl,--wrap=waitid,--wrap=kill */
#pragma once

#include <signal.h>
#include <sys/wait.h>

static enum {
	STOPS_UNSEEN,
	STOPS_SEEN,
	STOPS_STAY, /* a stopped process is seen, and does not go on */
} stops;

int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return stops == STOPS_UNSEEN ? 0 : __real_waitid(type, id, info, options);
}

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal)
{
	return stops == STOPS_STAY && signal == SIGCONT ? 0 : __real_kill(pid, signal);
}
