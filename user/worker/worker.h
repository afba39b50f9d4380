/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h - the process that reads what profiled processes can write.
 * It is this program, started anew by the client as `stoker worker` with one end of a socket pair
 * and nothing else; it shuts itself in (worker/sandbox.h) before it reads the first byte, and ends
 * when the other end does. */
#pragma once

#define WORKER_ARGUMENT "worker" /* the hidden subcommand */
#define WORKER_FD 3              /* where the socket is */

/* Symbols and perf maps that one worker keeps; beyond it those that were not used for the longest
 * time are dropped, and loaded again when they are asked for. */
#define WORKER_KEPT_BYTES_MAX (256UL << 20)
#define WORKER_KEPT_MAX 16384
/* Symbols, where memory is worth more than time: they are made again in milliseconds. */
#define WORKER_SYMBOLS_BYTES_MAX (12UL << 20)

/* How a worker ends by itself. */
enum worker_exit {
	WORKER_EXIT_END = 0,      /* the client closed the socket */
	WORKER_EXIT_SOCKET = 64,  /* not started by a client */
	WORKER_EXIT_SANDBOX = 65, /* the sandbox could not be had */
	WORKER_EXIT_PROTOCOL = 66,
	WORKER_EXIT_MEMORY = 67,
	WORKER_EXIT_FAULT = 68, /* SIGBUS outside of a mapped file */
};

/* Does not return once it has begun to serve; before that, an enum worker_exit for exit(). To be
 * called before any thread is made. */
int worker_main(int socket_fd);
