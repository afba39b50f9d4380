/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_walk.h - bpf/hotspot.bpf.h over made memory. The includer has chosen the processor. */
#pragma once

#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "bpf/shim.h"
#include "bpf/unwind.bpf.h"

#define MEMORY 0x70000000ULL
#define HEAP_BYTES 4096
#define SEGMENT_LOG2 6
#define SEGMENTS_AT 4096
#define NAME_AT 4608
#define METHOD_AT 5120
#define CONST_AT 5376
#define POOL_AT 5888
#define KLASS_AT 6144
#define SYMBOL_AT 6400
#define CLASS_BYTES 70 /* of the name of a class */
#define STACK_AT 8192
#define STACK_WORDS 160
#define MEMORY_BYTES (STACK_AT + 8 * STACK_WORDS)
#define BLOB_AT 16 /* after its block */
#define CODE_AT (BLOB_AT + 128)
#define CALLER_AT 3000
#define STACK (MEMORY + STACK_AT)
#define OWN_FP 0x1111ULL
#define SAVED_FP 0x2222ULL

struct scratch {
	struct unwind_regs regs;
	struct unwind_window window;
	u64 searched, how, code, left_how, user_below_leaf, root[STACK_ROOT_FRAMES];
	struct unwind_place stepped;
	struct unwind_way way, taken;
	u32 landing, end, walked, late, unruled, language;
	u64 anchor;
	struct {
		u64 start, file_offset;
		u32 object, kind, table, language;
	} at;
	struct {
		struct event_stack head;
		u64 frames[STACK_USER_FRAMES_MAX];
	} user;
	struct {
		u64 start_ns;
		u32 tgid;
	} task;
	u8 memory[MEMORY_BYTES];
};

static const u64 stacks_secret = 1;

static struct scratch *scratch_of(u64 walk)
{
	return (struct scratch *)(uintptr_t)walk;
}

static u64 walk_of(const struct scratch *s)
{
	return (u64)(uintptr_t)s;
}

static u32 reads, failed_reads;

static int walk_read(u64 walk, void *dst, u32 size, u64 addr)
{
	reads++;
	if (addr - MEMORY > MEMORY_BYTES - size) {
		failed_reads++;
		return -1;
	}
	memcpy(dst, scratch_of(walk)->memory + (addr - MEMORY), size);
	return 0;
}

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	return walk_read(walk_of(memory), dst, size, addr);
}

static u32 mapping_find(struct scratch *s, u64 pc)
{
	(void)s;
	(void)pc;
	return END_NO_MAPPING;
}

static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	(void)s;
	(void)offset;
	*rule = NULL;
	return END_NONE;
}

#define start_stack_of(s) 0ULL
#define thread_base_of(s) 0ULL
#define walk_unprobe(s) ((void)(s))
#define walk_late(s) 0
#define walk_language(s) ((void)(s))
#define walk_generated(s, pc) ((void)(pc))
#define walk_generated_step(s) END_UNSUPPORTED
#include "bpf/frame.bpf.h"
#include "bpf/hotspot.bpf.h"
