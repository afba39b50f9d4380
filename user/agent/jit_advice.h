/* SPDX-License-Identifier: Apache-2.0 */
/* agent/jit_advice.h - says which process lacks names of code that was compiled at run time, and
 * the option that its runtime needs. */
#pragma once

#include "agent/naming.h"

/* The interval's frames are named and counted. Keeps the process with most frames without a perf
 * map, of this interval and those before. */
void jit_advice_count(const struct naming *naming, struct account_jit *most);
/* Appends the lines, if many of all frames need it. */
void jit_advice_put(const struct account *account, struct buf *out);
