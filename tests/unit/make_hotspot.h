/* SPDX-License-Identifier: Apache-2.0 */
/* make_hotspot.h - code of HotSpot's for tests that step out of it: a heap of code, a map of
 * segments and a stack that are made by hand. The includer has chosen the processor. */
#pragma once

#include "hotspot_walk.h"

static struct scratch scratch;
static struct hotspot_scratch hotspot;

static struct hotspot_scratch *hotspot_of(u64 walk)
{
	(void)walk;
	return &hotspot;
}

static u64 identity; /* of the latest code */

static u32 hotspot_code_id(u64 walk, u64 hash)
{
	(void)walk;
	identity = hash;
	return OBJECT_FIRST;
}

static void put(u64 at, u64 word)
{
	memcpy(scratch.memory + at, &word, sizeof(word));
}

static void put_word(u32 number, u64 word)
{
	put(STACK_AT + 8 * number, word);
}

/* Code with this name and frame, and a stack that leads nowhere. */
static void make(const char *name, s32 frame_words, u32 complete, const u8 *code, size_t code_len)
{
	scratch = (struct scratch){ .regs = { .sp = STACK, .fp = OWN_FP, .exact = 1 } };
	scratch.window.memory = &scratch;
	hotspot = (struct hotspot_scratch){ .process = {
		.heaps = { { .low = MEMORY, .bytes = HEAP_BYTES, .segments = MEMORY + SEGMENTS_AT,
			.log2 = SEGMENT_LOG2 } },
		.call_return = 1,
		.block_bytes = BLOB_AT,
		.blob_code = 8,
		.blob_frame_size = 16,
		.blob_frame_complete = 20,
		.blob_bytes = 24,
		.nmethod_method = 32,
		.nmethod_compile_id = 40,
		.method_const = 8,
		.const_code_size = 8,
		.const_constants = 16,
		.pool_holder = 24,
		.klass_name = 32,
		.symbol_hash = 4,
		.symbol_length = 12,
		.symbol_body = 14,
		.const_bytes = 64,
	} };
	for (u32 i = 0; i < HEAP_BYTES >> SEGMENT_LOG2; i++)
		scratch.memory[SEGMENTS_AT + i] = i > 0;
	memcpy(scratch.memory + NAME_AT, name, strlen(name));
	put(BLOB_AT, MEMORY + NAME_AT);
	put(BLOB_AT + 8, MEMORY + CODE_AT);
	put(BLOB_AT + 16, (u32)frame_words | (u64)complete << 32);
	put(BLOB_AT + 24, 2048);
	put(BLOB_AT + 32, MEMORY + METHOD_AT);
	put(METHOD_AT + 8, MEMORY + CONST_AT);
	put(CONST_AT + 8, 100);
	put(CONST_AT + 16, MEMORY + POOL_AT);
	put(POOL_AT + 24, MEMORY + KLASS_AT);
	put(KLASS_AT + 32, MEMORY + SYMBOL_AT);
	put(SYMBOL_AT, 1); /* users of the symbol, below its hash */
	put(SYMBOL_AT + 12, CLASS_BYTES);
	memset(scratch.memory + SYMBOL_AT + 14, 'a', CLASS_BYTES);
	memcpy(scratch.memory + SYMBOL_AT + 128, scratch.memory + SYMBOL_AT, 128);
	put(BLOB_AT + 40, 77);
	memcpy(scratch.memory + CODE_AT, code, code_len);
	for (u32 i = 0; i < STACK_WORDS; i++)
		put_word(i, 0x5000 + i);
}

/* Steps from this offset of the code. */
static u32 step(u32 offset)
{
	scratch.regs.pc = MEMORY + CODE_AT + offset;
	hotspot_look(walk_of(&scratch), scratch.regs.pc - !scratch.regs.exact);
	return hotspot_step(walk_of(&scratch));
}
