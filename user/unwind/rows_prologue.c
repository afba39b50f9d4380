/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_prologue.c - reads pushes and allocations of locals, and skips the instructions that
 * compilers mix in: moves, loads, comparisons, and jumps not taken. A call, a return or an unknown
 * instruction ends the prologue. */
#include "unwind/rows_prologue.h"

#define REX_B 1
#define REX_W 8
#define MODRM_SUB_RSP 0xec
#define DEPTH_MAX (1U << 24)

static void skip_operand(struct cursor *c)
{
	uint8_t modrm = cursor_u8(c), mod = modrm >> 6, rm = modrm & 7;
	bool wide = mod == 2;

	if (mod == 3)
		return;
	if (rm == 4)
		wide |= mod == 0 && (cursor_u8(c) & 7) == 5;
	else
		wide |= mod == 0 && rm == 5;
	cursor_skip(c, wide ? 4 : mod);
}

/* After 0f. */
static bool skip_long(struct cursor *c)
{
	uint8_t opcode = cursor_u8(c);

	if ((opcode & 0xf0) == 0x80) { /* jcc */
		cursor_skip(c, 4);
		return true;
	}
	switch (opcode) {
	case 0x10: /* moves of vectors, clearing them, nop, zero-extending moves; endbr64 reads so
		    */
	case 0x11:
	case 0x1e:
	case 0x1f:
	case 0x28:
	case 0x29:
	case 0x57:
	case 0x6e:
	case 0x6f:
	case 0x7f:
	case 0xb6:
	case 0xb7:
	case 0xef:
		skip_operand(c);
		return true;
	default:
		return false;
	}
}

static bool skip_other(struct cursor *c, uint8_t rex, uint8_t opcode)
{
	if (opcode == 0x0f)
		return skip_long(c);
	if ((opcode & 0xf0) == 0x70) { /* jcc */
		cursor_skip(c, 1);
		return true;
	}
	if ((opcode & 0xf8) == 0xb8) { /* mov $n */
		cursor_skip(c, rex & REX_W ? 8 : 4);
		return true;
	}
	switch (opcode) {
	case 0x31: /* xor, cmp, test, mov, lea */
	case 0x33:
	case 0x39:
	case 0x3b:
	case 0x63:
	case 0x84:
	case 0x85:
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		skip_operand(c);
		return true;
	case 0x80: /* instructions with a constant */
	case 0x83:
	case 0xc6:
		skip_operand(c);
		cursor_skip(c, 1);
		return true;
	case 0x81:
	case 0xc7:
		skip_operand(c);
		cursor_skip(c, 4);
		return true;
	default:
		return false;
	}
}

/* `sub $n,%rsp`, after its opcode; 0: another instruction. */
static uint32_t room(struct cursor c, uint8_t rex, uint8_t opcode)
{
	if (!(rex & REX_W) || (opcode != 0x83 && opcode != 0x81) || cursor_u8(&c) != MODRM_SUB_RSP)
		return 0;
	return opcode == 0x83 ? cursor_u8(&c) : cursor_u32(&c);
}

bool rows_prologue_next(struct cursor *code, struct rows_prologue *state)
{
	struct cursor c = *code;
	uint8_t rex = 0, opcode = cursor_u8(&c);
	struct rows_prologue next = *state;

	while (opcode == 0x64 || opcode == 0x66 || opcode == 0xf2 || opcode == 0xf3)
		opcode = cursor_u8(&c);
	if ((opcode & 0xf0) == 0x40) {
		rex = opcode;
		opcode = cursor_u8(&c);
	}
	if ((opcode & 0xf8) == 0x50) {
		next.depth += 8;
		if (opcode == 0x55 && !(rex & REX_B) && next.fp == 0)
			next.fp = next.depth;
	} else {
		next.depth += room(c, rex, opcode);
		if (!skip_other(&c, rex, opcode))
			return false;
	}
	if (c.bad || next.depth > DEPTH_MAX)
		return false;
	*code = c;
	*state = next;
	return true;
}
