/* SPDX-License-Identifier: Apache-2.0 */
/* store/compact.h - merges a run of segments into one. */
#pragma once

#include "base/err.h"
#include "store/retention.h"
#include "store/store.h"

/* Writes the merged segment and removes its sources. After a crash in between, the next store_open
 * removes sources that are left. -EBADMSG: a segment is damaged, and *bad is its index; the caller
 * drops it or sets it aside, or the run fails for ever. */
int compact_run(struct store *store, const struct retention_run *run, size_t *bad, struct why *why);
