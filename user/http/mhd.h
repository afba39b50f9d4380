/* SPDX-License-Identifier: Apache-2.0 */
/* http/mhd.h - libmicrohttpd, loaded by the one process that needs it: it brings a TLS library
 * with it. The members are that library's functions of the same names. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

struct mhd {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_get_connection_values_n) *get_connection_values_n;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_suspend_connection) *suspend_connection;
	__typeof__(MHD_resume_connection) *resume_connection;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_create_response_from_fd) *create_response_from_fd;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
};

/* False: the library is not installed, or lacks one of the functions. */
bool mhd_load(struct mhd *out);
