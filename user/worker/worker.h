/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h - the process that reads files which profiled processes can write.
 * The client starts this program again as `stoker worker` with one end of a socket pair and nothing
 * else. It enters the sandbox (worker/sandbox.h) before it reads the first byte, and ends when the
 * client closes its end. */
#pragma once

#define WORKER_ARGUMENT "worker" /* the hidden subcommand */
#define WORKER_FD 3              /* descriptor of the socket */

/* Limits of symbols and perf maps in one worker. Beyond them the least recently used are dropped,
 * and loaded again on demand. */
#define WORKER_KEPT_BYTES_MAX (256UL << 20)
#define WORKER_KEPT_MAX 16384
/* Limit of symbols where memory matters more than time: they are rebuilt in milliseconds. */
#define WORKER_SYMBOLS_BYTES_MAX (12UL << 20)

/* Exit codes of a worker. */
enum worker_exit {
	WORKER_EXIT_END = 0,      /* the client closed the socket */
	WORKER_EXIT_SOCKET = 64,  /* not started by a client */
	WORKER_EXIT_SANDBOX = 65, /* the sandbox failed */
	WORKER_EXIT_PROTOCOL = 66,
	WORKER_EXIT_MEMORY = 67,
	WORKER_EXIT_FAULT = 68, /* SIGBUS outside a mapped file */
};

/* Does not return after it has begun to serve; before that it returns an enum worker_exit for
 * exit(). Call it before any thread exists. */
int worker_main(int socket_fd);
