/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/worker.c - the hidden subcommand by which the agent starts its workers. It reads no argument
 * and says nothing: the socket that it was given is all there is. */
#include "cmd/cmd.h"
#include "worker/worker.h"

int cmd_worker(int argc, char **argv, struct log *log)
{
	(void)argc;
	(void)argv;
	(void)log;
	return worker_main(WORKER_FD);
}
