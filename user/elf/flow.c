/* SPDX-License-Identifier: Apache-2.0 */
/* elf/flow.c - an x86 instruction is prefixes, an opcode in one of a few maps, operands (ModRM,
 * SIB, displacement) and an immediate; the opcode decides which of the last two there are. An arm64
 * instruction is a word. Invariant: a successful read consumes 1 to 15 bytes. The caller decides
 * what is code: this reads any bytes. */
#include "elf/flow.h"

#include <elf.h>

#define X86_INSN_MAX 15

enum imm { IMM_0, IMM_8, IMM_16, IMM_Z, IMM_V, IMM_ENTER, IMM_MOFFS, IMM_F6, IMM_BAD };
#define M 0x10 /* a ModRM byte follows */

/* By opcode of the one-byte map, from 0x40 on; below, rows of eight are alike. */
static const uint8_t one_byte[0xc0] = {
	[0x63 - 0x40] = M,
	[0x68 - 0x40] = IMM_Z,
	[0x69 - 0x40] = M | IMM_Z,
	[0x6a - 0x40] = IMM_8,
	[0x6b - 0x40] = M | IMM_8,
	[0x60 - 0x40 ... 0x62 - 0x40] = IMM_BAD,
	[0x70 - 0x40 ... 0x7f - 0x40] = IMM_8,
	[0x80 - 0x40] = M | IMM_8,
	[0x81 - 0x40] = M | IMM_Z,
	[0x82 - 0x40] = IMM_BAD,
	[0x83 - 0x40] = M | IMM_8,
	[0x84 - 0x40 ... 0x8f - 0x40] = M,
	[0x9a - 0x40] = IMM_BAD,
	[0xa0 - 0x40 ... 0xa3 - 0x40] = IMM_MOFFS,
	[0xa8 - 0x40] = IMM_8,
	[0xa9 - 0x40] = IMM_Z,
	[0xb0 - 0x40 ... 0xb7 - 0x40] = IMM_8,
	[0xb8 - 0x40 ... 0xbf - 0x40] = IMM_V,
	[0xc0 - 0x40 ... 0xc1 - 0x40] = M | IMM_8,
	[0xc2 - 0x40] = IMM_16,
	[0xc4 - 0x40 ... 0xc5 - 0x40] = IMM_BAD,
	[0xc6 - 0x40] = M | IMM_8,
	[0xc7 - 0x40] = M | IMM_Z,
	[0xc8 - 0x40] = IMM_ENTER,
	[0xca - 0x40] = IMM_16,
	[0xcd - 0x40] = IMM_8,
	[0xce - 0x40] = IMM_BAD,
	[0xd0 - 0x40 ... 0xd3 - 0x40] = M,
	[0xd4 - 0x40 ... 0xd6 - 0x40] = IMM_BAD,
	[0xd8 - 0x40 ... 0xdf - 0x40] = M,
	[0xe0 - 0x40 ... 0xe7 - 0x40] = IMM_8,
	[0xe8 - 0x40 ... 0xe9 - 0x40] = IMM_Z,
	[0xea - 0x40] = IMM_BAD,
	[0xeb - 0x40] = IMM_8,
	[0xf6 - 0x40 ... 0xf7 - 0x40] = M | IMM_F6,
	[0xfe - 0x40 ... 0xff - 0x40] = M,
};

struct x86 {
	struct cursor *code;
	uint8_t map; /* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; XOP's 8 to 10 */
	uint8_t opcode, modrm;
	bool wide, narrow, short_address, plain; /* plain: no VEX, EVEX or XOP prefix */
};

/* ---- x86-64 ---------------------------------------------------------------------------------- */

static uint8_t peek(const struct cursor *c)
{
	struct cursor ahead = *c;

	return cursor_u8(&ahead);
}

/* Legacy prefixes and REX. Returns the first byte after them. */
static uint8_t read_prefixes(struct x86 *x)
{
	for (int i = 0; i < X86_INSN_MAX; i++) {
		uint8_t byte = cursor_u8(x->code);

		switch (byte) {
		case 0x66:
			x->narrow = true;
			break;
		case 0x67:
			x->short_address = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		default:
			if ((byte & 0xf0) != 0x40)
				return byte;
			x->wide = byte & 8;
		}
	}
	x->code->bad = true;
	return 0;
}

static void read_opcode(struct x86 *x)
{
	uint8_t byte = read_prefixes(x);

	x->plain = false;
	if (byte == 0xc5) {
		cursor_skip(x->code, 1);
		x->map = 1;
	} else if (byte == 0xc4 || (byte == 0x8f && (peek(x->code) & 0x1f) >= 8)) {
		x->map = cursor_u8(x->code) & 0x1f;
		cursor_skip(x->code, 1);
	} else if (byte == 0x62) {
		x->map = cursor_u8(x->code) & 7;
		cursor_skip(x->code, 2);
	} else {
		x->plain = true;
		x->opcode = byte;
		if (byte != 0x0f)
			return;
		x->map = 1;
		byte = peek(x->code);
		if (byte == 0x38 || byte == 0x3a) {
			x->map = byte == 0x38 ? 2 : 3;
			cursor_skip(x->code, 1);
		}
	}
	x->opcode = cursor_u8(x->code);
}

static uint8_t two_byte_form(const struct x86 *x)
{
	uint8_t op = x->opcode;

	if ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
		(op >= 0xc4 && op <= 0xc6) || op == 0x0f)
		return M | IMM_8;
	if (!x->plain)
		return op == 0x77 ? IMM_0 : M;
	if (op >= 0x80 && op <= 0x8f)
		return IMM_Z;
	if ((op >= 0x05 && op <= 0x0b) || op == 0x0e || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
		(op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) || op >= 0xc8)
		return op >= 0xd0 ? M : IMM_0;
	return M;
}

static uint8_t form_of(const struct x86 *x)
{
	static const uint8_t low[8] = { M, M, M, M, IMM_8, IMM_Z, IMM_BAD, IMM_BAD };

	switch (x->map) {
	case 0:
		if (!x->plain)
			return IMM_BAD;
		return x->opcode < 0x40 ? low[x->opcode & 7] : one_byte[x->opcode - 0x40];
	case 1:
		return two_byte_form(x);
	case 3:
	case 8:
		return M | IMM_8;
	case 10:
		return M | IMM_Z;
	case 2:
	case 5:
	case 6:
	case 9:
		return M;
	default:
		return IMM_BAD;
	}
}

static void skip_operand(struct x86 *x)
{
	uint8_t mod, rm, base;

	x->modrm = cursor_u8(x->code);
	mod = x->modrm >> 6;
	rm = base = x->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4)
		base = cursor_u8(x->code) & 7;
	if (mod == 1)
		cursor_skip(x->code, 1);
	else if (mod == 2 || base == 5)
		cursor_skip(x->code, 4);
}

/* The immediate; a jump's is its distance. */
static int64_t read_immediate(struct x86 *x, uint8_t imm)
{
	bool jump = x->map == 1 || (x->opcode & 0xfe) == 0xe8;

	if (imm == IMM_F6)
		imm = x->modrm & 0x30 ? IMM_0 : x->opcode == 0xf6 ? IMM_8 : IMM_Z;
	switch (imm) {
	case IMM_8:
		return (int8_t)cursor_u8(x->code);
	case IMM_16:
		return cursor_u16(x->code);
	case IMM_V:
		if (x->wide)
			return (int64_t)cursor_u64(x->code);
		/* fallthrough */
	case IMM_Z:
		if (x->narrow && !x->wide && !jump && x->plain)
			return cursor_u16(x->code);
		return (int32_t)cursor_u32(x->code);
	case IMM_ENTER:
		cursor_skip(x->code, 3);
		return 0;
	case IMM_MOFFS:
		cursor_skip(x->code, x->short_address ? 4 : 8);
		return 0;
	default:
		return 0;
	}
}

static enum flow_kind one_byte_kind(const struct x86 *x, bool *direct)
{
	uint8_t op = x->opcode, reg = x->modrm >> 3 & 7;

	*direct = (op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0 || (op & 0xfe) == 0xe8 || op == 0xeb;
	if (op == 0xe8)
		return FLOW_CALL;
	if (op == 0xe9 || op == 0xeb)
		return FLOW_JUMP;
	if (*direct)
		return FLOW_BRANCH;
	if (op == 0xff && (reg == 4 || reg == 5))
		return FLOW_INDIRECT;
	if (op == 0xff && (reg == 2 || reg == 3))
		return FLOW_CALL;
	if ((op & 0xfe) == 0xc2 || (op & 0xfe) == 0xca || op == 0xcf || op == 0xf4)
		return FLOW_END;
	/* pause is no nop, and zeros are `add %al,(%rax)` */
	return op == 0x90 || op == 0xcc || (op == 0 && x->modrm == 0) ? FLOW_PADDING : FLOW_NEXT;
}

static enum flow_kind x86_kind(const struct x86 *x, bool *direct)
{
	*direct = false;
	if (!x->plain)
		return FLOW_NEXT;
	if (x->map == 0)
		return one_byte_kind(x, direct);
	*direct = x->map == 1 && (x->opcode & 0xf0) == 0x80;
	if (*direct)
		return FLOW_BRANCH;
	if (x->map == 1 && x->opcode == 0x0b)
		return FLOW_END;
	return x->map == 1 && x->opcode == 0x1f ? FLOW_PADDING : FLOW_NEXT;
}

static bool x86_read(struct cursor *code, uint64_t at, struct flow *out)
{
	struct x86 x = { .code = code };
	size_t start = cursor_offset(code);
	int64_t immediate;
	uint8_t form;

	read_opcode(&x);
	form = form_of(&x);
	if (form & M)
		skip_operand(&x);
	immediate = read_immediate(&x, form & ~M);
	if (code->bad || form == IMM_BAD || cursor_offset(code) - start > X86_INSN_MAX)
		return false;
	*out = (struct flow){ .length = (uint8_t)(cursor_offset(code) - start) };
	out->kind = x86_kind(&x, &out->direct);
	if (out->direct)
		out->target = at + out->length + (uint64_t)immediate;
	return true;
}

/* ---- arm64 ----------------------------------------------------------------------------------- */

/* The signed field of `bits` bits at `shift`, which counts words. */
static uint64_t distance(uint32_t word, unsigned int shift, unsigned int bits)
{
	int64_t field = (int64_t)((uint64_t)word << (64 - bits - shift)) >> (64 - bits);

	return (uint64_t)field * 4;
}

static bool arm64_read(struct cursor *code, uint64_t at, struct flow *out)
{
	uint32_t word = cursor_u32(code), high = word >> 24;

	if (code->bad)
		return false;
	*out = (struct flow){ .kind = FLOW_NEXT, .length = 4 };
	if (word == 0 || word == 0xd503201f) {
		out->kind = FLOW_PADDING;
	} else if ((high & 0x7c) == 0x14) {
		out->kind = high & 0x80 ? FLOW_CALL : FLOW_JUMP;
		out->direct = true;
		out->target = at + distance(word, 0, 26);
	} else if (high == 0x54 || (high & 0x7e) == 0x34) {
		out->kind = FLOW_BRANCH;
		out->direct = true;
		out->target = at + distance(word, 5, 19);
	} else if ((high & 0x7e) == 0x36) {
		out->kind = FLOW_BRANCH;
		out->direct = true;
		out->target = at + distance(word, 5, 14);
	} else if ((word & 0xfe000000) == 0xd6000000) {
		uint32_t what = word >> 21 & 7; /* br, blr, ret, ..., eret */

		out->kind = what == 0 ? FLOW_INDIRECT : what == 1 ? FLOW_CALL : FLOW_END;
	} else if ((word & 0xffe0001f) == 0xd4200000) {
		out->kind = FLOW_END; /* brk */
	}
	return true;
}

bool flow_knows(uint16_t machine)
{
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

bool flow_read(uint16_t machine, struct cursor *code, uint64_t at, struct flow *out)
{
	if (machine == EM_X86_64)
		return x86_read(code, at, out);
	return machine == EM_AARCH64 && arm64_read(code, at, out);
}
