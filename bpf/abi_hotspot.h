/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_hotspot.h - the part of bpf/abi.h for HotSpot, whose frames are code without a file. User
 * space says of a process where its code heaps are, and where the library keeps what in its
 * structs. Offsets are bytes. */
#pragma once

#define HOTSPOTS_MAX 1024 /* processes */
#define HOTSPOT_HEAPS_MAX 4 /* power of two */

struct hotspot_key {
	__u64 start_ns; /* of the process */
	__u32 tgid;
	__u32 pad;
};

struct hotspot_heap {
	__u64 low, bytes;
	__u64 segments; /* address of its map: a byte for each segment */
	__u32 log2;     /* of a segment's size */
	__u32 pad;
};

struct hotspot {
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX]; /* bytes 0: none */
	__u64 call_return; /* in the stub that calls Java from native code: the return address */
	__u64 return_pc;   /* address of the word with that of virtual threads; 0: none */
	__u16 block_bytes; /* before a blob */
	__u16 blob_name;   /* in a blob: address of its name, */
	__u16 blob_code;   /* of its code or its offset in the blob, */
	__u16 blob_frame_size; /* s32: of its frame, in words, */
	__u16 blob_frame_complete; /* and offset in the code from where on it has that */
	__u16 blob_bytes;  /* u32: of the blob */
	__u16 nmethod_method;
	__u16 nmethod_compile_id; /* u32 */
	__u16 method_const;
	__u16 const_constants;
	__u16 const_name;      /* u16: index in the constants */
	__u16 const_code_size; /* u16 */
	__u16 const_flags;     /* bit 0: a table of lines follows the bytecode */
	__u16 const_bytes;     /* the bytecode follows */
	__u16 pool_bytes;      /* the constants follow */
	__u16 pool_holder;
	__u16 klass_name;
	__u16 symbol_length; /* u16 */
	__u16 symbol_body;
	__u16 symbol_hash; /* u32: in its upper half a random number; UINT16_MAX: it has none */
	__u8 code_is_offset;
	__u8 complete_is_short; /* s16 */
	__u8 version; /* 17, or 21: of numbers in tables of lines */
	__u8 bytecode; /* word of an interpreter's frame (INTERPRETER_BELOW) with its place */
};

_Static_assert(sizeof(struct hotspot_key) == 16, "hotspot_key");
_Static_assert(sizeof(struct hotspot_heap) == 32, "hotspot_heap");
_Static_assert(sizeof(struct hotspot) == 192, "hotspot");
