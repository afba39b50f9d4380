/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/fetcher.c - the hidden subcommand by which the agent starts the process that speaks to
 * debuginfod servers. It reads no argument: the socket that it was given says all. */
#include "cmd/cmd.h"
#include "worker/fetcher.h"
#include "worker/worker.h"

int cmd_fetcher(int argc, char **argv, struct log *log)
{
	(void)argc;
	(void)argv;
	(void)log;
	return fetcher_main(WORKER_FD);
}
