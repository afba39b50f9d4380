/* SPDX-License-Identifier: Apache-2.0 */
/* worker/fetcher.h - the process that fetches debug files from debuginfod servers and asks
 * container runtimes. It has the network and no capability. */
#pragma once

/* As worker_main: does not return once it serves. */
int fetcher_main(int socket_fd);
