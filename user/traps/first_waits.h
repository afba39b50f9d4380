/* SPDX-License-Identifier: Apache-2.0 */
/* traps/first_waits.h - a part of the first page: where threads waited, and for what, before a trap
 * fired, after, and in the ten minutes before. */
#pragma once

#include "base/buf.h"
#include "traps/traps.h"

/* earlier: NULL, or with the subject's waits from a store. 0 or -ENOMEM. */
int first_waits_put(
	const struct trap_capture *capture, const struct profile *earlier, struct buf *out);
