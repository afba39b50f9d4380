/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/parts.c - hidden subcommands, which are parts of stoker that it executes anew. They have no
 * arguments and print nothing: everything goes through their socket. None ends by exit(3): a
 * sandbox need not allow what libraries and sanitizers do at the end. */
#include <unistd.h>

#include "cmd/cmd.h"
#include "http/server.h"
#include "worker/fetcher.h"
#include "worker/worker.h"

int cmd_worker(int argc, char **argv, struct log *log)
{
	(void)argc, (void)argv, (void)log;
	_exit(worker_main(WORKER_FD));
}

int cmd_fetcher(int argc, char **argv, struct log *log)
{
	(void)argc, (void)argv, (void)log;
	_exit(fetcher_main(WORKER_FD));
}

int cmd_http(int argc, char **argv, struct log *log)
{
	(void)argc, (void)argv, (void)log;
	_exit(http_server_main(WORKER_FD));
}
