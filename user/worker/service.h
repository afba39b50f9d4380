/* SPDX-License-Identifier: Apache-2.0 */
/* worker/service.h - a worker's answer to one request: descriptors and addresses in, rows and names
 * out. Only this code reads files that profiled processes can write, so it runs inside the sandbox;
 * tests and fuzzers call it without. */
#pragma once

#include "worker/kept.h"
#include "wire/proto.h"

struct service {
	struct proto_message in, out; /* the service owns their descriptors */
	struct kept kept;
};

/* For a service that is zeroed or was used before: `in` is a request that proto_request_valid()
 * accepted; `out` becomes its reply. The caller must have sent or closed the previous reply's
 * descriptors. */
void service_answer(struct service *service);
