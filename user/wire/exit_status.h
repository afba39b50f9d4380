/* SPDX-License-Identifier: Apache-2.0 */
/* wire/exit_status.h - exit statuses of the subcommands. The daemon starts `stoker record` for a
 * capture on demand and learns the outcome from these, not from the text. */
#pragma once

enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,     /* the command line is wrong */
	EXIT_NOT_FOUND = 3, /* no target of that name; nothing in the store or file matches */
	EXIT_AMBIGUOUS = 4, /* more than one */
	/* With a COMMAND, whose own statuses are passed on: as of timeout(1). */
	EXIT_NOT_OF_COMMAND = 125, /* in place of all of the above but EXIT_OK */
	EXIT_COMMAND_REFUSED = 126, /* the command could not be executed */
	EXIT_NO_COMMAND = 127,      /* or was not found */
};
