/* SPDX-License-Identifier: Apache-2.0 */
/* service_done.h - the end of a service whose process goes on. A worker's ends with it. */
#pragma once

#include "worker/service.h"

static inline void service_done(struct service *service)
{
	proto_close_fds(&service->in);
	kept_done(&service->kept);
}
