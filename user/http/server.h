/* SPDX-License-Identifier: Apache-2.0 */
/* http/server.h - the process that serves HTTP: `stoker http`, started by the daemon with
 * one end of a socket pair (http/proto.h) and nothing else. It is shut in
 * (sandbox_enter_server) before it reads a byte of a request. */
#pragma once

#define HTTP_EXIT_LIBRARY 70 /* libmicrohttpd is not there */

/* Does not return once it serves; before that, with an exit status. */
int http_server_main(int socket_fd);
