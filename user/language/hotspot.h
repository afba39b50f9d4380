/* SPDX-License-Identifier: Apache-2.0 */
/* language/hotspot.h - the tables in which a libjvm.so describes itself. They name fields of its
 * structs; most builds fill in the offsets only when the library is loaded, so they have to be read
 * in a process that has it mapped. Sizes of structs and addresses of variables are in the file.
 * Source: OpenJDK, src/hotspot/share/runtime/vmStructs.hpp (VMStructEntry, VMTypeEntry). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/image.h"

/* Each field that is needed: its type, its name, and other names that it had, later or before. */
#define HOTSPOT_FIELDS(X)                                                                          \
	X(HOTSPOT_HEAPS, "CodeCache", "_heaps|_heap", true)                                        \
	X(HOTSPOT_ARRAY_LEN, "GrowableArrayBase|GenericGrowableArray", "_len", true)               \
	X(HOTSPOT_ARRAY_DATA, "GrowableArray<int>", "_data", true)                                 \
	X(HOTSPOT_HEAP_MEMORY, "CodeHeap", "_memory", true)                                        \
	X(HOTSPOT_HEAP_SEGMAP, "CodeHeap", "_segmap", true)                                        \
	X(HOTSPOT_HEAP_LOG2, "CodeHeap", "_log2_segment_size", true)                               \
	X(HOTSPOT_SPACE_LOW, "VirtualSpace", "_low_boundary", true)                                \
	X(HOTSPOT_SPACE_HIGH, "VirtualSpace", "_high_boundary", true)                              \
	X(HOTSPOT_BLOB_NAME, "CodeBlob", "_name", true)                                            \
	X(HOTSPOT_BLOB_CODE, "CodeBlob", "_code_begin|_code_offset", true)                         \
	X(HOTSPOT_BLOB_FRAME_SIZE, "CodeBlob", "_frame_size", true)                                \
	X(HOTSPOT_BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset", true)                 \
	X(HOTSPOT_BLOB_BYTES, "CodeBlob", "_size", true)                                           \
	X(HOTSPOT_NMETHOD_METHOD, "nmethod|CompiledMethod", "_method", true)                       \
	X(HOTSPOT_METHOD_CONST, "Method", "_constMethod", true)                                    \
	X(HOTSPOT_CONST_CONSTANTS, "ConstMethod", "_constants", true)                              \
	X(HOTSPOT_CONST_NAME, "ConstMethod", "_name_index", true)                                  \
	X(HOTSPOT_CONST_CODE_SIZE, "ConstMethod", "_code_size", true)                              \
	X(HOTSPOT_CONST_FLAGS, "ConstMethod", "_flags|_flags._flags", true)                        \
	X(HOTSPOT_POOL_HOLDER, "ConstantPool", "_pool_holder", true)                               \
	X(HOTSPOT_KLASS_NAME, "Klass", "_name", true)                                              \
	X(HOTSPOT_SYMBOL_LENGTH, "Symbol", "_length", true)                                        \
	X(HOTSPOT_SYMBOL_BODY, "Symbol", "_body", true)                                            \
	X(HOTSPOT_SYMBOL_HASH, "Symbol", "_hash_and_refcount", false)                              \
	X(HOTSPOT_CALL_RETURN, "StubRoutines", "_call_stub_return_address", true)                  \
	X(HOTSPOT_RETURN_PC, "ContinuationEntry", "_return_pc", false)                             \
	X(HOTSPOT_NMETHOD_COMPILE_ID, "nmethod", "_compile_id", true)                              \
	X(HOTSPOT_STUB, "nmethod", "_stub_offset", false)                                          \
	X(HOTSPOT_BLOCK_USED, "HeapBlock::Header", "_used", false)                                 \
	X(HOTSPOT_TABLES, "nmethod", "_immutable_data", false)                                     \
	X(HOTSPOT_SCOPES_DATA, "CompiledMethod|nmethod", "_scopes_data_begin|_scopes_data_offset", \
		false)                                                                             \
	X(HOTSPOT_PCS, "nmethod", "_scopes_pcs_offset", false)                                     \
	X(HOTSPOT_PCS_END, "nmethod", "_dependencies_offset", false)                               \
	X(HOTSPOT_METADATA, "nmethod|CodeBlob", "_metadata_offset|_mutable_data", false)           \
	X(HOTSPOT_RELOCATION_BYTES, "CodeBlob", "_relocation_size", false)                         \
	X(HOTSPOT_CONST_WORDS, "ConstMethod", "_constMethod_size", false)                          \
	X(HOTSPOT_POOL_SOURCE, "ConstantPool", "_source_file_name_index", false)

#define HOTSPOT_ID(id, types, fields, needed) id,
enum hotspot_field { HOTSPOT_FIELDS(HOTSPOT_ID) HOTSPOT_FIELDS_LEN };
#undef HOTSPOT_ID

enum hotspot_size { HOTSPOT_SIZEOF_HEAP_BLOCK, HOTSPOT_SIZEOF_CONST_METHOD, HOTSPOT_SIZEOF_POOL,
	HOTSPOT_SIZES };

/* Addresses are relative to where the file's offset 0 is or would be mapped, as in struct
 * cpython_facts. */
struct hotspot_facts {
	/* The address of a variable, or of the word with a field's offset. 0: none. */
	int64_t fields[HOTSPOT_FIELDS_LEN];
	uint16_t sizes[HOTSPOT_SIZES];
	uint8_t code_is_offset; /* HOTSPOT_BLOB_CODE is a 32-bit offset in the blob */
	uint8_t is_21; /* or later */
	uint8_t is_8;  /* HOTSPOT_HEAPS is the only heap */
	uint8_t scopes_are_offset; /* HOTSPOT_SCOPES_DATA is an offset, and no address */
	uint8_t metadata_is_apart; /* HOTSPOT_METADATA is an address, and no offset */
	uint8_t version; /* 17: of JDK 17; 0: the file does not say */
	uint8_t pad[4];
};

/* False: the file is no HotSpot, or it lacks a field that is needed. */
bool hotspot_find(struct image *image, struct hotspot_facts *out);
