/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/http.c - the hidden subcommand by which the daemon starts the process that serves HTTP. It
 * reads no argument: the socket that it was given says all. */
#include "cmd/cmd.h"
#include "http/server.h"
#include "worker/worker.h"

int cmd_http(int argc, char **argv, struct log *log)
{
	(void)argc;
	(void)argv;
	(void)log;
	return http_server_main(WORKER_FD);
}
