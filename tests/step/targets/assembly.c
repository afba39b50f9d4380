/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.c - hand-written code with CFI of the rarer kinds, such as cryptography has: the stack
 * pointer that it was called with in a register that calls do not preserve, over calls of its own
 * leaf; in memory at a place that a register tells; the frame pointer in a register.
 * BUILD o2: gcc -O2
 * BUILD clang: clang -O1
 * FROM main */

__asm__(".text\n"
	"scratch_leaf:\n"
	"	.cfi_startproc\n"
	"	lea (%rdi,%rdi), %rax\n"
	"	add $1, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.type scratch_leaf, @function\n"
	"	.size scratch_leaf, . - scratch_leaf\n"
	"scratch:\n"
	"	.cfi_startproc\n"
	"	lea (%rsp), %r11\n"
	"	.cfi_def_cfa_register %r11\n"
	"	push %rbp\n"
	"	.cfi_offset %rbp, -16\n"
	"	sub $80, %rsp\n"
	"	and $-64, %rsp\n"
	"	xor %ebp, %ebp\n"
	"	call scratch_leaf\n"
	"	mov %rax, %rdi\n"
	"	call scratch_leaf\n"
	"	mov -8(%r11), %rbp\n"
	"	.cfi_restore %rbp\n"
	"	lea (%r11), %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.type scratch, @function\n"
	"	.size scratch, . - scratch\n"
	"indexed:\n"
	"	.cfi_startproc\n"
	"	mov %rdi, %r9\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register %rax\n"
	"	lea -16(,%rdi,8), %r10\n"
	"	neg %r10\n"
	"	lea -64(%rsp,%r10), %r10\n"
	"	and $-1024, %r10\n"
	"	mov %r10, %rsp\n"
	"	mov %rax, 8(%rsp,%r9,8)\n"
	/* DW_CFA_def_cfa_expression: *(rsp + 8 + 8 * r9) + 8 */
	"	.cfi_escape 0x0f, 0x0a, 0x77, 0x08, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08\n"
	"	xor %eax, %eax\n"
	"	add %rdi, %rax\n"
	"	mov 8(%rsp,%r9,8), %rsi\n"
	"	.cfi_def_cfa %rsi, 8\n"
	"	lea (%rsi), %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.type indexed, @function\n"
	"	.size indexed, . - indexed\n"
	"kept:\n"
	"	.cfi_startproc\n"
	"	mov %rbp, %r8\n"
	"	.cfi_register %rbp, %r8\n"
	"	xor %ebp, %ebp\n"
	"	call scratch_leaf\n"
	"	mov %r8, %rbp\n"
	"	.cfi_restore %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.type kept, @function\n"
	"	.size kept, . - kept\n");

long scratch(long);
long indexed(long);
long kept(long);

/* With a frame pointer, which a walk has to find again. */
__attribute__((noinline)) static long calls_all(long n)
{
	volatile char room[n];

	room[0] = 1;
	return scratch(n) + indexed(n) + kept(n) + room[0];
}

int main(void)
{
	long sum = 0;

	for (long n = 3; n < 20; n++)
		sum += calls_all(n);
	return sum == 0;
}
