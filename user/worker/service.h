/* SPDX-License-Identifier: Apache-2.0 */
/* worker/service.h - what a worker does with one request: descriptors and addresses in, rows and
 * names out. It is all that reads what profiled processes can write, so it runs inside of the
 * sandbox; tests and fuzzers call it without. */
#pragma once

#include "worker/kept.h"
#include "wire/proto.h"

struct service {
	struct proto_message in, out; /* their descriptors are the service's */
	struct kept kept;
};

/* For a service that is all zeros, or has answered before: `in` is a request that
 * proto_request_valid() let through; `out` becomes its reply. The caller has sent or closed the
 * descriptors of the reply before. */
void service_answer(struct service *service);
void service_done(struct service *service);
