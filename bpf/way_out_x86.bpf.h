/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/way_out_x86.bpf.h - decodes the few instructions between an interrupted place and the end, or
 * the beginning, of its function, on x86-64. There the code proves where the return address is,
 * with no table. Part of bpf/uncovered_x86.bpf.h. */
#pragma once

#define REG_OF(modrm) ((modrm) >> 3 & 7)
#define IS_STACK_REG(reg) ((reg) == 4 || (reg) == 5) /* rsp, rbp */

/* Length of a memory or register operand with its ModRM byte (Intel SDM vol. 2, table 2-2). */
static __always_inline u32 operand_bytes(u32 modrm)
{
	u32 mode = modrm >> 6, rm = modrm & 7, sib = mode != 3 && rm == 4;

	if (mode == 0 && rm == 5)
		return 5;
	return 1 + sib + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* Length of an instruction that changes neither stack pointer nor frame pointer, and may go on to
 * the next one; 0: another one, or none of those that are common where functions begin and end. */
static __always_inline u32 plain_bytes(u64 code)
{
	u32 rex = (code & 0xf0) == 0x40, extended = rex && (code & 4);
	u32 op, modrm, bytes;

	code >>= 8 * rex;
	op = (u8)code;
	modrm = code >> 8 & 0xff;
	bytes = rex + 1 + operand_bytes(modrm);
	if ((op & 0xf0) == 0x70) /* jcc */
		return 2;
	if (op == 0x0f && (modrm & 0xf0) == 0x80)
		return 6;
	if (op == 0x39 || op == 0x3b || op == 0x85) /* cmp, test */
		return bytes;
	if (op == 0xf6 && REG_OF(modrm) == 0)
		return bytes + 1;
	if ((op == 0x80 || op == 0x83) && REG_OF(modrm) == 7)
		return bytes + 1;
	if (op == 0x81 && REG_OF(modrm) == 7)
		return bytes + 4;
	if (op == 0x89 && modrm >> 6 != 3) /* mov to memory */
		return bytes;
	if ((op == 0x8b || op == 0x8d) && (extended || !IS_STACK_REG(REG_OF(modrm))))
		return bytes;
	return 0;
}

/* push %rbp; mov %rsp,%rbp */
static __always_inline bool begins_frame(u32 code)
{
	return code == 0xe5894855 || code == 0xec8b4855;
}

#define WAY_STEPS 12
#define WAY_UNKNOWN ~0ULL
#define WAY_FRAMED (~0ULL - 1) /* the frame pointer leads to it */
#define WAY_HIDDEN (~0ULL - 2) /* it is in a register */

/* Where the interrupted function has its return address, if the code from pc to its `ret`, or to
 * the instructions that make its frame, shows that: bytes above the stack pointer, and from bit 32
 * on those to the caller's frame pointer, plus 1 (0: it is in its register). Else one of the
 * constants. A conditional jump falls through: at one pc the stack is the same whichever way is
 * taken. */
WALK_GLOBAL u64 way_out(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 code, at, above = 0, fp = 0;

	if (!s)
		return WAY_UNKNOWN;
	at = s->regs.pc;
	if (walk_read(walk, &code, sizeof(code), at - 1) == 0 && begins_frame((u32)code))
		return 1ULL << 32 | 8; /* the caller's frame pointer is on top */
	for (u32 i = 0; i < WAY_STEPS; i++) {
		u32 rex, bytes;

		if (walk_read(walk, &code, sizeof(code), at))
			return WAY_UNKNOWN;
		rex = (u8)code == 0x41;
		if ((u8)code == 0xc3 || (u8)code == 0xc2 || (u16)code == 0xc3f3 ||
			begins_frame((u32)code))
			return fp << 32 | above;
		if ((u8)code == 0xc9 || (code & 0xffffff) == 0xe58b48 ||
			(code & 0xffffff) == 0xec8948) /* leave; mov %rbp,%rsp */
			return above == 0 ? WAY_FRAMED : WAY_UNKNOWN;
		if ((code & 0x38ffff) == 0x208d48) /* lea ...,%rsp: arguments are dropped */
			return above == 0 ? WAY_HIDDEN : WAY_UNKNOWN;
		if ((u8)(code >> 8 * rex) >> 3 == 0x50 >> 3) /* push */
			return (u8)(code >> 8 * (rex + 1)) == 0xc3 ? WAY_HIDDEN : WAY_UNKNOWN;
		if ((u8)(code >> 8 * rex) >> 3 == 0x58 >> 3 && (u8)code != 0x5c) { /* pop */
			if ((u8)code == 0x5d)
				fp = above + 1;
			above += 8;
			bytes = rex + 1;
		} else if ((code & 0x80ffffff) == 0xc48348) { /* add $n,%rsp */
			above += (u8)(code >> 24);
			bytes = 4;
		} else {
			bytes = plain_bytes(code);
		}
		if (bytes == 0)
			return WAY_UNKNOWN;
		at += bytes;
	}
	return WAY_UNKNOWN;
}
