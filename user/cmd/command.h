/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/command.h - the COMMAND of `record -- COMMAND`: its process is started at once and executes
 * it when sampling has begun. */
#pragma once

#include <stdbool.h>

#include "base/child.h"
#include "base/err.h"
#include "base/log.h"
#include "wire/exit_status.h"

struct command {
	struct child child;
	bool stopped;     /* by command_stop */
	int exec_errno;   /* why it was not executed; 0: it was, or was not tried */
	struct child_end end;
	bool ended;       /* and end says how */
};

#define COMMAND_INIT                 \
	{                            \
		.child = CHILD_INIT, \
	}

int command_start(struct command *command, char **argv, struct why *why);
/* Lets it exec. -errno with why when the exec fails. */
int command_go(struct command *command, const char *name, struct why *why);
/* Reaps it if it has ended, or does within so many milliseconds. */
bool command_ended(struct command *command, int wait_ms);
/* Sends SIGTERM to a command that runs. False: none runs. */
bool command_stop(struct command *command);
/* Waits for the end of a stopped command, for ten seconds or until stop_fd is readable; then it is
 * killed. -ETIMEDOUT: it was. -EPERM: it is another user's, and goes on. */
int command_close(struct command *command, int stop_fd);
/* After the profile was written: the same, with messages about name. killed: by the kill switch, so
 * it is left alone. */
void command_finish(
	struct command *command, const char *name, bool killed, int stop_fd, struct log *log);
/* The exit status of a record whose own is so: the command's as a shell gives it, if it ended by
 * itself; a signal that ended it is said. */
int command_exit(
	const struct command *command, const char *name, enum exit_status own, struct log *log);
/* The same where the words of record's argv are wrong. */
enum exit_status command_exit_usage(char **argv);
/* Leaves a command that was not closed; one that has not been let exec ends. */
void command_done(struct command *command);
