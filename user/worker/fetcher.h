/* SPDX-License-Identifier: Apache-2.0 */
/* worker/fetcher.h - the process that fetches debug files from debuginfod servers and queries
 * container runtimes. It has the network and no capability. */
#pragma once

/* Like worker_main: does not return after it has begun to serve. */
int fetcher_main(int socket_fd);
