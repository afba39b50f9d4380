/* SPDX-License-Identifier: Apache-2.0 */
/* elf/build_id.c - searches notes for the build ID.
 * A separate debug file has notes at the section's offset, but its program headers still describe
 * the stripped file; a file without section headers has only program headers. So both are tried,
 * and a malformed note ends its run of notes only, not the search. */
#include "elf/build_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

static size_t padded(uint32_t len)
{
	return ((size_t)len + 3) & ~(size_t)3;
}

/* Name and descriptor are padded to 4 bytes; the last one's padding may be missing. */
static bool find_in(struct cursor c, struct build_id *out)
{
	while (cursor_left(&c) > 0) {
		uint32_t name_len = cursor_u32(&c), desc_len = cursor_u32(&c);
		uint32_t type = cursor_u32(&c);
		struct bytes name = cursor_bytes(&c, padded(name_len));
		struct bytes desc = cursor_bytes(&c, desc_len);

		if (c.bad)
			return false;
		if (type == NT_GNU_BUILD_ID && name_len == sizeof(ELF_NOTE_GNU) &&
			memcmp(name.data, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
			desc_len > 0 && desc_len <= BUILD_ID_BYTES_MAX) {
			memcpy(out->bytes, desc.data, desc_len);
			out->len = desc_len;
			return true;
		}
		cursor_skip(&c, padded(desc_len) - desc_len);
	}
	return false;
}

static bool find_in_segments(struct image *image, struct build_id *out)
{
	for (size_t i = 0; i < image_segments(image); i++) {
		const struct image_segment *s = image_segment(image, i);
		struct cursor c = cursor_init(image->file.data, image->file.len);

		if (s->type != PT_NOTE)
			continue;
		cursor_seek(&c, s->file_offset);
		if (find_in(cursor_sub(&c, s->file_size), out))
			return true;
	}
	return false;
}

int build_id_find(struct image *image, struct build_id *out)
{
	if (find_in_segments(image, out))
		return 0;
	for (size_t i = 0; i < image_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);
		struct bytes notes;

		if (s->type != SHT_NOTE || image_section_bytes(image, s, &notes) < 0)
			continue;
		if (find_in(cursor_init(notes.data, notes.len), out))
			return 0;
	}
	return -ENOENT;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

void build_id_hex(const struct build_id *id, char out[BUILD_ID_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->len; i++) {
		out[2 * i] = digits[id->bytes[i] >> 4];
		out[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	out[2 * id->len] = '\0';
}
