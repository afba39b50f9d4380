/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/fetcher.c - the hidden subcommand that the agent starts to talk to debuginfod servers. It has
 * no arguments: everything comes through its socket. */
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
