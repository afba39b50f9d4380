/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - a name: demangled, without its tier, made clean. */
#include "base/utf8.h"
#include "fuzz.h"
#include "sym/demangle.h"
#include "jitmap/jit_tier.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *name = text_of(data, size);
	_cleanup_(freep) char *clear = demangle(name);
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	must(jit_tier_strip(name) <= strlen(name));
	if (clear)
		must(strlen(clear) <= DEMANGLE_OUT_MAX);
	must(utf8_put_clean(&clean, clear ? clear : name) == 0);
	for (size_t i = 0; i < clean.len; i += utf8_char_len(clean.data + i))
		must((uint8_t)clean.data[i] >= 0x20 && utf8_char_len(clean.data + i) > 0);
	return 0;
}
