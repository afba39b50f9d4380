/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame.c - the bytes of a call frame section, behind one byte that says of what kind. */
#include <elf.h>

#include "elf/eh_frame.h"
#include "fuzz.h"

static int take(void *arg, const struct eh_frame_fde *fde)
{
	(void)arg;
	must(fde->size > 0 && fde->rows_len > 0);
	touch(fde->rows, fde->rows_len * sizeof(*fde->rows));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eh_frame_stats stats = { 0 };
	struct eh_frame eh = { 0 };

	if (size < 1)
		return 0;
	eh = (struct eh_frame){
		.data = { data + 1, size - 1 },
		.vaddr = 0x401000,
		.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64,
		.debug_frame = data[0] & 2,
		.ends_at_zero = data[0] & 4,
	};
	eh_frame_walk(&eh, take, NULL, &stats);
	return 0;
}
