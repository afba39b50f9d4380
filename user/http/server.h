/* SPDX-License-Identifier: Apache-2.0 */
/* http/server.h - the process that serves HTTP: `stoker http`. The daemon starts it with one end of
 * a socket pair (http/proto.h) and nothing else. It enters its sandbox (sandbox_enter_server)
 * before it reads a byte of a request. */
#pragma once

#define HTTP_EXIT_LIBRARY 70 /* libmicrohttpd is not installed */
#define HTTP_EXIT_THREAD 71

/* The cause that an exit status names, for a message; NULL: none. */
const char *http_exit_text(int status);

/* Returns an exit status if it cannot serve; else it does not return. */
int http_server_main(int socket_fd);
