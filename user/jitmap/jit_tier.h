/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jit_tier.h - .NET's perf map adds a tier to a method's name, as in `void [Work]
 * Demo::Run()[OptimizedTier1]`: the same method, compiled several times. */
#pragma once

#include <stddef.h>

/* Length of the name without its tier. */
size_t jit_tier_strip(const char *name);
