/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jit_tier.h - the tier that .NET's perf map puts behind a method's name, such as
 * `void [Work] Demo::Run()[OptimizedTier1]`: one method, compiled several times. */
#pragma once

#include <stddef.h>

/* Length of the name without its tier; all of it when it has none. */
size_t jit_tier_strip(const char *name);
