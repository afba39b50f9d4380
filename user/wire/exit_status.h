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
};
