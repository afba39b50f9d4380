/* SPDX-License-Identifier: Apache-2.0 */
/* http/listener.h - the socket of `listen = ADDRESS:PORT`, `[ADDRESS6]:PORT`, `unix:PATH`, which
 * the daemon opens before it gives its privileges up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum listener_reach {
	LISTENER_LOOPBACK, /* also this host's browsers */
	LISTENER_UNIX,
	LISTENER_ANY,
};

struct listener {
	int fd;
	enum listener_reach reach;
	char path[108]; /* of a unix socket; "": none */
};

#define LISTENER_INIT     \
	{                 \
		.fd = -1, \
	}

/* Replaces an old unix socket without a listener. -EINVAL: text is none of the above; -EPERM:
 * others may change what the path of a unix socket leads to (place_check); -EADDRINUSE and other
 * errors of bind(2). On success the listener is the caller's. */
int listener_open(const char *text, struct listener *out, struct why *why);
/* Where a browser on this host finds it: http://HOST:PORT. -EINVAL with why: nowhere. */
int listener_address(const char *text, char *out, size_t size, struct why *why);
/* Removes a unix socket's name, if nobody listens on it and others may not change what the path
 * leads to. */
void listener_close(struct listener *listener);
