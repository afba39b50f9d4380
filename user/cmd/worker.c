/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/worker.c - the hidden subcommand that the agent starts as a worker. It has no arguments and
 * prints nothing: everything goes through its socket. */
#include "cmd/cmd.h"
#include "worker/worker.h"

int cmd_worker(int argc, char **argv, struct log *log)
{
	(void)argc;
	(void)argv;
	(void)log;
	return worker_main(WORKER_FD);
}
