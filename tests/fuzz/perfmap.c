/* SPDX-License-Identifier: Apache-2.0 */
/* perfmap.c - a perf map that comes in pieces, asked in between. */
#include "fuzz.h"
#include "jitmap/jit_tier.h"
#include "jitmap/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perfmap_limits limits = { 4096, 65536 };
	size_t piece = size > 0 ? 1 + data[0] : 1;
	struct perfmap map;

	must(perfmap_init(&map, &limits) == 0);
	for (size_t at = 0; at < size; at += piece) {
		const char *name;

		must(perfmap_feed(&map, data + at, size - at < piece ? size - at : piece) == 0);
		for (uint64_t addr = 0; addr < 0x400; addr += 0x3d)
			if (perfmap_find(&map, addr, &name))
				must(jit_tier_strip(name) <= strlen(name));
	}
	must(map.stats.ranges <= 2 * limits.ranges_max);
	if (size > 1 && data[1] & 1)
		must(perfmap_reset(&map) == 0);
	perfmap_done(&map);
	return 0;
}
