/* SPDX-License-Identifier: Apache-2.0 */
/* client/inquiry.h - what a container runtime's own socket says of a container, where its files do
 * not. Asked by the process that fetches (client/fetch.h), which has no privileges; the connection
 * is made here. What comes is a file for a worker to read.
 * The protocol: Docker Engine API, `GET /containers/ID/json`, as Podman speaks it too. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct inquiry;

/* path: of the socket. Starts the process: to be called before there is anything in this one to be
 * kept from it. */
int inquiry_open(const char *path, struct inquiry **out, struct why *why);
void inquiry_free(struct inquiry *inquiry);
/* Waits until then. *fd: the answer, the caller's, to be read as STATE_DOCKER. -ENOENT: it does not
 * know that container; -ETIMEDOUT and others: and it is not asked again. */
int inquiry_ask(struct inquiry *inquiry, const char *id, uint64_t until_ns, int *fd);
