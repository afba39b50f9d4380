/* SPDX-License-Identifier: Apache-2.0 */
/* jitchange.h - SIGUSR1 asks a target to change its code or its map now, instead of at half time:
 * for tests that wait until they have seen enough of what was before. */
#pragma once

#include <signal.h>

static volatile sig_atomic_t change_asked;

static void ask_for_change(int signal)
{
	(void)signal;
	change_asked = 1;
}

static void change_on_signal(void)
{
	struct sigaction action = { .sa_handler = ask_for_change, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &action, NULL);
}
