/* SPDX-License-Identifier: Apache-2.0 */
/* mill.c - what the recordings of tests/golden/replay are of: one program without libc, so that the
 * recording holds all of its code. It waits for a byte on stdin, then does one thing after the
 * other, MS milliseconds each: `mill MS first` or `mill MS second`. x86-64 only. */
#include <stddef.h>
#include <stdint.h>

enum {
	SYS_READ,
	SYS_WRITE,
	SYS_OPEN,
	SYS_MMAP = 9,
	SYS_GETPID = 39,
	SYS_CLONE = 56,
	SYS_PRCTL = 157,
	SYS_CLOCK_GETTIME = 228,
	SYS_EXIT_GROUP = 231,
};

#define ROOM (1 << 16)
#define READ_EXECUTE 5
#define ALL_RIGHTS 7
#define PRIVATE 2
#define ANONYMOUS 0x20
#define BURST 20000

static char room[ROOM];
static volatile unsigned int result, done;

/* The process's first frame, a thread, and a thread's first frame. */
int spawn(void *stack_end, void (*run)(long), long argument);
__asm__(".globl _start\n"
	"_start: .cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call mill\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	"spawn: .cfi_startproc\n"
	"	mov %rsi, -16(%rdi)\n"
	"	mov %rdx, -8(%rdi)\n"
	"	lea -16(%rdi), %rsi\n"
	"	mov $0x50f00, %edi\n" /* CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM */
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	xor %r8d, %r8d\n"
	"	mov $56, %eax\n"
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jz begin\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type begin, @function\n"
	"begin:	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	pop %rax\n"
	"	pop %rdi\n"
	"	call *%rax\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size begin, . - begin\n");

static long call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return answer;
}

static uint64_t now_ms(void)
{
	struct {
		long s, ns;
	} now;

	call(SYS_CLOCK_GETTIME, 1, (long)&now, 0, 0, 0);
	return (uint64_t)now.s * 1000 + (uint64_t)now.ns / 1000000;
}

static void call_me(const char *name)
{
	call(SYS_PRCTL, 15, (long)name, 0, 0, 0);
}

/* ---- work -------------------------------------------------------------------------------------
 */

static inline __attribute__((always_inline)) unsigned int mix(unsigned int x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

__attribute__((noinline)) unsigned int grind(unsigned int n)
{
	unsigned int x = n | 1;

	while (n-- > 0)
		x = mix(x) + n;
	return x;
}

__attribute__((noinline)) unsigned int sift(unsigned int n)
{
	return grind(n) + grind(n / 2) + 1;
}

__attribute__((noinline)) void turn(uint64_t ms, unsigned int (*work)(unsigned int))
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end)
		result += work(BURST);
}

__attribute__((noinline)) unsigned int fetch_grain(unsigned int n)
{
	static int zero = -1;

	if (zero < 0)
		zero = (int)call(SYS_OPEN, (long)"/dev/zero", 0, 0, 0, 0);
	return n + (unsigned int)call(SYS_READ, zero, (long)room, ROOM, 0, 0);
}

/* ---- code of another file ---------------------------------------------------------------------
 */

/* The file's entry, where it is mapped now. */
__attribute__((noinline)) static void turn_file(uint64_t ms, const char *path)
{
	long fd = call(SYS_OPEN, (long)path, 0, 0, 0, 0);
	char *at = (char *)call(SYS_MMAP, 0, ROOM, READ_EXECUTE, PRIVATE, fd);

	turn(ms, (unsigned int (*)(unsigned int))(at + *(uint64_t *)(at + 24)));
}

/* ---- code of no file --------------------------------------------------------------------------
 */

static const unsigned char loop[] = {
	0x55,                         /* push %rbp */
	0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
	0xb9, 0x20, 0x4e, 0x00, 0x00, /* mov $20000, %ecx */
	0xff, 0xc9, 0x75, 0xfc,       /* dec %ecx; jnz */
	0x5d, 0xc3,                   /* pop %rbp; ret */
};

/* Its frame pointer leads nowhere. */
static const unsigned char lost_loop[] = {
	0x55,                         /* push %rbp */
	0xbd, 0x08, 0x00, 0x00, 0x00, /* mov $8, %ebp */
	0xb9, 0x20, 0x4e, 0x00, 0x00, /* mov $20000, %ecx */
	0xff, 0xc9, 0x75, 0xfc,       /* dec %ecx; jnz */
	0x5d, 0xc3,                   /* pop %rbp; ret */
};

static char *put_hex(char *at, uint64_t number)
{
	for (int shift = 44; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[number >> shift & 15];
	*at++ = ' ';
	return at;
}

static void write_map(const char *code, const char *lost)
{
	char path[] = "/tmp/perf-00000000.map", text[128], *at = text;
	const char *names = "jit_loop\njit_lost\n";
	long pid = call(SYS_GETPID, 0, 0, 0, 0, 0), digits = 0, fd;

	for (long left = pid; left > 0; left /= 10)
		digits++;
	for (long i = digits; i > 0; i--, pid /= 10)
		path[9 + i] = (char)('0' + pid % 10);
	for (int i = 0; i < 5; i++)
		path[10 + digits + i] = ".map"[i];
	for (int i = 0; i < 2; i++) {
		at = put_hex(at, (uint64_t)(i == 0 ? code : lost));
		at = put_hex(at, i == 0 ? sizeof(loop) : sizeof(lost_loop));
		do
			*at++ = *names;
		while (*names++ != '\n');
	}
	fd = call(SYS_OPEN, (long)path, 01 | 0100 | 01000, 0644, 0, 0);
	call(SYS_WRITE, fd, (long)text, at - text, 0, 0);
}

__attribute__((noinline)) static void turn_jit(uint64_t ms)
{
	char *code = (char *)call(SYS_MMAP, 0, ROOM, ALL_RIGHTS, PRIVATE | ANONYMOUS, -1);
	char *lost = code + 256;

	for (size_t i = 0; i < sizeof(loop); i++)
		code[i] = (char)loop[i];
	for (size_t i = 0; i < sizeof(lost_loop); i++)
		lost[i] = (char)lost_loop[i];
	write_map(code, lost);
	turn(ms, (unsigned int (*)(unsigned int))code);
	turn(ms, (unsigned int (*)(unsigned int))lost);
}

/* ---- what is asked for ------------------------------------------------------------------------
 */

static void run_thread(long ms)
{
	call_me("mill wheel");
	turn((uint64_t)ms, sift);
	done = 1;
}

__attribute__((noinline)) static void first(uint64_t ms)
{
	turn(ms, sift);
	turn(ms, fetch_grain);
	turn_file(ms, "late.so");
	turn_file(ms, "refused.so");
}

__attribute__((noinline)) static void second(uint64_t ms)
{
	static char stack[ROOM] __attribute__((aligned(16)));

	call_me("second mill");
	turn(ms, grind);
	spawn(stack + ROOM, run_thread, (long)ms);
	while (!done)
		result += sift(BURST);
	turn_jit(ms);
}

__attribute__((used)) static void mill(long *start)
{
	char **argv = (char **)(start + 1);
	uint64_t ms = 0;

	for (const char *digit = argv[1]; *digit; digit++)
		ms = ms * 10 + (uint64_t)(*digit - '0');
	call(SYS_READ, 0, (long)room, 1, 0, 0);
	if (argv[2][0] == 'f')
		first(ms);
	else
		second(ms);
	call(SYS_EXIT_GROUP, 0, 0, 0, 0, 0);
}
