/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/hotspot_x86.bpf.h - steps through code that HotSpot has made, on x86-64. Compiled code keeps
 * the stack pointer, and has the caller's frame pointer below its return address, which leads to
 * other code of HotSpot's. Frames of the interpreter hang on the frame pointer. Where code was
 * interrupted while it made its frame or took it down, its instructions show how far it was. Part
 * of bpf/hotspot.bpf.h. */
#pragma once

#define REG_RESULT 0     /* rax, where an entry has the return address */
#define REG_LEAVING_SP 3 /* rbx, where the interpreter keeps it when it returns */
#define REG_SENDER_SP ARCH_REG_BYTECODE /* at entries */

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
static __always_inline u32 hotspot_interpreter(u64 walk, const struct scratch *s)
{
	u64 word = s->regs.gpr[REG_SENDER_SP];
	u32 code;

	if (walk_read(walk, &code, sizeof(code), s->regs.pc))
		return HOTSPOT_INTERPRETER;
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

/* Has the frame its method, or is it being made? */
static __always_inline bool hotspot_has_method(
	const struct scratch *s, struct hotspot_scratch *h, u64 below)
{
	if (s->regs.exact && below < 8)
		h->frame[INTERPRETER_SENDER] = s->regs.gpr[REG_SENDER_SP];
	return !s->regs.exact || below >= ARCH_INTERPRETER_BELOW;
}

#define OPCODE_PUSH_FP 0x55
#define OPCODE_POP_FP 0x5d
#define OPCODE_RET 0xc3

/* Where compiled code, or a stub, was interrupted, the frame is whole unless the code there shows
 * that it is not. */
enum hotspot_pushed {
	PUSHED_ALL,
	PUSHED_NOTHING,
	PUSHED_FP,
	PUSHED_FRAME, /* all, but the frame pointer is still the caller's */
	PUSHED_MORE,  /* and a word that is about to be popped to where it belongs */
};

#define PROLOGUE_BYTES 32
#define COMPLETE_NEVER 0xffff /* of a stub that has no safepoint */

/* Eight bytes at a time, without a branch for each: Linux 5.10 follows both ways of all of them. */
#define EACH_BYTE 0x0101010101010101ULL

static __always_inline u64 bytes_from(const u64 *code, u32 at)
{
	u32 shift = (at & 7) * 8;

	return shift ? code[at >> 3] >> shift | code[(at >> 3) + 1] << (64 - shift)
		     : code[at >> 3];
}

static __always_inline u64 has_zero(u64 bytes)
{
	return (bytes - EACH_BYTE) & ~bytes & EACH_BYTE << 7;
}

#define PROLOGUE_STEPS 4 /* of eight places, the last of which overlap with those before */
#define PROLOGUE_LAST (PROLOGUE_BYTES - 11)

/* Is there an instruction  sub $n,%rsp  in the bytes before this place? */
WALK_GLOBAL bool hotspot_has_frame(u64 walk, u64 pc)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	u64 code[PROLOGUE_BYTES / 8], found = 0;

	if (!h || walk_read(walk, code, sizeof(code), pc - PROLOGUE_BYTES))
		return false;
	if (h->complete >= COMPLETE_NEVER && pc - h->code >= PROLOGUE_BYTES)
		return true;
	UNROLL
	for (u32 i = 0; i < PROLOGUE_STEPS; i++) {
		u32 at = 8 * i < PROLOGUE_LAST ? 8 * i : PROLOGUE_LAST;

		found |= has_zero((bytes_from(code, at) ^ 0x48 * EACH_BYTE) |
			((bytes_from(code, at + 1) | 2 * EACH_BYTE) ^ 0x83 * EACH_BYTE) |
			(bytes_from(code, at + 2) ^ 0xec * EACH_BYTE));
	}
	return found != 0;
}

/* Is it  pop n(%rsp)?  Compiled code copies a word of its frame to another by  push; pop. */
static __always_inline bool hotspot_pops_word(u64 code)
{
	if ((u8)code == 0x48)
		code >>= 8;
	return (code & 0xff3fff) == 0x24048f;
}

/* The end of a function is  add $n,%rsp; pop %rbp; cmp disp(%r15),%rsp; ja ..; ret,  of which the
 * first and the two before the last are not always there. Instead of these 11 may have  mov
 * disp(%r15),%r10; test %eax,(%r10)  and 8  test %eax,disp(%rip).  before: 8 bytes. */
static __always_inline u32 hotspot_end_pushed(u64 before, u64 code)
{
	if ((u8)code == OPCODE_POP_FP)
		return PUSHED_FP;
	if (hotspot_pops_word(code))
		return PUSHED_MORE;
	if ((u8)code == OPCODE_RET || (code & 0xffff) == 0x3b49)
		return PUSHED_NOTHING;
	if (before >> 56 == OPCODE_POP_FP &&
		((before >> 24 & 0xffffff) == 0xc48348 || (before & 0xffffff) == 0xc48148))
		return PUSHED_NOTHING;
	if ((before >> 8 & 0xffffff) == 0xa73b49 || (before >> 32 & 0xffffff) == 0x673b49)
		return PUSHED_NOTHING;
	if ((u32)before == 0x978b4d5d && (code & 0xffffff) == 0x028541)
		return PUSHED_NOTHING;
	return PUSHED_ALL;
}

/* Its beginning is  push %rbp; sub $n,%rsp  after checks that change no stack, or  sub $n,%rsp; mov
 * %rbp,n-16(%rsp),  and then a check that calls a stub. */
WALK_GLOBAL u32 hotspot_pushed(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 code[2];
	u32 pushed;

	if (!h || !s || walk_read(walk, code, sizeof(code), s->regs.pc - 8))
		return PUSHED_ALL;
	pushed = hotspot_end_pushed(code[0], code[1]);
	if (pushed != PUSHED_ALL || s->regs.pc - h->code >= h->complete)
		return pushed;
	if (code[0] >> 56 == OPCODE_PUSH_FP || (code[0] >> 32 == 0xec8b4855) ||
		(code[0] >> 32 == 0xe5894855))
		return PUSHED_FP;
	if ((u32)code[1] == 0x246c8948 || (u32)code[1] == 0x24ac8948)
		return PUSHED_FRAME;
	return hotspot_has_frame(walk, s->regs.pc) ? PUSHED_ALL : PUSHED_NOTHING;
}

/* Words that compiled code pushes while it calls some stubs. */
#define PUSHED_WORDS 8

/* From code whose frame has a size. */
WALK_GLOBAL bool hotspot_step_sized(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u32 pushed = PUSHED_ALL;
	u64 sp, top;

	if (!h || !s)
		return false;
	sp = s->regs.sp;
	top = sp + h->frame_bytes;
	if (s->regs.exact)
		pushed = hotspot_pushed(walk);
	if (pushed == PUSHED_NOTHING && hotspot_return(walk, sp, 0))
		return true;
	if (pushed == PUSHED_FP && hotspot_return(walk, sp + 8, 1))
		return true;
	if (pushed == PUSHED_MORE)
		top += 8;
	if (hotspot_return(walk, top - 8, pushed != PUSHED_FRAME))
		return true;
	if (s->regs.exact && (hotspot_return(walk, sp, 0) || hotspot_return(walk, sp + 8, 1)))
		return true;
	for (u32 i = 0; i < PUSHED_WORDS; i++, top += 8)
		if (hotspot_return(walk, top, 1))
			return true;
	return false;
}

/* From the interpreter where it has no frame, and from an adapter. Arguments that they got, or are
 * about to pass on, lie below the caller's stack pointer. */
WALK_GLOBAL u32 hotspot_step_between(u64 walk, u32 old_sp)
{
	struct scratch *s = scratch_of(walk);
	u64 sp, word;
	bool exact;

	if (!s)
		return END_UNSUPPORTED;
	sp = s->regs.gpr[old_sp & 15]; /* a stub that such code calls leaves it alone */
	exact = s->regs.exact;
	/* Below the arguments is the return address, until a local variable is put there. In 8 what
	 * computes a power has words of its own below it. */
	if (exact && old_sp == REG_SENDER_SP && sp - s->regs.sp < STACK_NEAR &&
		hotspot_return(walk, sp - 8, 0))
		return END_NONE;
	if (hotspot_return(walk, s->regs.sp, 0) ||
		(exact && hotspot_return(walk, s->regs.sp + 8, 1)))
		return hotspot_return_to(s, s->regs.pc, sp);
	if (!exact)
		return END_UNSUPPORTED;
	word = s->regs.gpr[old_sp == REG_LEAVING_SP ? REG_SENDER_SP : REG_RESULT];
	if (!hotspot_made(walk, word))
		return END_UNSUPPORTED;
	return hotspot_return_to(s, word, sp);
}

#define STUB_SEARCH_WORDS 96

/* Did the call before this address lead to the stub? Compiled code has  mov $stub,%r10; call *%r10
 * or  call stub. */
static __always_inline bool hotspot_calls(u64 walk, const struct hotspot_scratch *h, u64 address)
{
	u64 code[2], target;

	if (walk_read(walk, code, sizeof(code), address - sizeof(code)))
		return false;
	if (code[1] >> 40 == 0xd2ff41 && (code[0] >> 24 & 0xffff) == 0xba49)
		target = code[0] >> 40 | code[1] << 24;
	else if ((code[1] >> 24 & 0xff) == 0xe8)
		target = address + (s64)(s32)(code[1] >> 32);
	else
		return false;
	return target - h->code < h->bytes;
}

/* A word of the stack. 1: the step is done; -1: it cannot be done. */
WALK_GLOBAL int hotspot_search_word(u64 walk, u64 at)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 word;

	if (!h || !s || at < s->regs.sp || walk_read(walk, &word, sizeof(word), at))
		return -1;
	if (!hotspot_made(walk, word) || !hotspot_calls(walk, h, word))
		return 0;
	return hotspot_return(walk, at, at != s->regs.sp) ? 1 : -1;
}

/* From where a stub was interrupted: its return address is the first word after a call that leads
 * there. Right below it is the frame pointer, if that was pushed. */
WALK_GLOBAL bool hotspot_search(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	for (u32 i = 0; s && i < STUB_SEARCH_WORDS; i++) {
		int found = hotspot_search_word(walk, s->regs.sp + 8 * i);

		if (found)
			return found > 0;
	}
	return false;
}

/* From a stub. The barrier at the beginning of methods has a word between its frame and its return
 * address. */
WALK_GLOBAL u32 hotspot_step_stub(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 sp, fp;

	if (!h || !s)
		return END_UNSUPPORTED;
	sp = s->regs.sp;
	fp = s->regs.fp;
	if (s->regs.pc == h->process.call_return)
		return hotspot_step_out(walk, s);
	if (s->regs.exact ? hotspot_search_word(walk, fp + 8) > 0 || hotspot_search(walk) ||
				hotspot_return(walk, sp, 0) || hotspot_return(walk, sp + 8, 1)
			  : hotspot_step_thawed(walk))
		return END_NONE;
	return hotspot_return(walk, fp + 8, 1) || hotspot_return(walk, fp + 16, 0)
		? END_NONE
		: END_UNSUPPORTED;
}

/* From code that has no frame, or has taken down that of who jumped there. Native code that it
 * calls gets an aligned stack. */
WALK_GLOBAL bool hotspot_step_bare(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 sp, fp;

	if (!s)
		return false;
	sp = s->regs.sp;
	fp = s->regs.fp;
	return hotspot_return(walk, sp, 0) || hotspot_return(walk, sp + 8, 0) ||
		hotspot_return(walk, fp + 8, 1);
}

#define REG_THROWN_AT 1 /* rdx: where the exception is */
#define OPCODE_POP_THROWN_AT 0x5a

/* Is  add $n,%rsp; pop %rdx  among the bytes before this place? */
WALK_GLOBAL bool hotspot_has_left(u64 walk, u64 pc)
{
	u64 code[PROLOGUE_BYTES / 8], found = 0;

	if (walk_read(walk, code, sizeof(code), pc - PROLOGUE_BYTES))
		return false;
	UNROLL
	for (u32 i = 0; i < PROLOGUE_STEPS; i++) {
		u32 at = 8 * i < PROLOGUE_LAST ? 8 * i : PROLOGUE_LAST;

		found |= has_zero((bytes_from(code, at) ^ 0x83 * EACH_BYTE) |
			(bytes_from(code, at + 1) ^ 0xc4 * EACH_BYTE) |
			(bytes_from(code, at + 3) ^ OPCODE_POP_THROWN_AT * EACH_BYTE));
	}
	return found != 0;
}

/* Code jumps there that has a frame. Its place is pushed as if it had called, and popped again. */
WALK_GLOBAL u32 hotspot_step_exception(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 at;
	u8 code = 0;

	if (!h || !s)
		return END_UNSUPPORTED;
	at = s->regs.gpr[REG_THROWN_AT];
	if (s->regs.exact && walk_read(walk, &code, 1, s->regs.pc))
		return END_UNSUPPORTED;
	if (code == OPCODE_POP_THROWN_AT)
		return hotspot_step_bare(walk) ? END_NONE : END_UNSUPPORTED;
	if (s->regs.exact && hotspot_made(walk, at) &&
		(s->regs.pc == h->code || hotspot_has_left(walk, s->regs.pc)))
		return hotspot_return_to(s, at, s->regs.sp);
	return hotspot_step_sized(walk) ? END_NONE : END_UNSUPPORTED;
}
