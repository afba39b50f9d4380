/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - an ELF file's inlined functions and source lines. */
#include "fuzz.h"
#include "dwarf/inlined.h"

#define ADDRESSES 32

static void ask(struct inlined *inlined, uint64_t vaddr)
{
	struct inlined_frames frames;

	if (inlined_find(inlined, vaddr, &frames) != INLINED_FOUND)
		return;
	must(frames.len > 0 && frames.len <= INLINED_FRAMES_MAX);
	for (size_t i = 0; i < frames.len; i++) {
		touch_text(frames.all[i].name);
		touch_text(frames.all[i].path);
		touch_text(frames.all[i].file);
	}
}

static void ask_all(struct image *image, struct inlined *inlined)
{
	const struct image_section *text = image_section_find(image, ".text");

	for (uint64_t i = 0; i < ADDRESSES; i++) {
		ask(inlined, i * 0x81);
		if (text)
			ask(inlined, text->vaddr + i * (text->size / ADDRESSES));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inlined_input input = { .memory_max = 1 << 20, .work_max = 1 << 20 };
	struct inlined *inlined = NULL;
	struct image image;
	struct why why;

	if (image_init(&image, data, size, &why) < 0)
		return 0;
	input.image = &image;
	if (inlined_open(&input, &inlined) == 0) {
		ask_all(&image, inlined);
		inlined_free(inlined);
	}
	image_done(&image);
	return 0;
}
