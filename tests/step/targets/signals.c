/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - handlers on the same stack and on another, one in another, out of a system call, left
 * by a jump; and at any instruction, for the stepper delivers SIGALRM every few hundred.
 * BUILD o2: gcc -O2
 * BUILD o0-clang: clang -O0
 * BUILD static: gcc -O2 -static
 * FROM work_all
 * SIGNAL 211 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536

static volatile sig_atomic_t handled, depth;
static sigjmp_buf out;
static int pipe_ends[2];

__attribute__((noinline)) static int work(int n)
{
	char text[32];

	memset(text, n, sizeof(text));
	return n > 0 ? work(n - 1) + text[3] : text[1];
}

static void plain(int sig)
{
	handled += work(3) != sig * 1000;
}

static void with_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	handled += info->si_signo == sig;
	if (depth++ < 2)
		raise(SIGUSR1);
	depth--;
}

static void leaves(int sig)
{
	handled++;
	siglongjmp(out, sig);
}

static void *new_stack(void)
{
	char *memory =
		mmap(NULL, STACK_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory + 4096, STACK_BYTES, PROT_READ | PROT_WRITE);
	return memory + 4096;
}

static void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &action, NULL);
}

static void install_info(int sig, int flags)
{
	struct sigaction action = { .sa_sigaction = with_info, .sa_flags = flags | SA_SIGINFO };

	sigaction(sig, &action, NULL);
}

/* Out of a system call, which is done again or is not. */
static void interrupt_calls(int flags)
{
	struct itimerval often = { .it_value = { 0, 100000 }, .it_interval = { 0, 100000 } };
	struct itimerval never = { 0 };
	struct timespec long_time = { 1, 0 }, left = { 0 };
	char byte;

	install(SIGALRM, plain, flags);
	setitimer(ITIMER_REAL, &often, NULL);
	nanosleep(&long_time, &left);
	if (!(flags & SA_RESTART))
		handled += read(pipe_ends[0], &byte, 1) < 0;
	setitimer(ITIMER_REAL, &never, NULL);
}

__attribute__((noinline)) int work_all(void)
{
	volatile int jumps = 0;

	install(SIGUSR2, plain, 0);
	install_info(SIGUSR1, SA_NODEFER);
	raise(SIGUSR2);
	raise(SIGUSR1);
	install_info(SIGUSR1, SA_ONSTACK | SA_NODEFER);
	raise(SIGUSR1);
	install(SIGHUP, leaves, SA_ONSTACK);
	install(SIGTERM, leaves, 0);
	if (sigsetjmp(out, 1) != 0)
		jumps++;
	if (jumps < 4)
		raise(jumps & 1 ? SIGTERM : SIGHUP);
	interrupt_calls(0);
	interrupt_calls(SA_RESTART);
	interrupt_calls(SA_ONSTACK);
	for (int i = 0; i < 60; i++)
		handled += work(i % 5) == 77;
	return handled < 10 || jumps != 4;
}

int main(void)
{
	stack_t stack = { .ss_sp = new_stack(), .ss_size = STACK_BYTES };

	if (pipe(pipe_ends) < 0)
		return 1;
	sigaltstack(&stack, NULL);
	install(SIGALRM, plain, 0);
	return work_all();
}
