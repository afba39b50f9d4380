/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/clocks.c - the perf events that make the ticks. cpu-clock is a timer on each CPU that
 * also fires when the CPU is idle, at whole periods after its start. BPF counts the ticks that are
 * missing between two, and clocks.c those at an event's end. A cgroup's clock runs only while the
 * cgroup runs; its due ticks follow from the running time, which is the event's own count. A CPU
 * that goes offline takes its event with it, so after a change the list of online CPUs is compared,
 * and some ticks later each event is checked. */
#include "sampler/clocks.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "sampler/map_sizes.h"

#define STAT_PATH "/proc/stat"
#define STAT_STOLEN 8 /* a number of the first line (proc(5)) */
#define STAT_BYTES_MAX (16 * 1024 * 1024)
#define ONLINE_BYTES_MAX 65536
#define LOOK_TICKS 8
#define GRACE_NS (100 * NSEC_PER_MSEC)
#define ONLINE_PATH "/sys/devices/system/cpu/online"

static uint64_t period_ns(const struct clocks *clocks)
{
	return NSEC_PER_SEC / clocks->hz;
}

static struct cpu_ticks *ticks_of(const struct clocks *clocks, int cpu)
{
	return &clocks->ticks[cpu & (CPU_TICKS_MAX - 1)];
}

/* To be called just before the event is enabled. */
static void begin(struct clocks *clocks, int cpu)
{
	ticks_of(clocks, cpu)->due_ns = clock_ns(CLOCK_MONOTONIC) + period_ns(clocks);
	ticks_of(clocks, cpu)->first = 1;
}

/* Due ticks that no later tick has counted. The last one of a running event may still come. */
static uint64_t skipped_until(
	const struct clocks *clocks, int cpu, uint64_t until_ns, bool has_ended)
{
	uint64_t due_ns = ticks_of(clocks, cpu)->due_ns;

	if (clocks->cgroup_fd >= 0 || until_ns <= due_ns)
		return 0;
	return (until_ns - due_ns) / period_ns(clocks) + (has_ended ? 1 : 0);
}

int clocks_event(const struct clocks *clocks, const struct cpu_clock *clock, int *fd)
{
	int err = cpu_clock_open(clock, fd);

	return err == -EACCES && clocks->open ? clocks->open(clocks->open_ctx, clock, fd) : err;
}

/* The caller's descriptor, or -errno. */
static int event_open(struct clocks *clocks, int cpu)
{
	const struct cpu_clock clock = {
		.period_ns = period_ns(clocks), .cpu = cpu, .cgroup_fd = clocks->cgroup_fd
	};
	_cleanup_fd_ int fd = -1;
	int err = clocks_event(clocks, &clock, &fd);

	if (err < 0)
		return err;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, clocks->prog_fd) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static uint64_t event_ns(int fd)
{
	uint64_t ns = 0;

	if (read(fd, &ns, sizeof(ns)) != sizeof(ns))
		return 0;
	return ns;
}

/* The next range of a list such as "0-3,8": false at its end. */
static bool next_range(const char **at, int *first, int *last)
{
	char *end;

	if (**at == '\0' || **at == '\n')
		return false;
	*first = *last = (int)strtol(*at, &end, 10);
	if (end == *at)
		return false;
	if (*end == '-')
		*last = (int)strtol(end + 1, &end, 10);
	*at = *end == ',' ? end + 1 : end;
	return true;
}

/* Marks in wanted[] the CPUs of the list. */
static void mark_online(const char *list, bool *wanted, int cpus_max)
{
	int first, last;

	while (next_range(&list, &first, &last))
		for (int cpu = first; cpu <= last && cpu < cpus_max; cpu++)
			wanted[cpu] = true;
}

/* The ticks of a cgroup's clock that has run for run_ns, at this rate, without the part of a period
 * that has not ended: each CPU has its own. */
static uint64_t due_ticks(const struct clocks *clocks, int cpu, uint64_t run_ns)
{
	uint64_t from_ns = clocks->past_ns[cpu];

	return run_ns > from_ns ? (run_ns - from_ns) / period_ns(clocks) : 0;
}

/* The time that a cgroup's clock has counted. Some kernels read 0 for a CPU that is gone. */
static uint64_t read_run(const struct clocks *clocks, int cpu)
{
	uint64_t ns = clocks->cgroup_fd >= 0 ? event_ns(clocks->fds[cpu]) : 0;

	if (ns > clocks->run_ns[cpu])
		clocks->run_ns[cpu] = ns;
	return clocks->run_ns[cpu];
}

/* Ticks were due until then. */
static void close_cpu(struct clocks *clocks, int cpu, uint64_t until_ns)
{
	read_run(clocks, cpu);
	fd_close(&clocks->fds[cpu]);
	clocks->past_due += due_ticks(clocks, cpu, clocks->run_ns[cpu]);
	clocks->closed_skipped += skipped_until(clocks, cpu, until_ns, true);
	clocks->run_ns[cpu] = clocks->past_ns[cpu] = 0;
}

/* From a change to the check of each event: long enough for some ticks, a second at least. */
static uint64_t check_after_ns(const struct clocks *clocks)
{
	uint64_t ticks_ns = LOOK_TICKS * period_ns(clocks);

	return ticks_ns > NSEC_PER_SEC ? ticks_ns : NSEC_PER_SEC;
}

/* The event of a CPU that went away and came back stays open and may even seem to run, but never
 * ticks again. (Some kernels also deliver no tick of such a CPU while it idles, not even to a new
 * event; opening one each second costs nothing that is missed.) A cgroup's clock need not tick. */
static bool is_dead(struct clocks *clocks, int cpu, uint64_t passed_ns)
{
	uint64_t ticks = ticks_of(clocks, cpu)->ticks;
	uint64_t came = ticks - clocks->seen_ticks[cpu];

	clocks->seen_ticks[cpu] = ticks;
	return clocks->running && clocks->cgroup_fd < 0 && clocks->looked_at_ns > 0 && came == 0 &&
		passed_ns >= check_after_ns(clocks);
}

/* A dead event is replaced, and its due ticks go on: none of them came. */
static int follow_cpu(struct clocks *clocks, int cpu, bool wanted, bool dead)
{
	int *fd = &clocks->fds[cpu], err;
	bool counting = *fd >= 0 && wanted;

	if (*fd >= 0 && !wanted)
		close_cpu(clocks, cpu, clocks->looked_at_ns);
	if (*fd >= 0 && dead)
		fd_close(fd);
	if (!wanted || *fd >= 0)
		return 0;
	err = event_open(clocks, cpu);
	if (err < 0) {
		if (counting)
			close_cpu(clocks, cpu, clock_ns(CLOCK_MONOTONIC));
		return err;
	}
	*fd = err;
	clocks->opened[cpu]++;
	clocks->opened_sum++;
	if (clocks->running && !counting)
		begin(clocks, cpu);
	if (clocks->running)
		ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

/* Compares each CPU. *again: another check must follow. */
static int follow_all(struct clocks *clocks, const bool *wanted, uint64_t now_ns, bool *again)
{
	uint64_t passed_ns = now_ns - clocks->looked_at_ns;
	int first_err = 0;

	for (int cpu = 0; cpu < clocks->cpus_max; cpu++) {
		bool dead = is_dead(clocks, cpu, passed_ns);
		int err = follow_cpu(clocks, cpu, wanted[cpu], dead);

		*again = *again || (dead && wanted[cpu]) || err < 0;
		/* It may have gone between the list and the open. */
		if (err < 0 && err != -ENODEV && first_err == 0)
			first_err = err;
	}
	return first_err;
}

int clocks_follow(struct clocks *clocks, bool changed)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(freep) bool *wanted = NULL;
	bool again = changed || clocks->unwatched;
	int err;

	if (!changed && now_ns < clocks->check_ns)
		return 0;
	clocks->check_ns = now_ns + check_after_ns(clocks);
	err = fd_read_path(ONLINE_PATH, ONLINE_BYTES_MAX, &text);
	if (err < 0)
		return err;
	wanted = calloc((size_t)clocks->cpus_max, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	mark_online(text.data, wanted, clocks->cpus_max);
	err = follow_all(clocks, wanted, now_ns, &again);
	if (clocks->running)
		clocks->looked_at_ns = now_ns;
	if (!again || !clocks->running)
		clocks->check_ns = CLOCK_NEVER_NS;
	return err;
}

static int explain(int err, struct why *why)
{
	if (err == -EACCES || err == -EPERM)
		return why_set(why, err,
			"cannot open the CPU clock (perf_event_open: %s): run as root or with "
			"CAP_PERFMON",
			err_text(err));
	if (err == -EMFILE)
		return why_set(why, err,
			"cannot open a clock event on each CPU: too many open files; raise "
			"RLIMIT_NOFILE");
	return why_set(why, err, "cannot open the CPU clock (perf_event_open: %s)", err_text(err));
}

int clocks_open(struct clocks *clocks, const struct clocks_options *options, struct why *why)
{
	uint32_t cpus = 0;
	int err = map_sizes_cpus(&cpus, why);

	*clocks = (struct clocks){
		.prog_fd = options->prog_fd,
		.cgroup_fd = options->cgroup_fd,
		.open = options->open,
		.open_ctx = options->open_ctx,
		.hz = options->hz,
		.ticks = options->ticks,
		.period_ns = options->period_ns,
		.cpus_max = (int)cpus,
		.unwatched = options->unwatched,
	};
	if (err < 0)
		return err;
	clocks->fds = malloc((size_t)clocks->cpus_max * sizeof(*clocks->fds));
	clocks->run_ns = calloc((size_t)clocks->cpus_max, sizeof(*clocks->run_ns));
	clocks->past_ns = calloc((size_t)clocks->cpus_max, sizeof(*clocks->past_ns));
	clocks->seen_ticks = calloc((size_t)clocks->cpus_max, sizeof(*clocks->seen_ticks));
	clocks->opened = calloc((size_t)clocks->cpus_max, sizeof(*clocks->opened));
	if (!clocks->fds || !clocks->run_ns || !clocks->past_ns || !clocks->seen_ticks ||
		!clocks->opened) {
		clocks->cpus_max = 0;
		clocks_close(clocks);
		return why_set(why, -ENOMEM, "out of memory");
	}
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++)
		clocks->fds[cpu] = -1;
	err = clocks_follow(clocks, true);
	if (err < 0) {
		clocks_close(clocks);
		return explain(err, why);
	}
	return 0;
}

void clocks_close(struct clocks *clocks)
{
	for (int cpu = 0; clocks->fds && cpu < clocks->cpus_max; cpu++)
		fd_close(&clocks->fds[cpu]);
	free(clocks->fds);
	free(clocks->run_ns);
	free(clocks->past_ns);
	free(clocks->seen_ticks);
	free(clocks->opened);
	clocks->fds = NULL;
	clocks->opened = NULL;
	clocks->run_ns = clocks->past_ns = clocks->seen_ticks = NULL;
}

/* Steal time of all CPUs: /proc/stat has it in clock ticks. */
static uint64_t stolen_ns(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	unsigned long long ticks = 0;
	char *at;

	if (fd_read_path(STAT_PATH, STAT_BYTES_MAX, &text) < 0 || !text.data)
		return 0;
	at = text.data + strcspn(text.data, " ");
	for (int i = 0; i < STAT_STOLEN; i++)
		ticks = strtoull(at, &at, 10);
	return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* At this rate. */
static uint64_t stolen_ticks(const struct clocks *clocks)
{
	return (stolen_ns() - clocks->stolen_start_ns) / period_ns(clocks);
}

int clocks_start(struct clocks *clocks)
{
	clocks->stolen_start_ns = stolen_ns();
	clocks->started_ns = clocks->looked_at_ns = clock_ns(CLOCK_MONOTONIC);
	clocks->running = true;
	if (clocks->unwatched)
		clocks->check_ns = clocks->started_ns + check_after_ns(clocks);
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++) {
		if (clocks->fds[cpu] < 0)
			continue;
		begin(clocks, cpu);
		if (ioctl(clocks->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	}
	return 0;
}

static void disable_all(struct clocks *clocks)
{
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++)
		if (clocks->fds[cpu] >= 0)
			ioctl(clocks->fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
}

void clocks_stop(struct clocks *clocks)
{
	if (!clocks->running)
		return;
	clocks->running = false;
	disable_all(clocks);
	clocks->stopped_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Adds up the ticks of a rate that is over. */
static void settle(struct clocks *clocks, uint64_t now_ns)
{
	clocks->past_stolen += stolen_ticks(clocks);
	clocks->stolen_start_ns = stolen_ns();
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++) {
		if (clocks->fds[cpu] < 0)
			continue;
		clocks->past_due += due_ticks(clocks, cpu, read_run(clocks, cpu));
		clocks->past_ns[cpu] = clocks->run_ns[cpu];
		clocks->closed_skipped += skipped_until(clocks, cpu, now_ns, true);
		ticks_of(clocks, cpu)->due_ns = now_ns;
	}
}

/* A clock that is not enabled begins a period of the new length when it is. */
static int set_period(struct clocks *clocks, int cpu)
{
	uint64_t ns = period_ns(clocks);
	int err;

	if (ioctl(clocks->fds[cpu], PERF_EVENT_IOC_PERIOD, &ns) < 0) {
		err = -errno;
		close_cpu(clocks, cpu, ticks_of(clocks, cpu)->due_ns);
		clocks->check_ns = 0;
		return err;
	}
	if (clocks->running) {
		begin(clocks, cpu);
		ioctl(clocks->fds[cpu], PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

int clocks_set_hz(struct clocks *clocks, uint32_t hz)
{
	int first_err = 0;

	if (hz == clocks->hz)
		return 0;
	if (clocks->running) {
		disable_all(clocks);
		settle(clocks, clock_ns(CLOCK_MONOTONIC));
	}
	clocks->hz = hz;
	if (*clocks->period_ns)
		__atomic_store_n(clocks->period_ns, period_ns(clocks), __ATOMIC_SEQ_CST);
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++) {
		int err = clocks->fds[cpu] >= 0 ? set_period(clocks, cpu) : 0;

		first_err = first_err < 0 ? first_err : err;
	}
	return first_err;
}

void clocks_read(const struct clocks *clocks, struct clocks_time *out)
{
	struct clocks_time time = {
		.skipped = clocks->closed_skipped,
		.due = clocks->past_due,
		.stolen = clocks->past_stolen + stolen_ticks(clocks),
	};
	uint64_t until_ns = clocks->running ? clock_ns(CLOCK_MONOTONIC) : clocks->stopped_ns;

	time.wall_ns = until_ns - clocks->started_ns;
	for (int cpu = 0; cpu < clocks->cpus_max && cpu < CPU_TICKS_MAX; cpu++)
		time.skipped += clocks->ticks[cpu].skipped;
	for (int cpu = 0; cpu < clocks->cpus_max; cpu++) {
		if (clocks->fds[cpu] < 0)
			continue;
		time.cpus++;
		time.due += due_ticks(clocks, cpu, read_run(clocks, cpu));
		time.skipped += skipped_until(clocks, cpu, until_ns, !clocks->running);
	}
	*out = time;
}

/* A tick is an RCU read-side section, and membarrier(2) waits for a grace period. The kernel
 * refuses it if CPUs run without timer tick (nohz_full). Then a fixed time is enough: a tick of
 * ours takes microseconds, the time is many thousand times longer. */
static void wait_for_grace_period(void)
{
	struct timespec enough = { .tv_nsec = GRACE_NS };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
		nanosleep(&enough, NULL);
}

/* To read a running event the kernel interrupts its CPU and waits for the answer, which comes
 * after the tick: ticks run with interrupts off. A grace period takes as long as the kernel's
 * thread for it waits for a CPU. The kernel waits likewise for clocks that it stops. An event of a
 * cgroup is not always running. */
void clocks_wait_for_ticks(const struct clocks *clocks)
{
	if (clocks->running && clocks->cgroup_fd >= 0)
		wait_for_grace_period();
	for (int cpu = 0; clocks->running && clocks->cgroup_fd < 0 && cpu < clocks->cpus_max; cpu++)
		if (clocks->fds[cpu] >= 0)
			event_ns(clocks->fds[cpu]);
}
