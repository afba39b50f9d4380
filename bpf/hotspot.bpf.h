/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/hotspot.bpf.h - learns of code that HotSpot has made, and steps to its caller. A heap of code
 * has a map that leads from any place to the blob around it. The blob says how large its frame is,
 * and its method how it is named. Interpreted code has its method in its frame. A process may have
 * anything there: it can spoil its own stacks alone. hotspot_x86.bpf.h and hotspot_arm64.bpf.h have
 * the steps of their processors. Part of bpf/frame.bpf.h; needed beside what that needs:
 *     hotspot_of(walk)                 its part of the scratch, with the process's description
 *     hotspot_code_id(walk, hash)      id of the code that the scratch has; 0: it has no name */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

/* Beginnings of blobs' names. */
#define BLOB_NMETHOD 0x00646f6874656d6eULL     /* "nmethod" */
#define BLOB_NATIVE 0x6e2065766974616eULL      /* "native n"method */
#define BLOB_INTERPRETER 0x6572707265746e49ULL /* "Interpre"ter */

#define BLOB_WINDOW 384 /* with what proves which code it is */
#define BLOB_SMALL 128  /* where the memory ends before that */
#define BLOB_WORDS 64   /* power of two */
#define CONST_WINDOW 64
#define SYMBOL_WINDOW 64 /* multiple of 8 */
#define SEGMENT_FREE 0xff
#define SEGMENT_HOPS 16
#define SEGMENT_WINDOW 16 /* power of two: most blobs begin within so many */

#define BLOB_EXCEPTION 0x6f69747065637845ULL   /* "Exceptio"nBlob */
#define BLOB_STUBS 0x74756f5262757453ULL       /* "StubRout"ines */
#define BLOB_ADAPTER 0x204932432f433249ULL     /* "I2C/C2I "adapters */

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

/* Words of a frame of the interpreter's, which is read from ARCH_INTERPRETER_BELOW on. */
#define INTERPRETER_FP (ARCH_INTERPRETER_BELOW / 8)
#define INTERPRETER_METHOD (INTERPRETER_FP - 3)
#define INTERPRETER_SENDER (INTERPRETER_FP - 1) /* the caller's stack pointer, before arguments */
#define INTERPRETER_RETURN (INTERPRETER_FP + 1)
#define INTERPRETER_WORDS (INTERPRETER_FP + 2)

struct hotspot_scratch {
	struct hotspot process;
	u64 process_hash; /* start time and pid: where each code's hash begins */
	u8 segments[SEGMENT_WINDOW];
	u64 blob[BLOB_WORDS];
	u64 blob_at;     /* the address of that, */
	u32 blob_bytes;  /* and how much was read */
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
	u64 symbol[SYMBOL_WINDOW / 8]; /* the end of the class's name */
	u32 symbol_hash;
	u16 symbol_length;
#ifdef ARCH_INSNS
	u32 insns[ARCH_INSNS]; /* around the interrupted place */
#endif
};

static __always_inline struct hotspot_scratch *hotspot_of(u64 walk);
static __always_inline u32 hotspot_code_id(u64 walk, u64 hash);

/* Is it a place in memory for HotSpot's code? */
static __always_inline bool hotspot_in_heap(const struct hotspot_scratch *h, u64 pc)
{
	UNROLL
	for (u32 i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (pc - h->process.heaps[i].low < h->process.heaps[i].bytes)
			return true;
	return false;
}

WALK_GLOBAL bool hotspot_made(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);

	return h && hotspot_in_heap(h, pc);
}

/* The blob that this place is in; 0: none. */
WALK_GLOBAL u64 hotspot_blob(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	const struct hotspot_heap *heap = NULL;
	u64 segment, first;
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
	first = segment + 1;
	for (u32 i = 0; i < SEGMENT_HOPS; i++) {
		if (segment - first >= SEGMENT_WINDOW) {
			first = segment < SEGMENT_WINDOW ? 0 : segment - (SEGMENT_WINDOW - 1);
			if (walk_read(walk, h->segments, SEGMENT_WINDOW, heap->segments + first))
				return 0;
		}
		back = h->segments[(segment - first) & (SEGMENT_WINDOW - 1)];
		if (back == SEGMENT_FREE)
			return 0;
		if (back == 0)
			return heap->low + (segment << (heap->log2 & 31)) + h->process.block_bytes;
		segment -= back;
	}
	return 0;
}

static __always_inline u64 blob_u64(const struct hotspot_scratch *h, u32 at)
{
	return h->blob[at >> 3 & (BLOB_WORDS - 1)];
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

#define STACK_NEAR 65536

/* Steps to the caller, if the word at `at` is a place in HotSpot's code: its code is called by such
 * code alone. saved: the frame pointer is below it. */
WALK_GLOBAL bool hotspot_return(u64 walk, u64 at, u32 saved)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 words[2]; /* the frame pointer and the return address */

	if (!s || !h || at < s->regs.sp)
		return false;
	words[0] = s->regs.fp;
	if (saved ? walk_read(walk, words, sizeof(words), at - 8)
		  : walk_read(walk, &words[1], sizeof(words[1]), at))
		return false;
	words[1] = arch_code_address(words[1]);
	if (!hotspot_in_heap(h, words[1]))
		return false;
	s->regs.pc = words[1];
	s->regs.fp = words[0];
	s->regs.sp = at + 8;
	s->regs.exact = 0;
	return true;
}

static __always_inline u32 hotspot_return_to(struct scratch *s, u64 pc, u64 sp)
{
	s->regs.pc = pc;
	if (sp - s->regs.sp < STACK_NEAR)
		s->regs.sp = sp;
	s->regs.exact = 0;
	return END_NONE;
}

#define ENTRY_SEARCH_WORDS 8
#define BLOB_WHICH 14 /* after "StubRoutines (" */
#define STUBS_OF_CONTINUATIONS 0x61756e69746e6f63ULL /* "continua"tionstubs */

/* A virtual thread may have a part of its frames on this stack, and the others in the heap. The
 * outermost one here returns to a stub. Right above it is the frame of who runs the thread, at a
 * place that JDK 21 does not describe: there that frame is passed over. */
WALK_GLOBAL bool hotspot_step_thawed(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 pc, sp, word;
	u32 words;

	if (!h || !s || walk_read(walk, &word, sizeof(word), h->name + BLOB_WHICH) ||
		word != STUBS_OF_CONTINUATIONS)
		return false;
	push(s, (u64)FRAME_LEFT_OUT);
	if (!h->process.return_pc || walk_read(walk, &pc, sizeof(pc), h->process.return_pc) ||
		walk_read(walk, &words, sizeof(words),
			hotspot_blob(walk, pc) + h->process.blob_frame_size))
		return hotspot_return(walk, s->regs.fp + 8, 1);
	sp = s->regs.sp;
	for (u32 i = 0; i < ENTRY_SEARCH_WORDS; i++, sp += 8) {
		if (walk_read(walk, &word, sizeof(word), sp + 8ULL * words - 8) ||
			!hotspot_made(walk, word))
			continue;
		hotspot_return_to(s, pc, sp);
		return true;
	}
	return false;
}

/* From the stub that calls Java, whose caller is native code. */
static __always_inline u32 hotspot_step_out(u64 walk, struct scratch *s)
{
	u64 words[2];

	if (s->regs.fp < s->regs.sp || walk_read(walk, words, sizeof(words), s->regs.fp))
		return END_STACK_READ;
	s->regs.sp = s->regs.fp + 16;
	s->regs.fp = words[0];
	s->regs.pc = arch_code_address(words[1]);
	return END_NONE;
}

/* Here and not above: they use what precedes. */
#ifdef ARCH_DWARF_LR
#include "bpf/hotspot_arm64.bpf.h"
#else
#include "bpf/hotspot_x86.bpf.h"
#endif

/* Looks for the frame of interpreted code. */
WALK_GLOBAL u32 hotspot_find_frame(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 below;

	if (!h || !s)
		return 0;
	h->step = s->regs.exact ? hotspot_interpreter(walk, s) : HOTSPOT_INTERPRETER;
	if (h->step != HOTSPOT_INTERPRETER)
		return 0;
	below = s->regs.fp - s->regs.sp;
	if ((s64)below < 0 || walk_read(walk, h->frame, sizeof(h->frame),
				      s->regs.fp - ARCH_INTERPRETER_BELOW)) {
		h->step = HOTSPOT_ENTERING;
		return 0;
	}
	h->frame[INTERPRETER_RETURN] = arch_code_address(h->frame[INTERPRETER_RETURN]);
	if (!hotspot_made(walk, h->frame[INTERPRETER_RETURN]))
		h->step = HOTSPOT_ENTERING;
	else if (hotspot_has_method(s, h, below))
		h->method = h->frame[INTERPRETER_METHOD];
	return 0;
}

/* The place in the method's bytecode. Where code was interrupted a register has it. */
static __always_inline u32 hotspot_bytecode(
	const struct scratch *s, const struct hotspot_scratch *h)
{
	u64 begin = h->constant_at + h->process.const_bytes, at;

	at = s->regs.gpr[ARCH_REG_BYTECODE] - begin;
	if (s->regs.exact && at < constant_u16(h, h->process.const_code_size))
		return at;
	at = h->frame[(h->process.bytecode & 1) * ARCH_INTERPRETER_BYTECODE_8] - begin;
	return at < constant_u16(h, h->process.const_code_size) ? at : 0;
}

/* Is it what a compiler made? The native side of a method has no places. */
static __always_inline bool hotspot_is_compiled(const struct hotspot_scratch *h)
{
	return h->method && h->step != HOTSPOT_INTERPRETER && h->kind == BLOB_NMETHOD;
}

#define SYMBOL_HASH_SHIFT 16

/* A number of the symbol: its length, its last bytes, which are those that differ in names of
 * classes that a program makes, and its random number. 0: it cannot be read. */
WALK_GLOBAL u64 hotspot_symbol(u64 walk, u64 symbol)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 bytes = 0, sum;

	if (!h)
		return 0;
	__builtin_memset(h->symbol, 0, sizeof(h->symbol));
	h->symbol_hash = 0;
	if (walk_read(walk, &h->symbol_length, sizeof(h->symbol_length),
		    symbol + h->process.symbol_length) ||
		(h->process.symbol_hash != (u16)~0 &&
			walk_read(walk, &h->symbol_hash, sizeof(h->symbol_hash),
				symbol + h->process.symbol_hash)))
		return 0;
	sum = mix(symbol, h->symbol_length);
	bytes = h->symbol_length < SYMBOL_WINDOW ? h->symbol_length : SYMBOL_WINDOW;
	symbol += h->process.symbol_body + h->symbol_length - bytes;
	asm volatile("" : "+r"(bytes));
	if (bytes == 0 || bytes > SYMBOL_WINDOW || walk_read(walk, h->symbol, bytes, symbol))
		return 0;
	for (u32 i = 0; i < SYMBOL_WINDOW / 8; i++)
		sum = mix(sum, h->symbol[i]);
	return mix(sum, h->symbol_hash >> SYMBOL_HASH_SHIFT);
}

/* A number of the method's class and name. The memory of a class that was unloaded is taken by
 * another one, which may have all its parts at the same places, and that of a class that was
 * redefined by its next version, with other methods at those places. */
WALK_GLOBAL u64 hotspot_names(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 pool, holder, class, method;

	if (!h)
		return 0;
	pool = constant_u64(h, h->process.const_constants);
	if (walk_read(walk, &holder, sizeof(holder), pool + h->process.pool_holder) ||
		walk_read(walk, &class, sizeof(class), holder + h->process.klass_name) ||
		walk_read(walk, &method, sizeof(method),
			pool + h->process.pool_bytes +
				8 * constant_u16(h, h->process.const_name)))
		return 0;
	class = hotspot_symbol(walk, class);
	return class ? mix(class, method) : 0;
}

static __always_inline bool hotspot_read_number(u64 walk, struct hotspot_scratch *h)
{
	u32 at = h->process.nmethod_compile_id;

	if (at + sizeof(h->compile_id) > h->blob_bytes)
		return walk_read(walk, &h->compile_id, sizeof(h->compile_id), h->blob_at + at) == 0;
	h->compile_id = blob_u32(h, at);
	return true;
}

/* Words that prove that it is the same code: the number of code that a compiler made, and for the
 * interpreter the method's unchanging part, its class and name. 0: they cannot be read. */
static __always_inline u64 hotspot_proof(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 proof;

	if (!h)
		return 0;
	if (h->step != HOTSPOT_INTERPRETER)
		return hotspot_read_number(walk, h) ? mix(h->blob_at, h->compile_id) : 0;
	if (walk_read(walk, &h->constant_at, sizeof(h->constant_at),
		    h->method + h->process.method_const) ||
		walk_read(walk, h->constant, CONST_WINDOW, h->constant_at))
		return 0;
	proof = hotspot_names(walk);
	if (!proof)
		return 0;
	return mix(mix(proof, h->constant_at), constant_u64(h, h->process.const_code_size));
}

/* The frame as FRAME_CODE in the scratch, if there is a name for it. A method has one code for the
 * interpreter, and one for each code that compilers made of it. */
static __always_inline int hotspot_identify(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 hash;
	u32 id;

	if (!h || !s)
		return 0;
	hash = h->process_hash;
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

static __always_inline bool hotspot_read_blob(u64 walk, struct hotspot_scratch *h)
{
	h->blob_bytes = BLOB_WINDOW;
	if (walk_read(walk, h->blob, BLOB_WINDOW, h->blob_at) == 0)
		return true;
	h->blob_bytes = BLOB_SMALL;
	return walk_read(walk, h->blob, BLOB_SMALL, h->blob_at) == 0;
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
	if (!blob || !hotspot_read_blob(walk, h))
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

/* Frames of the interpreter are alike on all processors. */
WALK_GLOBAL int hotspot_step_interpreter(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 sp;

	if (!h || !s)
		return 0;
	sp = h->frame[INTERPRETER_SENDER];
	s->regs.pc = h->frame[INTERPRETER_RETURN];
	s->regs.sp = s->regs.fp + 16;
	s->regs.fp = h->frame[INTERPRETER_FP];
	hotspot_return_to(s, s->regs.pc, sp);
	return 0;
}

/* Steps to the caller. END_UNSUPPORTED: not from here. */
static __always_inline u32 hotspot_step(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);

	if (!h || !s)
		return END_UNSUPPORTED;
	if (h->step == HOTSPOT_INTERPRETER) {
		hotspot_step_interpreter(walk);
		return END_NONE;
	}
	if (h->step == HOTSPOT_SIZED && !s->regs.exact &&
		hotspot_return(walk, s->regs.sp + h->frame_bytes - 8, 1))
		return END_NONE;
	if (h->step == HOTSPOT_SIZED)
		return hotspot_step_sized(walk) ? END_NONE : END_UNSUPPORTED;
	if (h->step == HOTSPOT_STUB)
		return hotspot_step_stub(walk);
	if (h->step == HOTSPOT_BARE)
		return hotspot_step_bare(walk) ? END_NONE : END_UNSUPPORTED;
	if (h->step == HOTSPOT_EXCEPTION)
		return hotspot_step_exception(walk);
	return hotspot_step_between(
		walk, h->step == HOTSPOT_LEAVING ? REG_LEAVING_SP : REG_SENDER_SP);
}
