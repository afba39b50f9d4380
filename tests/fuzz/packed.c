/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - compressed bytes: an xz stream in a section, a zlib stream, zstd frames. */
#include "elf/inflate.h"
#include "fuzz.h"
#include "make_elf.h"
#include "dwarf/debug_data.h"

#define OUT_BYTES 65536

static void unpack_xz(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct image image;
	struct make_elf m;
	struct why why;

	make_elf_init(&m);
	make_elf_section(&m, ".gnu_debugdata", 1, 0, data, size);
	make_elf_finish(&m);
	must(image_init(&image, m.file.data, m.file.len, &why) == 0);
	if (debug_data_load(&image, &out) == 0)
		must(out.len <= DEBUG_DATA_BYTES_MAX);
	image_done(&image);
	make_elf_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[OUT_BYTES];

	if (size < 2)
		return 0;
	if (data[0] == 0xfd) {
		unpack_xz(data, size);
	} else {
		inflate_zlib((struct bytes){ data, size }, out, sizeof(out));
		inflate_zstd((struct bytes){ data, size }, out, sizeof(out));
	}
	return 0;
}
