/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image.h - one ELF file in memory: its segments, its sections, their bytes.
 * Little-endian executables and shared objects (and separate debug files) of any machine;
 * everything else is refused with a reason. 32-bit files get no unwind tables. The bytes are
 * untrusted: every table is bounded by the actual bytes and by the limits below. Not thread-safe.
 * Source: System V gABI, chapters 4 (ELF header, sections, compression) and 5 (program headers). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"

#define IMAGE_SEGMENTS_MAX 128
#define IMAGE_SECTIONS_MAX 65536
/* Limits of the decompressed sections of an image together, and of the growth of each. */
#define IMAGE_INFLATED_BYTES_MAX (256UL << 20)
#define IMAGE_INFLATE_RATIO_MAX 256

struct image_segment {
	uint32_t type;  /* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t file_offset;
	uint64_t file_size; /* at most the size of the file */
	uint64_t vaddr;
	uint64_t mem_size;
};

struct image_section {
	const char *name; /* never NULL; "" if there is none or it is over 255 bytes */
	uint32_t type;    /* SHT_* */
	uint32_t link;
	uint32_t info;
	uint64_t flags; /* SHF_* */
	uint64_t vaddr;
	uint64_t file_offset;
	uint64_t size; /* size in the file; of a compressed section, the compressed size */
	uint64_t entry_size;
};

struct image {
	struct bytes file; /* the caller's; outlives the image */
	uint16_t type;     /* ET_EXEC or ET_DYN */
	uint16_t machine;  /* EM_* */
	bool narrow;       /* ELFCLASS32: addresses, offsets and sizes have 4 bytes in the file */
	uint64_t entry;    /* vaddr of the entry point */
	struct image_segment *segments;
	size_t segments_len;
	struct image_section *sections; /* by section index; 0 is the null section */
	size_t sections_len;
	struct bytes *inflated; /* by section index; allocated at first use */
	size_t inflated_bytes;  /* total */
	/* Called from time to time while much of a file is read, so that its owner can
	 * release mapped memory. NULL: not needed. */
	void (*passed)(void *arg);
	void *passed_arg;
};

/* Some of the file has been read. */
static inline void image_pass(const struct image *image)
{
	if (image->passed)
		image->passed(image->passed_arg);
}

/* Reads the headers. data must not change until image_done. -ENOEXEC: not ELF, or an unsupported
 * kind; -EBADMSG: headers that point outside the file or exceed a limit. */
int image_init(struct image *image, const void *data, size_t len, struct why *why);
/* The same for any type of ELF file: split debugging information is in relocatable files. */
int image_init_part(struct image *image, const void *data, size_t len, struct why *why);
void image_done(struct image *image);

size_t image_segments(const struct image *image);
/* i < image_segments() */
const struct image_segment *image_segment(const struct image *image, size_t i);

size_t image_sections(const struct image *image);
/* NULL: no such index, name or type. The first match. */
const struct image_section *image_section_at(const struct image *image, size_t index);
const struct image_section *image_section_find(const struct image *image, const char *name);
const struct image_section *image_section_by_type(const struct image *image, uint32_t type);

/* A section's bytes, decompressed if it has SHF_COMPRESSED (zlib, zstd); valid as long as the
 * image. -ENODATA: SHT_NOBITS or the null section; -EBADMSG: outside the file, or the decompressed
 * size is not the stated one; -EFBIG: over a limit above; -ENOTSUP: an unknown compression;
 * -ENOMEM. */
int image_section_bytes(
	struct image *image, const struct image_section *section, struct bytes *out);

/* By PT_LOAD, for bytes that are in the file only. If two segments claim an address, an executable
 * one is preferred. False: no segment has it. */
bool image_vaddr_to_offset(const struct image *image, uint64_t vaddr, uint64_t *offset);
/* The PT_LOAD of the translation; NULL. */
const struct image_segment *image_vaddr_segment(const struct image *image, uint64_t vaddr);
bool image_offset_to_vaddr(const struct image *image, uint64_t offset, uint64_t *vaddr);
/* Is the byte at this file offset in an executable PT_LOAD? */
bool image_offset_is_code(const struct image *image, uint64_t offset);
