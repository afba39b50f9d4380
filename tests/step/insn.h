/* SPDX-License-Identifier: Apache-2.0 */
/* insn.h - as much of x86-64 as tells where control goes (Intel SDM vol. 2). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define INSN_BYTES_MAX 15

enum insn_class {
	INSN_OTHER = 1,
	INSN_CALL,
	INSN_RET,
	INSN_SYSCALL,
	INSN_JUMP, /* to where a register or memory says */
};

enum insn_class insn_classify(const uint8_t *code, size_t len);
