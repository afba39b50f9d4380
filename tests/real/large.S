/* SPDX-License-Identifier: Apache-2.0 */
/* large.S - 65,536 functions of 16 bytes, each with its FDE. A function calls the first of the
 * addresses that %rdi points at, with the rest of them. */
	.text
#ifdef FIRST
	.globl large_first
large_first:
#endif
	.rept 65536
	.cfi_startproc
	lea 8(%rdi), %rdi
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call *-8(%rdi)
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack, "", @progbits
