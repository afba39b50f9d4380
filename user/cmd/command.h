/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/command.h - the COMMAND of `record -- COMMAND`: started, but held until sampling has begun.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct command {
	pid_t pid;  /* 0: none */
	int pidfd;  /* readable when it has ended */
	int gate;   /* written to when it may go */
	int status; /* of waitpid, once ended */
};

#define COMMAND_INIT                    \
	{                               \
		.pidfd = -1, .gate = -1 \
	}

int command_start(struct command *command, char **argv, struct why *why);
/* Lets it exec. -errno with why when the exec fails. */
int command_go(struct command *command, const char *name, struct why *why);
/* Reaps it if it has ended. */
bool command_ended(struct command *command);
void command_done(struct command *command);
