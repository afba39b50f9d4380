/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_code.c - compares bytes of code with known sequences.
 * It looks for whole sequences with one meaning only, and only where the caller knows that an
 * instruction begins or ends; anything else is no match. */
#include "unwind/rows_code.h"

#include <elf.h>

#include "unwind/rows_prologue.h"

#define ENDBR64 0xfa1e0ff3U
#define LEA_R10_RSP 0xf8628d49U
#define LEA_R13_RSP 0xf8658d49U
#define PROLOGUE_MAX 64 /* instructions */

static struct cursor code_at(const struct image *image, uint64_t file_offset)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);

	if (image->machine == EM_X86_64)
		cursor_seek(&c, file_offset);
	else
		c.bad = true;
	return c;
}

bool rows_code_leaves_stack(const struct image *image, uint64_t file_offset)
{
	struct cursor c = code_at(image, file_offset), start = c;
	uint8_t rex, opcode, modrm;

	if (cursor_u32(&c) != ENDBR64)
		c = start;
	/* REX.W, or with the bit that makes the source one of r8 to r15. */
	rex = cursor_u8(&c) & 0xfb;
	opcode = cursor_u8(&c);
	modrm = cursor_u8(&c);
	return !c.bad && rex == 0x48 && opcode == 0x89 && (modrm & 0xc7) == 0xc4;
}

bool rows_code_ends_realigned(const struct image *image, uint64_t file_offset)
{
	struct cursor c;
	uint32_t code;

	if (file_offset < ROWS_CODE_REALIGNED_END_BYTES)
		return false;
	c = code_at(image, file_offset - ROWS_CODE_REALIGNED_END_BYTES);
	code = cursor_u32(&c);
	return code == LEA_R10_RSP || code == LEA_R13_RSP;
}

uint32_t rows_code_frame(const struct image *image, uint64_t file_offset, uint64_t size)
{
	struct cursor c = code_at(image, file_offset), code = cursor_sub(&c, size);
	struct rows_prologue state = { 0 };

	for (int i = 0; i < PROLOGUE_MAX && rows_prologue_next(&code, &state); i++)
		;
	return state.fp > 0 ? state.depth + 8 : 0;
}

bool rows_code_follows_padding(const struct image *image, uint64_t file_offset)
{
	struct cursor c;
	uint8_t byte;

	if (file_offset == 0)
		return false;
	c = code_at(image, file_offset - 1);
	byte = cursor_u8(&c);
	/* nop, int3, and the last byte of the long nops. */
	return !c.bad && (byte == 0x90 || byte == 0xcc || byte == 0x00);
}

/* The bytes after the opcode of `nop r/m`: ModRM, SIB and displacement (Intel SDM vol. 2, 2.1). */
static void skip_operand(struct cursor *c)
{
	uint8_t modrm = cursor_u8(c), mod = modrm >> 6, rm = modrm & 7;
	uint8_t sib = mod != 3 && rm == 4 ? cursor_u8(c) : 0;

	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		cursor_u32(c);
	else if (mod == 1)
		cursor_u8(c);
}

static bool skip_padding(struct cursor *c)
{
	uint8_t byte = cursor_u8(c);

	while (!c->bad && (byte == 0x66 || byte == 0x2e))
		byte = cursor_u8(c);
	if (byte != 0x0f)
		return c->bad || byte == 0x90 || byte == 0xcc || byte == 0x00;
	if (cursor_u8(c) != 0x1f)
		return false;
	skip_operand(c);
	return true;
}

bool rows_code_is_padding(const struct image *image, uint64_t file_offset, uint64_t size)
{
	struct cursor c = code_at(image, file_offset), code = cursor_sub(&c, size);

	while (!code.bad && cursor_left(&code) > 0)
		if (!skip_padding(&code))
			return false;
	return true;
}
