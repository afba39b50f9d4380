/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/insn.c - skips prefixes and looks at the opcode. */
#include "insn.h"

#include <stdbool.h>
#include <string.h>

static bool is_prefix(uint8_t byte)
{
	static const uint8_t legacy[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0,
		0xf2, 0xf3 };

	return (byte & 0xf0) == 0x40 || memchr(legacy, byte, sizeof(legacy)) != NULL;
}

enum insn_class insn_classify(const uint8_t *code, size_t len)
{
	size_t i = 0;

	while (i < len && is_prefix(code[i]))
		i++;
	if (i + 2 > len)
		return INSN_OTHER;
	if (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10))
		return INSN_CALL;
	if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x20)
		return INSN_JUMP;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return INSN_RET;
	if (code[i] == 0x0f && code[i + 1] == 0x05)
		return INSN_SYSCALL;
	return INSN_OTHER;
}
