/* SPDX-License-Identifier: Apache-2.0 */
/* store/compact.h - a run of segments becomes one. */
#pragma once

#include "base/err.h"
#include "store/retention.h"
#include "store/store.h"

/* Writes the one and removes the others. A crash in between leaves the one, or the others, or what
 * the next store_open puts right. -EBADMSG: a segment is damaged, and *bad is its index: it is to
 * be dropped or set aside, else the run never goes. */
int compact_run(struct store *store, const struct retention_run *run, size_t *bad, struct why *why);
