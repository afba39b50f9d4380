/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - handlers on the same stack and on another, one in another, out of a system call, at
 * any instruction, and left by a jump.
 * BUILD o2: gcc -O2
 * BUILD o0-clang: clang -O0
 * BUILD static: gcc -O2 -static
 * FROM main */
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
	char *memory = mmap(NULL, STACK_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

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

static void timer(long microseconds)
{
	struct itimerval value = { .it_value = { 0, microseconds },
		.it_interval = { 0, microseconds } };

	setitimer(ITIMER_REAL, &value, NULL);
}

int main(void)
{
	stack_t stack = { .ss_sp = new_stack(), .ss_size = STACK_BYTES };
	struct timespec pause_time = { 0, 3000000 };
	volatile int jumps = 0;

	sigaltstack(&stack, NULL);
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
	install(SIGALRM, plain, SA_RESTART);
	timer(1500);
	for (int i = 0; i < 300; i++)
		work(i % 5);
	timer(0);
	install(SIGALRM, plain, SA_ONSTACK);
	timer(1000);
	for (int i = 0; i < 300; i++)
		work(i % 5);
	nanosleep(&pause_time, NULL);
	timer(0);
	return handled < 10 || jumps != 4;
}
