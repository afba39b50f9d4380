/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/hotspot.bpf.h - learns of code that HotSpot has made, on x86-64. A heap of code has a map
 * that leads from any place to the blob around it. The blob says how large its frame is, and its
 * method how it is named. Interpreted code has its method in its frame. A process may have anything
 * there: it can spoil its own stacks alone. Part of bpf/frame.bpf.h; needed beside what that needs:
 *     hotspot_of(walk)                 its part of the scratch, with the process's description
 *     hotspot_code_id(walk, hash)      id of the code that the scratch has; 0: it has no name */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

/* Beginnings of blobs' names. */
#define BLOB_NMETHOD 0x00646f6874656d6eULL     /* "nmethod" */
#define BLOB_NATIVE 0x6e2065766974616eULL      /* "native n"method */
#define BLOB_INTERPRETER 0x6572707265746e49ULL /* "Interpre"ter */

#define BLOB_WINDOW 128
#define CONST_WINDOW 64
#define SEGMENT_FREE 0xff
#define SEGMENT_HOPS 16

#define BLOB_EXCEPTION 0x6f69747065637845ULL   /* "Exceptio"nBlob */
#define BLOB_STUBS 0x74756f5262757453ULL       /* "StubRout"ines */
#define BLOB_ADAPTER 0x2049324f2f433249ULL     /* "I2C/C2I "adapters */

enum hotspot_step {
	HOTSPOT_NONE,        /* no code of HotSpot's */
	HOTSPOT_SIZED,       /* code whose frame has a size */
	HOTSPOT_INTERPRETER, /* a frame of the interpreter's */
	HOTSPOT_ENTERING,    /* the interpreter, before it makes a frame */
	HOTSPOT_LEAVING,     /* the interpreter, after it took its frame down */
	HOTSPOT_ADAPTER,     /* from one kind of code to the other: no frame */
	HOTSPOT_STUB,        /* a stub: no frame, or one with the frame pointer */
	HOTSPOT_BARE,        /* other code without a frame */
	HOTSPOT_EXCEPTION,   /* to the handler of an exception */
};

/* A frame of the interpreter's, from this far below the frame pointer on. */
#define INTERPRETER_BELOW 64
#define INTERPRETER_BYTECODE_MAX 1 /* of 8; of later versions 0 */
#define INTERPRETER_METHOD 5
#define INTERPRETER_SENDER 7 /* the caller's stack pointer, before arguments */
#define INTERPRETER_FP 8
#define INTERPRETER_RETURN 9
#define INTERPRETER_WORDS 10

struct hotspot_scratch {
	struct hotspot process;
	u64 blob[16];    /* power of two */
	u64 blob_at;     /* the address of that */
	u64 code;        /* where its code begins, */
	u32 bytes;       /* and what is at most in it */
	u32 frame_bytes; /* with the return address */
	u32 complete;    /* offset in the code, from where on the frame is there */
	u32 step;        /* enum hotspot_step */
	u32 place;       /* of what is named, in it: of bytecode, or of a compiler's code */
	u32 compile_id;  /* of a compiler's code */
	u64 frame[INTERPRETER_WORDS];
	u64 method;      /* names the frame; 0: the blob does */
	u64 name;        /* address of the blob's, */
	u64 kind;        /* and its first bytes */
	u64 constant[CONST_WINDOW / 8]; /* the beginning of the method's unchanging part */
	u64 constant_at;
};

static __always_inline struct hotspot_scratch *hotspot_of(u64 walk);
static __always_inline u32 hotspot_code_id(u64 walk, u64 hash);

/* Is it a place in memory for HotSpot's code? */
WALK_GLOBAL bool hotspot_made(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);

	for (u32 i = 0; h && i < HOTSPOT_HEAPS_MAX; i++)
		if (pc - h->process.heaps[i].low < h->process.heaps[i].bytes)
			return true;
	return false;
}

/* The blob that this place is in; 0: none. */
WALK_GLOBAL u64 hotspot_blob(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	const struct hotspot_heap *heap = NULL;
	u64 segment;
	u8 back;

	if (!h)
		return 0;
	for (u32 i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		heap = &h->process.heaps[i];
		if (pc - heap->low < heap->bytes)
			break;
	}
	if (pc - heap->low >= heap->bytes)
		return 0;
	segment = (pc - heap->low) >> (heap->log2 & 31);
	for (u32 i = 0; i < SEGMENT_HOPS; i++) {
		if (walk_read(walk, &back, 1, heap->segments + segment) || back == SEGMENT_FREE)
			return 0;
		if (back == 0)
			return heap->low + (segment << (heap->log2 & 31)) + h->process.block_bytes;
		segment -= back;
	}
	return 0;
}

static __always_inline u64 blob_u64(const struct hotspot_scratch *h, u32 at)
{
	return h->blob[at >> 3 & 15];
}

static __always_inline u32 blob_u32(const struct hotspot_scratch *h, u32 at)
{
	return (u32)(blob_u64(h, at) >> (at & 4) * 8);
}

static __always_inline u64 constant_u64(const struct hotspot_scratch *h, u32 at)
{
	return h->constant[at >> 3 & (CONST_WINDOW / 8 - 1)];
}

static __always_inline u32 constant_u16(const struct hotspot_scratch *h, u32 at)
{
	return (u16)(constant_u64(h, at) >> (at & 6) * 8);
}

#define REG_RESULT 0    /* rax, where an entry has the return address */
#define REG_OLD_SP 3    /* rbx, where the interpreter keeps it when it returns */
#define REG_BYTECODE 13 /* r13, at entries the caller's stack pointer */
#define STACK_NEAR 65536

/* The end is  leave; pop %r13; mov %rbx,%rsp; jmp *%r13.  */
#define POP_BYTECODE 0x5d41
#define RESTORE_SP 0xe38b48
#define JUMP_BYTECODE 0xe5ff41

/* Where a call returns to there is  mov -16(%rbp),%rsp; movq $0,-16(%rbp); mov n(%rbp),%r13;  the
 * frame is whole, and r13 has what the callee left in it. */
#define RELOAD_SP 0xf0658b48
#define CLEAR_LAST_SP 0xf045c748
#define RELOAD_BYTECODE 0x6d8b4c

/* The state in which the interpreter was interrupted. */
static __always_inline u32 hotspot_interpreter(u64 walk, const struct scratch *s, u32 code)
{
	u64 word = s->regs.gpr[REG_BYTECODE];

	if (code == RELOAD_SP || code == CLEAR_LAST_SP || (code & 0xffffff) == RELOAD_BYTECODE)
		return HOTSPOT_INTERPRETER;
	if (word - s->regs.sp < STACK_NEAR && s->regs.fp - s->regs.sp >= word - s->regs.sp)
		return HOTSPOT_ENTERING;
	if ((u16)code == POP_BYTECODE)
		return HOTSPOT_LEAVING;
	code &= 0xffffff;
	if ((code == RESTORE_SP || code == JUMP_BYTECODE) && hotspot_made(walk, word))
		return HOTSPOT_LEAVING;
	return HOTSPOT_INTERPRETER;
}

/* Looks for the frame of interpreted code. */
WALK_GLOBAL u32 hotspot_find_frame(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 below;
	u32 code = 0;

	if (!h || !s)
		return 0;
	h->step = HOTSPOT_INTERPRETER;
	if (s->regs.exact && walk_read(walk, &code, sizeof(code), s->regs.pc) == 0)
		h->step = hotspot_interpreter(walk, s, code);
	if (h->step != HOTSPOT_INTERPRETER)
		return 0;
	below = s->regs.fp - s->regs.sp;
	if ((s64)below < 0 ||
		walk_read(walk, h->frame, sizeof(h->frame), s->regs.fp - INTERPRETER_BELOW) ||
		!hotspot_made(walk, h->frame[INTERPRETER_RETURN]))
		h->step = HOTSPOT_ENTERING;
	else if (s->regs.exact && below < 8)
		h->frame[INTERPRETER_SENDER] = s->regs.gpr[REG_BYTECODE];
	else if (!s->regs.exact || below >= INTERPRETER_BELOW) /* else it is being made */
		h->method = h->frame[INTERPRETER_METHOD];
	return 0;
}

/* The place in the method's bytecode. Where code was interrupted a register has it. */
static __always_inline u32 hotspot_bytecode(
	const struct scratch *s, const struct hotspot_scratch *h)
{
	u64 begin = h->constant_at + h->process.const_bytes, at;

	at = s->regs.gpr[REG_BYTECODE] - begin;
	if (s->regs.exact && at < constant_u16(h, h->process.const_code_size))
		return at;
	at = h->frame[h->process.bytecode & INTERPRETER_BYTECODE_MAX] - begin;
	return at < constant_u16(h, h->process.const_code_size) ? at : 0;
}

/* Is it what a compiler made? The native side of a method has no places. */
static __always_inline bool hotspot_is_compiled(const struct hotspot_scratch *h)
{
	return h->method && h->step != HOTSPOT_INTERPRETER && h->kind == BLOB_NMETHOD;
}

#define SYMBOL_HASH_SHIFT 16

/* A number of the method's class. The memory of a class that was unloaded is taken by another one,
 * which may have all its parts at the same places. */
WALK_GLOBAL u64 hotspot_class(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 holder, name;
	u32 hash = 0;

	if (!h ||
		walk_read(walk, &holder, sizeof(holder),
			constant_u64(h, h->process.const_constants) + h->process.pool_holder) ||
		walk_read(walk, &name, sizeof(name), holder + h->process.klass_name) ||
		(h->process.symbol_hash != (u16)~0 &&
			walk_read(walk, &hash, sizeof(hash), name + h->process.symbol_hash)))
		return 0;
	return mix(name, hash >> SYMBOL_HASH_SHIFT);
}

/* Words that prove that it is the same code: the number of code that a compiler made, and for the
 * interpreter the method's unchanging part and its class. 0: they cannot be read. */
WALK_GLOBAL u64 hotspot_proof(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 proof;

	if (!h)
		return 0;
	if (h->step != HOTSPOT_INTERPRETER)
		return walk_read(walk, &h->compile_id, sizeof(h->compile_id),
			       h->blob_at + h->process.nmethod_compile_id)
			? 0
			: mix(h->blob_at, h->compile_id);
	if (walk_read(walk, &h->constant_at, sizeof(h->constant_at),
		    h->method + h->process.method_const) ||
		walk_read(walk, h->constant, CONST_WINDOW, h->constant_at))
		return 0;
	proof = hotspot_class(walk);
	if (!proof)
		return 0;
	return mix(mix(proof, h->constant_at), constant_u64(h, h->process.const_code_size));
}

/* The frame as FRAME_CODE in the scratch, if there is a name for it. A method has one code for the
 * interpreter, and one for each code that compilers made of it. */
WALK_GLOBAL int hotspot_identify(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 hash;
	u32 id;

	if (!h || !s)
		return 0;
	hash = mix(mix(stacks_secret, s->task.start_ns), s->task.tgid);
	if (h->method) {
		u64 proof = hotspot_proof(walk);

		if (!proof)
			return 0;
		hash = mix(mix(mix(hash, h->method), proof), h->step);
		if (h->step == HOTSPOT_INTERPRETER)
			h->place = hotspot_bytecode(s, h);
	} else {
		hash = mix(hash, h->name);
	}
	id = hotspot_code_id(walk, hash);
	s->code = id > CODE_UNREADABLE ? frame_code(id, h->place) : 0;
	return 0;
}

/* Learns of the code at this place. */
WALK_GLOBAL int hotspot_look(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 blob = hotspot_blob(walk, pc), name, kind;
	s32 words;

	if (!h)
		return 0;
	h->step = HOTSPOT_NONE;
	h->method = h->place = 0;
	h->blob_at = blob;
	if (!blob || walk_read(walk, h->blob, BLOB_WINDOW, blob))
		return 0;
	name = blob_u64(h, h->process.blob_name);
	if (name != h->name && walk_read(walk, &h->kind, sizeof(h->kind), name))
		name = 0;
	h->name = name;
	kind = h->kind;
	if (name == 0)
		return 0;
	words = (s32)blob_u32(h, h->process.blob_frame_size);
	h->frame_bytes = words > 0 && words < 1 << 16 ? 8 * words : 0;
	h->complete = blob_u32(h, h->process.blob_frame_complete);
	if (h->process.complete_is_short)
		h->complete = (u16)(h->complete >> (h->process.blob_frame_complete & 2) * 8);
	h->code = h->process.code_is_offset ? blob + blob_u32(h, h->process.blob_code)
					    : blob_u64(h, h->process.blob_code);
	h->bytes = blob_u32(h, h->process.blob_bytes);
	if (kind == BLOB_INTERPRETER)
		hotspot_find_frame(walk);
	else if (kind == BLOB_ADAPTER)
		h->step = HOTSPOT_ADAPTER;
	else if (kind == BLOB_EXCEPTION)
		h->step = HOTSPOT_EXCEPTION;
	else if (kind == BLOB_STUBS)
		h->step = HOTSPOT_STUB;
	else
		h->step = h->frame_bytes ? HOTSPOT_SIZED : HOTSPOT_BARE;
	if (kind == BLOB_NMETHOD || kind == BLOB_NATIVE)
		h->method = blob_u64(h, h->process.nmethod_method);
	if (hotspot_is_compiled(h))
		h->place = pc - h->code < FRAME_PLACE_MASK ? pc - h->code : FRAME_PLACE_MASK;
	return hotspot_identify(walk);
}
