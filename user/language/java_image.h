/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_image.h - copies of ranges of a process's memory, from which language/java_code.h
 * makes tables. The reader says which ranges it lacks, they are copied, and it reads again from the
 * start: so it needs no memory between, and whoever copies does not look at the bytes.
 * An image is a run of bytes: the head, the codes, the ranges, and what is in these. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/abi.h"

#define JAVA_IMAGE_BYTES_MAX (4U << 20)
#define JAVA_RANGE_BYTES_MAX (1U << 20)
#define JAVA_RANGES_MAX 16384
#define JAVA_CODES_MAX 32
#define JAVA_CONST_BYTES 64 /* of a method's unchanging part, with the offsets of the rest */

/* Where a version of HotSpot keeps what. Offsets are bytes. */
struct java_layout {
	uint16_t block_bytes; /* from a block of a heap of code to its blob */
	uint16_t block_used;  /* in the block, a byte: it is in use */
	uint16_t method;      /* in a blob */
	uint16_t compile_id;
	uint16_t frame_complete; /* with code_is_offset u16, else u32 */
	uint16_t code;        /* with code_is_offset u32: offset in the blob; else an address */
	uint16_t stub;        /* u32: in the blob, where its code ends; 0: unknown */
	uint16_t tables;      /* address of its tables; 0: they and metadata are in the blob */
	uint16_t scopes_data; /* in the tables, u32; in the blob, an address */
	uint16_t pcs;         /* in the tables, u32 */
	uint16_t pcs_end;
	uint16_t metadata;    /* in the blob, u32; with tables, the address of what it is in, */
	uint16_t relocation_bytes; /* after so many bytes, u32 */
	uint16_t method_const;
	uint16_t const_words; /* u32: of the method's unchanging part */
	uint16_t const_constants;
	uint16_t const_name, const_code_size; /* u16 */
	uint16_t const_flags; /* bit 0: a table of lines follows the bytecode */
	uint16_t const_bytes; /* the bytecode follows */
	uint16_t pool_bytes;  /* the constants follow */
	uint16_t pool_holder;
	uint16_t pool_source; /* u16: constant with the source file's name; 0: unknown */
	uint16_t klass_name;
	uint16_t symbol_length; /* u16 */
	uint16_t symbol_body;
	uint8_t code_is_offset;
	uint8_t has_scopes; /* else it is known of no blob where its tables are */
	uint16_t version; /* as that of struct event_code */
};

/* A code, as BPF saw it. */
struct java_wanted {
	uint64_t method, blob; /* as in struct event_code */
	uint32_t compile_id;
	uint16_t name_bytes, class_bytes;
	uint8_t name_cut, class_cut;
	uint8_t pad[6];
	uint8_t name[CODE_NAME_BYTES], class[CODE_NAME_BYTES];
};

struct java_image_head {
	struct java_layout layout;
	uint32_t codes_len, ranges_len;
};

struct java_range {
	uint64_t start, end;
};

struct java_image {
	const struct java_layout *layout;
	const struct java_wanted *codes;
	size_t codes_len;
	const struct java_range *ranges;
	size_t ranges_len;
	const uint8_t *bytes;
	struct hash at;    /* range → index in offsets */
	VEC(uint32_t) offsets; /* in bytes */
	VEC(struct java_range) wants;
	struct hash wanted;
	int err; /* of what could not be noted */
};

/* The data must outlive it. -EBADMSG: malformed; -ENOMEM. Call java_image_done() in any case. */
int java_image_open(struct java_image *image, const void *data, size_t size);
void java_image_done(struct java_image *image);
/* The bytes at an address, zeros where nothing could be read. NULL: they are wanted now, or they
 * are more than may be. */
const uint8_t *java_image_at(struct java_image *image, uint64_t address, size_t len);

/* The range of a blob that proves which code it is; and do its bytes prove that it is that one? */
struct java_range java_proof_range(const struct java_layout *layout, uint64_t blob);
bool java_proves(const struct java_layout *layout, const struct java_wanted *code,
	const uint8_t *bytes, size_t len);
/* Is the code of the first copy of this range still that of the last one? */
bool java_remained(const struct java_layout *layout, const uint8_t *first, const uint8_t *last,
	size_t len);
