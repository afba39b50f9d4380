/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/command.h - the COMMAND of `record -- COMMAND`: its process is started at once and executes
 * it when sampling has begun. */
#pragma once

#include <stdbool.h>

#include "base/child.h"
#include "base/err.h"

struct command {
	struct child child;
};

#define COMMAND_INIT                 \
	{                            \
		.child = CHILD_INIT, \
	}

int command_start(struct command *command, char **argv, struct why *why);
/* Lets it exec. -errno with why when the exec fails. */
int command_go(struct command *command, const char *name, struct why *why);
/* Reaps it if it has ended. */
bool command_ended(struct command *command);
/* A command that runs goes on. */
void command_done(struct command *command);
