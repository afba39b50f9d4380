/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/kill_switch.h - while one of these files of root's exists, nothing samples on this host:
 * whoever has to stop all of it needs to know no configuration and no process. */
#pragma once

#define KILL_SWITCH_HOST "/etc/stoker/off"
#define KILL_SWITCH_BOOT "/run/stoker/off" /* until the next boot */

struct kill_switch {
	int fd;            /* readable when the answer may be another; -1: look each second */
	const char *found; /* the last answer */
};

#define KILL_SWITCH_INIT  \
	{                 \
		.fd = -1, \
	}

/* The path of a file that exists; NULL: none. Another user's file is none. */
const char *kill_switch_find(void);

void kill_switch_open(struct kill_switch *kill_switch);
/* Takes what came and answers as kill_switch_find; cheap where nothing came. */
const char *kill_switch_look(struct kill_switch *kill_switch);
/* Ends this process before two seconds have passed, whatever it does, and all that it attached. */
void kill_switch_hurry(void);
void kill_switch_close(struct kill_switch *kill_switch);
