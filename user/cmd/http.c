/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/http.c - the hidden subcommand that the daemon starts to serve HTTP. It has no arguments:
 * everything comes through its socket. */
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
