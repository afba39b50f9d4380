/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image.h - one ELF file that lies in memory: its segments, its sections, their bytes.
 * 64-bit little-endian executables and shared objects (separate debug files too) of any machine;
 * everything else is refused with a reason. The bytes are hostile: every table is bounded by the
 * bytes that are there and by the limits below. Not for two threads at once.
 * Source: System V gABI, chapters 4 (ELF header, sections, compression) and 5 (program headers). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"

#define IMAGE_SEGMENTS_MAX 128
#define IMAGE_SECTIONS_MAX 65536
/* What the decompressed sections of one image may take together, and how far one may swell. */
#define IMAGE_INFLATED_BYTES_MAX (256UL << 20)
#define IMAGE_INFLATE_RATIO_MAX 256

struct image_segment {
	uint32_t type;  /* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t file_offset;
	uint64_t file_size; /* no more than the file holds */
	uint64_t vaddr;
	uint64_t mem_size;
};

struct image_section {
	const char *name; /* never NULL; "" where there is none, or over 255 bytes */
	uint32_t type;    /* SHT_* */
	uint32_t link;
	uint32_t info;
	uint64_t flags; /* SHF_* */
	uint64_t vaddr;
	uint64_t file_offset;
	uint64_t size; /* as in the file: of a compressed section, the compressed size */
	uint64_t entry_size;
};

struct image {
	struct bytes file; /* the caller's; outlives the image */
	uint16_t type;     /* ET_EXEC or ET_DYN */
	uint16_t machine;  /* EM_* */
	uint64_t entry;    /* vaddr of the entry point */
	struct image_segment *segments;
	size_t segments_len;
	struct image_section *sections; /* by section index; 0 is the null section */
	size_t sections_len;
	struct bytes *inflated; /* by section index; allocated at the first need */
	size_t inflated_bytes;  /* of all of them */
	/* Called now and then by who reads the file from end to end: whoever mapped it may give
	 * back what memory it has so far. NULL: nobody. */
	void (*passed)(void *arg);
	void *passed_arg;
};

/* Reads the headers. data must stay as it is until image_done. -ENOEXEC: no ELF, or one of a kind
 * that is not read; -EBADMSG: an ELF whose headers lead out of its bytes or over a limit. */
int image_init(struct image *image, const void *data, size_t len, struct why *why);
/* The same for a file of any type: split debugging information is in relocatable ones. */
int image_init_part(struct image *image, const void *data, size_t len, struct why *why);
void image_done(struct image *image);

size_t image_segments(const struct image *image);
/* i < image_segments() */
const struct image_segment *image_segment(const struct image *image, size_t i);

size_t image_sections(const struct image *image);
/* NULL when there is none: no such index, name or type. The first one where several match. */
const struct image_section *image_section_at(const struct image *image, size_t index);
const struct image_section *image_section_find(const struct image *image, const char *name);
const struct image_section *image_section_by_type(const struct image *image, uint32_t type);

/* A section's bytes, decompressed where SHF_COMPRESSED says so (zlib, zstd); they live as long as
 * the image. -ENODATA: SHT_NOBITS or the null section, nothing in this file; -EBADMSG: not within
 * the file, or does not decompress to the size it states; -EFBIG: over a limit above; -ENOTSUP: a
 * compression that is not known; -ENOMEM. */
int image_section_bytes(
	struct image *image, const struct image_section *section, struct bytes *out);

/* By PT_LOAD, and only where the file holds the byte. Executable segments go first, should two
 * claim one place. False: no segment has it. */
bool image_vaddr_to_offset(const struct image *image, uint64_t vaddr, uint64_t *offset);
/* The PT_LOAD that it goes by; NULL. */
const struct image_segment *image_vaddr_segment(const struct image *image, uint64_t vaddr);
bool image_offset_to_vaddr(const struct image *image, uint64_t offset, uint64_t *vaddr);
/* Is the byte at this file offset in a PT_LOAD that can be executed? */
bool image_offset_is_code(const struct image *image, uint64_t offset);
