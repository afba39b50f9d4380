/* SPDX-License-Identifier: Apache-2.0 */
/* fpref.c - runs fpref.bpf.c on every CPU and prints what a run of it cost the kernel.
 * Usage: fpref FPREF.BPF.O HZ SECONDS. Prints `RUNS NANOSECONDS`. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int attach(struct bpf_program *program, int cpu, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	return bpf_program__attach_perf_event(program, fd) ? 0 : -errno;
}

static int run(struct bpf_object *object, unsigned int hz, unsigned int seconds)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, "on_tick");
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int error = 0;

	if (!program)
		return -ENOENT;
	for (int cpu = 0; !error && cpu < libbpf_num_possible_cpus(); cpu++) {
		error = attach(program, cpu, hz);
		if (error == -ENODEV)
			error = 0; /* not online */
	}
	if (error)
		return error;
	sleep(seconds);
	error = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len);
	if (error)
		return error;
	printf("%llu %llu\n", (unsigned long long)info.run_cnt,
		(unsigned long long)info.run_time_ns);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	int stats, error;

	if (argc != 4)
		return 2;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "fpref: cannot load %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	error = run(object, (unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]));
	if (error)
		fprintf(stderr, "fpref: %s\n", strerror(-error));
	bpf_object__close(object);
	close(stats);
	return error != 0;
}
