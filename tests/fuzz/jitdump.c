/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump.c - a jitdump that comes in pieces, asked in between. */
#include "fuzz.h"
#include "jitmap/jitdump.h"

#define PIECE 97

static void ask(struct jitdump *dump, uint64_t at_ns)
{
	for (uint64_t addr = 0; addr < 0x400; addr += 0x3d) {
		struct jitdump_name name;

		if (!jitdump_find(dump, addr, at_ns, &name))
			continue;
		touch_text(name.name);
		touch_text(name.file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct jitdump_limits limits = { 1024, 65536, 65536 };
	struct jitdump dump;
	struct why why;

	must(jitdump_init(&dump, &limits) == 0);
	for (size_t at = 0; at < size; at += PIECE) {
		jitdump_feed(&dump, data + at, size - at < PIECE ? size - at : PIECE, &why);
		ask(&dump, at);
	}
	ask(&dump, UINT64_MAX);
	jitdump_done(&dump);
	return 0;
}
