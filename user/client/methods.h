/* SPDX-License-Identifier: Apache-2.0 */
/* client/methods.h - asks a worker for tables of HotSpot's code. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "language/java_reply.h"
#include "wire/status.h"

struct buf;
struct worker_client;

struct worker_methods {
	uint64_t id;       /* of their process: blamed if a worker is lost */
	int fd;            /* an image of its memory (language/java_image.h); borrowed */
	size_t codes_len;  /* in the image */
	uint64_t until_ns; /* deadline */
};

/* Waits. WORKER_OK: a valid reply is in *reply, which was empty. After WORKER_LATE,
 * WORKER_REFUSED and WORKER_DOWN a later query may succeed. */
enum worker_status worker_client_methods(
	struct worker_client *client, const struct worker_methods *methods, struct buf *reply);
