/* SPDX-License-Identifier: Apache-2.0 */
/* waits.c - threads that wait in known ways, each named after its own: until the last of them the
 * program runs for SECONDS.
 * Usage: waits SECONDS [FILE]
 *     waits-burn      always wants a CPU
 *     waits-sleep     sleeps 100 ms, works for about 2 ms
 *     waits-pair0, 1  want the first allowed CPU all the time, both: each preempts the other
 *     waits-lock0..2  hold one lock for 20 ms each, asleep, and work for about 1 ms outside it
 *     waits-never     waits for what never comes
 *     waits-read      reads FILE past the page cache, if one is given
 * At each SIGUSR1 it prints a line of each thread's own clocks, `own NAME TID MONOTONIC_NS CPU_NS`,
 * and `.`. At its start it prints `pid PID` once all threads run.
 *
 * BUILD: -std=gnu11 -O2 -D_GNU_SOURCE
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

#define THREADS_MAX 16
#define BLOCK (4U << 20)

struct waiter {
	const char *name;
	void (*turn)(struct waiter *self);
	pthread_t thread;
	pid_t tid;
	int one_cpu;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t never_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_comes = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t started;
static const char *file;

static void work(uint64_t cpu_ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void want_cpu(struct waiter *self)
{
	(void)self;
	work(100000000);
}

static void sleep_often(struct waiter *self)
{
	(void)self;
	rest(100);
	work(2000000);
}

static void convoy(struct waiter *self)
{
	(void)self;
	pthread_mutex_lock(&lock);
	rest(20);
	pthread_mutex_unlock(&lock);
	work(1000000);
}

static void never(struct waiter *self)
{
	(void)self;
	pthread_mutex_lock(&never_lock);
	pthread_cond_wait(&never_comes, &never_lock);
	pthread_mutex_unlock(&never_lock);
}

static void read_file(struct waiter *self)
{
	int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *block = NULL;
	off_t at = 0;

	(void)self;
	if (fd < 0 || posix_memalign(&block, 4096, BLOCK) != 0) {
		perror(file);
		exit(1);
	}
	for (;;) {
		ssize_t len = pread(fd, block, BLOCK, at);

		at = len == (ssize_t)BLOCK ? at + len : 0;
		rest(2); /* a trace of more switches is not whole */
	}
}

static struct waiter waiters[THREADS_MAX] = {
	{ .name = "waits-burn", .turn = want_cpu },
	{ .name = "waits-sleep", .turn = sleep_often },
	{ .name = "waits-pair0", .turn = want_cpu, .one_cpu = 1 },
	{ .name = "waits-pair1", .turn = want_cpu, .one_cpu = 1 },
	{ .name = "waits-lock0", .turn = convoy },
	{ .name = "waits-lock1", .turn = convoy },
	{ .name = "waits-lock2", .turn = convoy },
	{ .name = "waits-never", .turn = never },
	{ .name = "waits-read", .turn = read_file },
};

static void use_first_cpu(void)
{
	cpu_set_t allowed, first;

	CPU_ZERO(&first);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &first);
		break;
	}
	sched_setaffinity(0, sizeof(first), &first);
}

static void *run(void *ctx)
{
	struct waiter *self = ctx;

	self->tid = (pid_t)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), self->name);
	if (self->one_cpu)
		use_first_cpu();
	pthread_barrier_wait(&started);
	for (;;)
		self->turn(self);
	return NULL;
}

static void print_clocks(size_t len)
{
	for (size_t i = 0; i < len; i++) {
		clockid_t clock;

		pthread_getcpuclockid(waiters[i].thread, &clock);
		printf("own %s %d %llu %llu\n", waiters[i].name, (int)waiters[i].tid,
			(unsigned long long)clock_ns(CLOCK_MONOTONIC),
			(unsigned long long)clock_ns(clock));
	}
	puts(".");
	fflush(stdout);
}

/* The main thread comes before all others, so that its answer is not late. */
static void come_first(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
}

int main(int argc, char **argv)
{
	struct timespec left;
	uint64_t end;
	size_t len = 0;
	sigset_t signals;

	if (argc < 2)
		return 2;
	file = argc > 2 ? argv[2] : NULL;
	while (len < THREADS_MAX && waiters[len].name)
		len++;
	len -= file ? 0 : 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_barrier_init(&started, NULL, (unsigned int)len + 1);
	for (size_t i = 0; i < len; i++)
		if (pthread_create(&waiters[i].thread, NULL, run, &waiters[i]) != 0)
			return 1;
	pthread_barrier_wait(&started);
	come_first();
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	end = clock_ns(CLOCK_MONOTONIC) + strtoull(argv[1], NULL, 10) * 1000000000ULL;
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		uint64_t left_ns = end - clock_ns(CLOCK_MONOTONIC);

		left.tv_sec = (time_t)(left_ns / 1000000000ULL);
		left.tv_nsec = (long)(left_ns % 1000000000ULL);
		if (sigtimedwait(&signals, NULL, &left) == SIGUSR1)
			print_clocks(len);
	}
	return 0;
}
