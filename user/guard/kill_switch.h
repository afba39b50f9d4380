/* SPDX-License-Identifier: Apache-2.0 */
/* guard/kill_switch.h - while one of these files of root's exists, nothing samples on this host:
 * whoever has to stop all of it needs to know no configuration and no process. */
#pragma once

#include "base/err.h"

#define KILL_SWITCH_HOST "/etc/stoker/off"
#define KILL_SWITCH_BOOT "/run/stoker/off" /* until the next boot */

struct kill_switch {
	int fd; /* readable when the answer may be another; -1: look each second */
	int folders, mounts;
	const char *found; /* the last answer */
};

/* Nothing is attached after two seconds: what is not over by itself is killed then. */
#define KILL_SWITCH_NS (1500 * NSEC_PER_MSEC)
#define KILL_SWITCH_LOOK_MS 1000 /* where it cannot be watched */

#define KILL_SWITCH_INIT                                \
	{                                               \
		.fd = -1, .folders = -1, .mounts = -1, \
	}

/* The path of a file that exists; NULL: none. Another user's file is none. */
const char *kill_switch_find(void);
/* For a command that samples: -EPERM with why while it is on, else 0; why->text speaks of a file of
 * another user, or is "". */
int kill_switch_check(struct why *why);

void kill_switch_open(struct kill_switch *s);
/* Takes what came and answers as kill_switch_find, by a few system calls. */
const char *kill_switch_look(struct kill_switch *s);
void kill_switch_close(struct kill_switch *s);
