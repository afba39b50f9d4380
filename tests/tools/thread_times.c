/* SPDX-License-Identifier: Apache-2.0 */
/* thread_times.c - what stoker knows of threads' waiting, a thread a line.
 * Usage: thread_times PID SECONDS [PREFIX]
 * Visits all threads twice, SECONDS apart, and prints for each thread of the process that was there
 * at both:
 *     thread TID COMM WALL RUNNING RUNNABLE BLOCKED OTHER        (nanoseconds)
 * and `visits BEGIN END` in ns of CLOCK_MONOTONIC. At each visit it sends the process SIGUSR1.
 * With PREFIX the process's records are written to PREFIX.0 and PREFIX.1, for unit tests. PID 0:
 * prints the sum of all threads alone, as `sum THREADS WALL ...`, and `pass NS` with the CPU time
 * of the second visit.
 * Exit 2: it cannot run. Root. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "waiting/thread_reader.h"

struct times {
	uint32_t pid;
	const char *prefix; /* NULL: none */
	uint64_t threads;
	struct thread_split sum;
};

static uint64_t no_account(void *ctx, uint64_t cgroup)
{
	(void)ctx;
	return cgroup;
}

static void print_split(const struct thread_split *s)
{
	printf(" %llu %llu %llu %llu %llu\n", (unsigned long long)s->wall_ns,
		(unsigned long long)s->running_ns, (unsigned long long)s->runnable_ns,
		(unsigned long long)s->blocked_ns, (unsigned long long)s->other_ns);
}

static int take(void *ctx, const struct thread_record *r, const struct thread_split *split)
{
	struct times *times = ctx;

	thread_split_add(&times->sum, split);
	times->threads++;
	if (times->pid == 0 || r->tgid != times->pid)
		return 0;
	printf("thread %u %s", r->tid, r->comm);
	print_split(split);
	return 0;
}

static void write_records(const struct times *times, const struct thread_pass *pass, int visit)
{
	const struct thread_record *records = pass->bytes;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%d", times->prefix, visit);
	file = fopen(path, "we");
	for (size_t i = 0; file && i < pass->len / sizeof(*records); i++)
		if (records[i].tgid == times->pid)
			fwrite(&records[i], sizeof(*records), 1, file);
	if (!file || fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

static int visit(
	struct thread_reader *reader, struct thread_table *table, struct times *times, int number)
{
	const struct thread_takers takers = { no_account, take, times };
	struct thread_pass pass;
	int err = thread_reader_pass(reader, &takers, &pass);

	if (times->pid)
		kill((pid_t)times->pid, SIGUSR1);
	if (err == 0 && times->prefix)
		write_records(times, &pass, number);
	return err < 0 ? err : thread_table_visit(table, &pass, &takers);
}

static void wait_for(double seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

int main(int argc, char **argv)
{
	const struct thread_reader_options options = { 0 };
	struct thread_table table = { 0 };
	struct times times = { 0 };
	struct thread_reader *reader;
	uint64_t began_ns, ended_ns, cpu_ns;
	struct why why;

	if (argc < 3)
		return 2;
	times.pid = (uint32_t)strtoul(argv[1], NULL, 10);
	times.prefix = argc > 3 ? argv[3] : NULL;
	if (thread_reader_open(&options, &reader, &why) < 0) {
		fprintf(stderr, "thread_times: %s\n", why.text);
		return 2;
	}
	began_ns = clock_ns(CLOCK_MONOTONIC);
	if (visit(reader, &table, &times, 0) < 0)
		return 2;
	wait_for(strtod(argv[2], NULL));
	ended_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (visit(reader, &table, &times, 1) < 0)
		return 2;
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	printf("visits %llu %llu\n", (unsigned long long)began_ns, (unsigned long long)ended_ns);
	if (times.pid == 0) {
		printf("sum %llu", (unsigned long long)times.threads);
		print_split(&times.sum);
		printf("pass %llu\n", (unsigned long long)cpu_ns);
	}
	thread_table_done(&table);
	thread_reader_free(reader);
	return 0;
}
