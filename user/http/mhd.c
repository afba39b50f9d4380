/* SPDX-License-Identifier: Apache-2.0 */
/* http/mhd.c - loads the library at run time, so that no other process has it. */
#include "http/mhd.h"

#include <stddef.h>

#include "base/library.h"
#include "base/own.h"

#define MEMBER(name)                                     \
	{                                                \
		"MHD_" #name, offsetof(struct mhd, name) \
	}

static const struct library_symbol members[] = {
	MEMBER(start_daemon),
	MEMBER(run),
	MEMBER(get_timeout),
	MEMBER(get_daemon_info),
	MEMBER(get_connection_info),
	MEMBER(get_connection_values_n),
	MEMBER(lookup_connection_value),
	MEMBER(suspend_connection),
	MEMBER(resume_connection),
	MEMBER(create_response_from_buffer),
	MEMBER(create_response_from_fd),
	MEMBER(add_response_header),
	MEMBER(queue_response),
	MEMBER(destroy_response),
};

bool mhd_load(struct mhd *out)
{
	static const char *const files[] = { "libmicrohttpd.so.12", NULL };

	return library_load(files, members, ARRAY_SIZE(members), out);
}
