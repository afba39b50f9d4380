/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/way_out_x86.bpf.h - decodes the instructions from an interrupted place on, until one of them
 * shows where the function has its return address, on x86-64: `ret`, the instructions that make the
 * frame, or one that uses the frame. A conditional jump falls through: at one pc the stack is the
 * same whichever way is taken. Code written by hand may always jump, so the first jump is then
 * followed too. Part of bpf/uncovered_x86.bpf.h. */
#pragma once

#include "bpf/opcodes_x86.bpf.h"

#define WAY_STEPS 48
#define WAY_NOWHERE (1LL << 62)

/* Results of decoding. */
#define WAY_GOES_ON 0  /* nothing yet */
#define WAY_UNKNOWN 1  /* nothing */
#define WAY_FRAMED 2   /* the frame pointer leads to the return address */
#define WAY_STACK 3    /* on the stack, at way.depth */
#define WAY_REGISTER 4 /* in the register way.pushed - 1 */

#define REG_SP 4
#define REG_FP 5

/* The DWARF number of a register's number in an instruction (psABI §3.6.2). */
static __always_inline u32 dwarf_register(u32 reg)
{
	return reg < 8 ? 0x54673120 >> 4 * reg & 15 : reg & 15;
}

/* Is the base of the memory operand the frame pointer? */
static __always_inline bool uses_frame(const struct insn *i)
{
	u32 mode = i->modrm >> 6;

	if (!(i->forms & OP_MODRM) || mode == 0 || mode == 3 || (i->rex & REX_B))
		return false;
	return (i->modrm & 7) == REG_FP || ((i->modrm & 7) == 4 && (i->sib & 7) == REG_FP);
}

/* Does it write the stack pointer or the frame pointer? */
static __always_inline bool writes_frame(const struct insn *i)
{
	u32 reg = i->modrm >> 3 & 7, rm = i->modrm & 7;
	bool compares = (i->op | 2) == 0x83 && reg == 7, tests = i->op == 0xf7 && reg < 2;

	if ((i->forms & OP_TO_REG) && !(i->rex & REX_R) && (reg | 1) == REG_FP)
		return true;
	return (i->forms & OP_TO_RM) && i->modrm >> 6 == 3 && !(i->rex & REX_B) &&
		(rm | 1) == REG_FP && !compares && !tests;
}

/* The return address is at this depth. It may have been pushed again, above arguments. */
static __always_inline u32 way_ends(struct unwind_way *way, s64 depth)
{
	if (depth == way->copy) {
		way->how = FRAME_BY_CHAIN;
		depth = way->copied;
	} else if (way->lost) {
		return WAY_UNKNOWN;
	}
	way->depth = depth;
	return depth < 0 ? WAY_UNKNOWN : WAY_STACK;
}

/* Code that returns, or jumps to a function that returns in its place. */
static __always_inline u32 way_returns(struct unwind_way *way)
{
	if (way->called)
		return WAY_UNKNOWN;
	if (way->pushed && way->depth != way->copy) {
		way->how = FRAME_BY_CHAIN;
		return way->plain ? WAY_UNKNOWN : WAY_REGISTER;
	}
	return way_ends(way, way->depth);
}

/* The frame pointer becomes the address `up` bytes above the stack pointer, where that of the
 * caller was saved. */
static __always_inline u32 way_makes_frame(struct unwind_way *way, s64 up)
{
	s64 slot = way->depth + up;

	if (way->called || way->fp != WAY_NOWHERE || (slot < 0 && slot != way->saved))
		return WAY_UNKNOWN;
	if (way->popped && slot + 8 != way->copy)
		return WAY_UNKNOWN; /* the popped word may have been the return address */
	if (slot != way->saved)
		way->how = FRAME_BY_CHAIN;
	if (!way->saves)
		way->fp = slot;
	return way_ends(way, slot + 8);
}

static __always_inline u32 way_push(struct unwind_way *way, u32 reg)
{
	way->depth -= 8;
	way->pushed = reg + 1;
	if (way->pushed == way->popped) {
		way->copy = way->depth;
		way->copied = way->popped_at;
	}
	if (reg == REG_FP && way->fp == WAY_NOWHERE) {
		way->saved = way->depth;
		way->saves = 1;
	}
	return WAY_GOES_ON;
}

static __always_inline u32 way_pop(struct unwind_way *way, u32 reg)
{
	if (reg == REG_SP)
		return WAY_UNKNOWN;
	if (reg == REG_FP)
		way->fp = way->depth;
	way->popped = reg + 1;
	way->popped_at = way->depth;
	way->depth += 8;
	return WAY_GOES_ON;
}

/* Opcode ff. A jump by a table of targets stays in the function. */
static __always_inline u32 way_ff(struct unwind_way *way, const struct insn *i, u32 pushed)
{
	u32 reg = i->modrm >> 3 & 7;
	bool by_table = i->modrm >> 6 != 3 && (i->modrm & 7) == 4 &&
		((i->sib >> 3 & 7) != 4 || (i->rex & REX_X));

	if (reg == 2)
		way->called = 1;
	else if (reg == 6) {
		if ((i->modrm & 0x3f) == 0x34 && i->sib == 0x24) { /* n(%rsp) */
			way->copy = way->depth - 8;
			way->copied = way->depth + i->number;
		}
		way->depth -= 8;
	} else if (reg == 4 && !by_table) {
		way->how = FRAME_BY_CHAIN;
		way->pushed = pushed;
		return way_returns(way);
	} else if (reg > 1 || writes_frame(i))
		return WAY_UNKNOWN;
	return WAY_GOES_ON;
}

/* An instruction that writes the stack pointer or the frame pointer. */
static __always_inline u32 way_moves(struct unwind_way *way, const struct insn *i)
{
	u32 modrm = i->modrm;

	if (!(i->rex & REX_W) || (i->rex & (REX_R | REX_B)))
		return WAY_UNKNOWN;
	if ((i->op == 0x89 && modrm == 0xec) || (i->op == 0x8b && modrm == 0xe5))
		return way->fp == WAY_NOWHERE ? WAY_FRAMED : WAY_UNKNOWN; /* mov %rbp,%rsp */
	if ((i->op == 0x89 && modrm == 0xe5) || (i->op == 0x8b && modrm == 0xec))
		return way_makes_frame(way, 0); /* mov %rsp,%rbp */
	if (i->op == 0x8d && (modrm & 0x3f) == 0x2c && i->sib == 0x24)
		return way_makes_frame(way, i->number); /* lea n(%rsp),%rbp */
	if ((i->op == 0x8d && (modrm & 0x3f) == 0x24 && i->sib == 0x24) || /* lea n(%rsp),%rsp */
		((i->op | 2) == 0x83 && modrm == 0xc4))                    /* add */
		way->depth += i->number;
	else if (i->op == 0x8d && (modrm & 0x3f) == 0x24 && (i->sib & 7) == REG_SP) {
		way->lost = 1; /* lea n(%rsp,%rax,8),%rsp: arguments are dropped */
		way->copy = WAY_NOWHERE;
	} else if ((i->op | 2) == 0x83 && modrm == 0xec)
		way->depth -= i->number; /* sub */
	else
		return WAY_UNKNOWN;
	return WAY_GOES_ON;
}

/* Remembers the state where the first conditional jump is taken. */
static __always_inline void way_forks(struct scratch *s)
{
	if (s->way.forked)
		return;
	s->way.forked = 1;
	s->taken = s->way;
	s->taken.at = s->way.branch;
	s->taken.branch = 0;
}

/* The functions below are global, so that the verifier checks each once. */
WALK_GLOBAL bool way_opcode(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 code;

	if (!s || walk_read(walk, &code, sizeof(code), s->way.at))
		return false;
	insn_opcode(code, &s->way.insn);
	return true;
}

WALK_GLOBAL bool way_operands(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	if (!s || !insn_operands(&s->way.insn))
		return false;
	s->way.at += s->way.insn.bytes;
	return true;
}

/* Applies the decoded instruction to s->way. */
WALK_GLOBAL u32 way_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	const struct insn *i;
	struct unwind_way *way;
	u32 op, pushed;

	if (!s)
		return WAY_UNKNOWN;
	way = &s->way;
	i = &way->insn;
	op = i->op;
	if (op == 0xc3 || op == 0xc2)
		return way_returns(way);
	pushed = way->pushed;
	way->pushed = 0;
	if (op >> 3 == 0x50 >> 3)
		return way_push(way, (op & 7) | (i->rex & REX_B) << 3);
	way->plain |= op != 0x8d || pushed;
	if (op >> 3 == 0x58 >> 3)
		return way_pop(way, (op & 7) | (i->rex & REX_B) << 3);
	if (op == 0xc9 || uses_frame(i)) /* leave */
		return way->fp == WAY_NOWHERE ? WAY_FRAMED : WAY_UNKNOWN;
	if (op == 0xff)
		return way_ff(way, i, pushed);
	if (op == 0xe8)
		way->called = 1;
	else if (op == 0xe9 || op == 0xeb)
		way->at += i->number;
	else if (op == 0x68 || op == 0x6a)
		way->depth -= 8;
	else if (op >> 4 == 0x70 >> 4 || op >> 4 == 0x180 >> 4) {
		way->branch = way->at + i->number;
		way->branch_depth = way->depth;
		way_forks(s);
	} else if (writes_frame(i))
		return way_moves(way, i);
	return WAY_GOES_ON;
}

static __always_inline void way_begin(struct scratch *s)
{
	struct unwind_way *way = &s->way;

	way->at = s->regs.pc;
	way->depth = 0;
	way->saved = way->fp = way->copy = WAY_NOWHERE;
	way->branch = way->how = 0;
	way->popped = way->pushed = way->called = way->lost = way->plain = way->saves = 0;
	way->forked = way->second = 0;
}

/* The code cannot be followed here: an assertion that was jumped over, a stack that grows by a
 * register. The latest conditional jump leads on, if the stack has not changed since. */
static __always_inline bool way_branches(struct unwind_way *way)
{
	u64 branch = way->branch;

	way->branch = 0;
	if (branch)
		way->at = branch;
	return branch && way->branch_depth == way->depth && way->fp == WAY_NOWHERE;
}

/* True: the first way has ended at a return address, and the other one begins. */
static __always_inline bool way_turns(struct scratch *s, u32 found)
{
	struct unwind_way *way = &s->way;
	s64 depth = way->depth, fp = way->fp;
	u64 how = way->how;

	if (way->second || !way->forked || found != WAY_STACK)
		return false;
	*way = s->taken;
	way->second = 1;
	way->first_depth = depth;
	way->first_fp = fp;
	way->first_how = how;
	return true;
}

/* The first way's result, which is no proof where the other one found something else. */
static __always_inline u32 way_joins(struct unwind_way *way, u32 found)
{
	if (!way->second)
		return found;
	if (found == WAY_STACK && (way->depth != way->first_depth || way->fp != way->first_fp))
		way->first_how |= FRAME_BY_CHAIN;
	way->depth = way->first_depth;
	way->fp = way->first_fp;
	way->how = way->first_how;
	return WAY_STACK;
}

/* Decodes and applies the i-th instruction. The result is one of WAY_*. */
WALK_GLOBAL u32 way_turn(u64 walk, u32 i)
{
	struct scratch *s = scratch_of(walk);
	u32 found = WAY_UNKNOWN;

	if (!s || (i >= WAY_STEPS && !s->way.second))
		return WAY_UNKNOWN;
	if (way_opcode(walk) && way_operands(walk))
		found = way_step(walk);
	if (found == WAY_UNKNOWN && way_branches(&s->way))
		found = WAY_GOES_ON;
	return found != WAY_GOES_ON && way_turns(s, found) ? WAY_GOES_ON : found;
}

/* The result is one of WAY_*, and s->way says the rest. */
WALK_GLOBAL u32 way_out(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u32 found = WAY_GOES_ON;
	u8 before;

	if (!s)
		return WAY_UNKNOWN;
	way_begin(s);
	if (walk_read(walk, &before, sizeof(before), s->regs.pc - 1) == 0 && before == 0x55)
		s->way.saved = 0; /* push %rbp, if it is one */
	for (u32 i = 0; i < 2 * WAY_STEPS && found == WAY_GOES_ON; i++) {
		found = way_turn(walk, i);
		walk_used(found); /* or clang makes a second way back, no jump, which 6.1 refuses */
	}
	return way_joins(&s->way, found == WAY_GOES_ON ? WAY_UNKNOWN : found);
}
