/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/opcodes_x86.bpf.h - length and operands of the instructions that compilers emit, on x86-64
 * (Intel SDM vol. 2, chapter 2 and appendix A). An opcode without an entry cannot be decoded: those
 * that trap, string and x87 instructions, and those that write rsp or rbp without a ModRM byte. No
 * maps and no SEC. Part of bpf/way_out_x86.bpf.h. */
#pragma once

#include "bpf/shim.h"

#define OP_PLAIN 1
#define OP_MODRM 2
#define OP_IMM8 4
#define OP_IMM32 8
#define OP_TO_REG 16 /* writes the general register that ModRM.reg names */
#define OP_TO_RM 32  /* writes the operand that ModRM.rm names */

#define OP_ARITHMETIC(op)                                                           \
	[(op)] = OP_MODRM, [(op) + 1] = OP_MODRM | OP_TO_RM, [(op) + 2] = OP_MODRM, \
	[(op) + 3] = OP_MODRM | OP_TO_REG, [(op) + 4] = OP_IMM8, [(op) + 5] = OP_IMM32

/* From 256 on: the opcodes after 0f. */
static const u8 opcode_forms[512] = {
	OP_ARITHMETIC(0x00),
	OP_ARITHMETIC(0x08),
	OP_ARITHMETIC(0x10),
	OP_ARITHMETIC(0x18),
	OP_ARITHMETIC(0x20),
	OP_ARITHMETIC(0x28),
	OP_ARITHMETIC(0x30),
	[0x38 ... 0x3b] = OP_MODRM, /* cmp */
	[0x3c] = OP_IMM8,
	[0x3d] = OP_IMM32,
	[0x50 ... 0x5f] = OP_PLAIN, /* push, pop */
	[0x63] = OP_MODRM | OP_TO_REG,
	[0x68] = OP_IMM32,
	[0x69] = OP_MODRM | OP_IMM32 | OP_TO_REG,
	[0x6a] = OP_IMM8,
	[0x6b] = OP_MODRM | OP_IMM8 | OP_TO_REG,
	[0x70 ... 0x7f] = OP_IMM8, /* jcc */
	[0x80] = OP_MODRM | OP_IMM8,
	[0x81] = OP_MODRM | OP_IMM32 | OP_TO_RM,
	[0x83] = OP_MODRM | OP_IMM8 | OP_TO_RM,
	[0x84 ... 0x86] = OP_MODRM,
	[0x87] = OP_MODRM | OP_TO_REG | OP_TO_RM,
	[0x88] = OP_MODRM,
	[0x89] = OP_MODRM | OP_TO_RM,
	[0x8a] = OP_MODRM,
	[0x8b] = OP_MODRM | OP_TO_REG,
	[0x8d] = OP_MODRM | OP_TO_REG,
	[0x90] = OP_PLAIN,
	[0x98 ... 0x99] = OP_PLAIN,
	[0xa8] = OP_IMM8,
	[0xa9] = OP_IMM32,
	[0xb0 ... 0xb7] = OP_IMM8,
	[0xb8 ... 0xbb] = OP_IMM32,
	[0xbe ... 0xbf] = OP_IMM32,
	[0xc0] = OP_MODRM | OP_IMM8,
	[0xc1] = OP_MODRM | OP_IMM8 | OP_TO_RM,
	[0xc2 ... 0xc3] = OP_PLAIN, /* ret */
	[0xc6] = OP_MODRM | OP_IMM8,
	[0xc7] = OP_MODRM | OP_IMM32 | OP_TO_RM,
	[0xc9] = OP_PLAIN, /* leave */
	[0xd0] = OP_MODRM,
	[0xd1] = OP_MODRM | OP_TO_RM,
	[0xd2] = OP_MODRM,
	[0xd3] = OP_MODRM | OP_TO_RM,
	[0xe8 ... 0xe9] = OP_IMM32, /* call, jmp */
	[0xeb] = OP_IMM8,
	[0xf6] = OP_MODRM,
	[0xf7] = OP_MODRM | OP_TO_RM,
	[0xfe] = OP_MODRM,
	[0xff] = OP_MODRM | OP_TO_RM,
	[0x110 ... 0x11f] = OP_MODRM,
	[0x128 ... 0x12b] = OP_MODRM,
	[0x12c ... 0x12d] = OP_MODRM | OP_TO_REG,
	[0x12e ... 0x12f] = OP_MODRM,
	[0x140 ... 0x150] = OP_MODRM | OP_TO_REG, /* cmovcc, movmsk */
	[0x151 ... 0x16f] = OP_MODRM,
	[0x170 ... 0x173] = OP_MODRM | OP_IMM8,
	[0x174 ... 0x176] = OP_MODRM,
	[0x177] = OP_PLAIN,
	[0x17c ... 0x17f] = OP_MODRM,
	[0x180 ... 0x18f] = OP_IMM32, /* jcc */
	[0x190 ... 0x19f] = OP_MODRM,
	[0x1a3] = OP_MODRM,
	[0x1a4] = OP_MODRM | OP_IMM8 | OP_TO_RM,
	[0x1a5] = OP_MODRM | OP_TO_RM,
	[0x1ab] = OP_MODRM | OP_TO_RM,
	[0x1ac] = OP_MODRM | OP_IMM8 | OP_TO_RM,
	[0x1ad] = OP_MODRM | OP_TO_RM,
	[0x1ae] = OP_MODRM,
	[0x1af] = OP_MODRM | OP_TO_REG,
	[0x1b0] = OP_MODRM,
	[0x1b1] = OP_MODRM | OP_TO_RM,
	[0x1b3] = OP_MODRM | OP_TO_RM,
	[0x1b6 ... 0x1b8] = OP_MODRM | OP_TO_REG,
	[0x1ba] = OP_MODRM | OP_IMM8 | OP_TO_RM,
	[0x1bb] = OP_MODRM | OP_TO_RM,
	[0x1bc ... 0x1bf] = OP_MODRM | OP_TO_REG,
	[0x1c0] = OP_MODRM,
	[0x1c1] = OP_MODRM | OP_TO_REG | OP_TO_RM,
	[0x1c2] = OP_MODRM | OP_IMM8,
	[0x1c3] = OP_MODRM,
	[0x1c4] = OP_MODRM | OP_IMM8,
	[0x1c5] = OP_MODRM | OP_IMM8 | OP_TO_REG,
	[0x1c6] = OP_MODRM | OP_IMM8,
	[0x1c7] = OP_MODRM,
	[0x1d0 ... 0x1fe] = OP_MODRM,
};

#define REX_B 1
#define REX_X 2
#define REX_R 4
#define REX_W 8

#define INSN_LATER 512
#define INSN_PREFIXES 3

/* Bytes of the ModRM byte, the SIB byte and the displacement (Intel SDM vol. 2, tables 2-2, 2-3).
 */
static __always_inline u32 operand_bytes(u32 modrm, u32 sib)
{
	u32 mode = modrm >> 6, rm = modrm & 7, has_sib = mode != 3 && rm == 4;

	if (mode == 0 && (rm == 5 || (has_sib && (sib & 7) == 5)))
		return 5 + has_sib;
	return 1 + has_sib + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

static __always_inline bool is_prefix(u32 byte)
{
	return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e ||
		byte == 0x64 || byte == 0x65 || byte == 0xf0;
}

/* Decodes prefixes and opcode of the instruction whose first eight bytes are these. */
static __always_inline void insn_opcode(u64 code, struct insn *i)
{
	u32 map = 0;

	i->head = 1;
	i->wide = 4;
	i->rex = 0;
	for (u32 n = 0; n < INSN_PREFIXES && is_prefix((u8)code); n++, code >>= 8) {
		if ((u8)code == 0x66)
			i->wide = 2;
		i->head++;
	}
	if (((u8)code & 0xf0) == 0x40) {
		i->rex = code & 0xf;
		code >>= 8;
		i->head++;
	}
	if ((u8)code == 0xc5) { /* VEX */
		i->rex = (~code >> 13) & REX_R;
		map = 1;
		code >>= 16;
		i->head += 2;
	} else if ((u8)code == 0xc4) {
		i->rex = (~code >> 13) & (REX_R | REX_X | REX_B);
		map = code >> 8 & 0x1f;
		code >>= 24;
		i->head += 3;
	} else if ((u8)code == 0x0f) {
		map = 1;
		code >>= 8;
		i->head++;
		if (((u8)code | 2) == 0x3a) {
			map = (u8)code == 0x3a ? 3 : 2;
			code >>= 8;
			i->head++;
		}
	}
	i->op = map < 2 ? (u32)(code & 0xff) | map << 8 : INSN_LATER + map;
	i->code = code >> 8;
}

/* Decodes its operands. False: the opcode is unknown. */
static __always_inline bool insn_operands(struct insn *i)
{
	u32 forms = opcode_forms[i->op & 511];
	u64 code = i->code;

	if (i->op >= INSN_LATER)
		forms = OP_MODRM | (i->op == INSN_LATER + 3 ? OP_IMM8 : 0);
	i->forms = forms;
	i->bytes = i->head;
	i->modrm = i->sib = 0;
	if (forms & OP_MODRM) {
		i->modrm = code & 0xff;
		i->sib = code >> 8 & 0xff;
		i->bytes += operand_bytes(i->modrm, i->sib);
		if ((i->op | 1) == 0xf7 && (i->modrm >> 3 & 7) < 2) /* test */
			i->bytes += i->op == 0xf7 ? i->wide : 1;
		code >>= 8;
		if (!(forms & (OP_IMM8 | OP_IMM32)))
			code = i->modrm >> 6 == 0 ? 0 : code >> 8;
	}
	i->number = (s32)code;
	if ((forms & OP_IMM8) || (!(forms & OP_IMM32) && i->modrm >> 6 == 1))
		i->number = (s32)(signed char)code;
	if (forms & OP_IMM8)
		i->bytes++;
	if (forms & OP_IMM32)
		i->bytes += i->op >> 3 == 0xb8 >> 3 && (i->rex & REX_W) ? 8 : i->wide;
	return forms != 0;
}
