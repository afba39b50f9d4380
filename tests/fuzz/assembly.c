/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.c - a PE file with compiled .NET methods. */
#include "fuzz.h"
#include "dotnet/r2r.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct r2r *r2r;

	if (r2r_load(data, size, &r2r) < 0)
		return 0;
	for (uint64_t at = 0; at < size; at += size / 512 + 1) {
		const char *name;
		uint64_t start;

		if (!r2r_find(r2r, at, &name, &start))
			continue;
		must(start <= at);
		touch_text(name);
	}
	r2r_free(r2r);
	return 0;
}
