/* SPDX-License-Identifier: Apache-2.0 */
/* store/when.h - parses a moment as a person writes it:
 *     now · 2h, 30m, 1d, 90s (ago) · today, yesterday (their midnight) ·
 *     03:12, 03:12:30 (the latest such time) ·
 *     2026-11-21, 2026-11-21 03:12, 2026-11-21T03:12:30 (local time; UTC with Z after it) ·
 *     @EPOCH, @EPOCH.MS */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* CLOCK_REALTIME. -EINVAL with why. */
int when_parse(const char *text, uint64_t now_ns, uint64_t *out, struct why *why);
