/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_code.h - recognises code whose call frame information is known to be wrong, x86-64
 * only. Sources: Intel SDM vol. 2 for the bytes; GCC, whose epilogue of a function with a realigned
 * stack restores rbp before the CFI says so; glibc's __start_context, whose CFI ignores that it
 * leaves its stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/image.h"

/* The instruction between the pop of rbp and the return in GCC's realigned epilogue:
 * `lea -8(%r10), %rsp`, or with r13 in nested functions. */
#define ROWS_CODE_REALIGNED_END_BYTES 4

/* Does the function at file_offset begin with `mov %REG, %rsp`, and so leave its caller's stack?
 * Then it has no caller: a context's function returns to it. */
bool rows_code_leaves_stack(const struct image *image, uint64_t file_offset);
/* Do the bytes before file_offset end the use of a realigned stack? */
bool rows_code_ends_realigned(const struct image *image, uint64_t file_offset);
/* Bytes of stack that the function at file_offset uses when it calls, including its return address,
 * if its first instructions show that and it has a frame pointer; else 0. */
uint32_t rows_code_frame(const struct image *image, uint64_t file_offset, uint64_t size);
/* Is the byte before file_offset padding between functions? */
bool rows_code_follows_padding(const struct image *image, uint64_t file_offset);
/* Are these bytes between two functions all padding: nops of any length, int3, zeros? True for
 * other machines. */
bool rows_code_is_padding(const struct image *image, uint64_t file_offset, uint64_t size);
