/* SPDX-License-Identifier: Apache-2.0 */
/* containers/inquiry.h - asks a container runtime's own socket about a container that its files do
 * not describe. The fetcher (files/fetch.h) asks, which has no privileges; the connection is made
 * here. The answer is a file for a worker to read.
 * The protocol: Docker Engine API, `GET /containers/ID/json`, as Podman speaks it too. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct inquiry;
struct starter;

/* path: of the socket. starter: its duties have the fetcher. */
int inquiry_open(
	const char *path, struct starter *starter, struct inquiry **out, struct why *why);
void inquiry_free(struct inquiry *inquiry);
/* Waits until then. *fd: the answer, the caller's, to be read as STATE_DOCKER. -ENOENT: the runtime
 * does not know that container; -ETOOMANYREFS: nothing can be sent now (base/fd.h); -ETIMEDOUT and
 * others: the runtime is not asked again. */
int inquiry_ask(struct inquiry *inquiry, const char *id, uint64_t until_ns, int *fd);
