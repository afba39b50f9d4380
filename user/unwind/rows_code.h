/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_code.h - places at which call frame information is known to be wrong, told by the
 * code: x86-64 alone. Sources: Intel SDM vol. 2 for the bytes; GCC, whose epilogue of a function
 * with a realigned stack restores rbp before the CFI says so; glibc's __start_context, whose CFI
 * says nothing of the stack that it leaves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/image.h"

/* The instruction of GCC's realigned epilogue that is between the pop of rbp and the return:
 * `lea -8(%r10), %rsp`, or by r13, which nested functions use. */
#define ROWS_CODE_REALIGNED_END_BYTES 4

/* Does the function begin by leaving its caller's stack, `mov %REG, %rsp`? Then it has no caller:
 * it is what a context's function returns to. file_offset is its first byte's. */
bool rows_code_leaves_stack(const struct image *image, uint64_t file_offset);
/* Do the bytes that end at file_offset end the use of a realigned stack? */
bool rows_code_ends_realigned(const struct image *image, uint64_t file_offset);
/* Bytes of stack that the function which begins at file_offset uses where it calls, its return
 * address among them, if its first instructions say so and it has a frame pointer; else 0. */
uint32_t rows_code_frame(const struct image *image, uint64_t file_offset, uint64_t size);
/* Is the byte before file_offset one that fills room between functions? */
bool rows_code_follows_padding(const struct image *image, uint64_t file_offset);
