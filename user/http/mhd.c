/* SPDX-License-Identifier: Apache-2.0 */
/* http/mhd.c - by dlopen, so that no other process has it; it stays loaded. */
#include "http/mhd.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/own.h"

#define LIBRARY "libmicrohttpd.so.12"

#define MEMBER(name)                                     \
	{                                                \
		"MHD_" #name, offsetof(struct mhd, name) \
	}

static const struct member {
	const char *name;
	size_t offset;
} members[] = {
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
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < ARRAY_SIZE(members); i++) {
		void *function = dlsym(library, members[i].name);

		if (!function)
			return false;
		*(void **)((char *)out + members[i].offset) = function;
	}
	return library != NULL;
}
