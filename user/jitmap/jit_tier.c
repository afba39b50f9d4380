/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jit_tier.c - removes known tiers only: a name may end in its own brackets, as arrays do.
 * The list is from CoreCLR (PerfMapShowOptimizationTiers), releases 3 to 10. */
#include "jitmap/jit_tier.h"

#include <string.h>

#include "base/own.h"

static const char *const tiers[] = {
	"QuickJitted",
	"QuickJittedInstrumented",
	"OptimizedTier1",
	"OptimizedTier1OSR",
	"OptimizedTier1Instrumented",
	"Optimized",
	"MinOptJitted",
	"InstrumentedTier",
	"InstrumentedTierOptimized",
	"Instrumented",
	"ReadyToRun",
	"PreJIT",
	"PreJit-cold",
	"Unknown",
};

size_t jit_tier_strip(const char *name)
{
	size_t len = strlen(name), word;
	const char *open;

	if (len < 3 || name[len - 1] != ']')
		return len;
	open = strrchr(name, '[');
	if (!open || open == name)
		return len;
	word = len - 2 - (size_t)(open - name);
	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++)
		if (strlen(tiers[i]) == word && memcmp(tiers[i], open + 1, word) == 0)
			return (size_t)(open - name);
	return len;
}
