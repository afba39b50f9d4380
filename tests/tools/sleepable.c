/* SPDX-License-Identifier: Apache-2.0 */
/* sleepable.c - somebody else's BPF programs that may sleep: how long do they take to come and go?
 * Usage: sleepable SECONDS
 * Until SECONDS are over, each turn loads a sleepable iterator of tasks, reads it and frees it, and
 * puts a sleepable program on a uprobe and takes it off. The kernel waits for all sleepable
 * programs that run before it lets the second go. Prints `turns N longest MS`.
 * Exit 77: this kernel has no such programs. Root. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define NO_SUCH_PROGRAMS 77

/* return 0; */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

__attribute__((noinline)) static void probed(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

/* Offset of probed in this program's file; -1: unknown. */
static int64_t probed_offset(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset, at = (unsigned long)(uintptr_t)probed;
	int64_t found = -1;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
			at < end)
			found = (int64_t)(at - start + offset);
	if (maps)
		fclose(maps);
	return found;
}

static int load(enum bpf_prog_type type, struct bpf_prog_load_opts *options)
{
	options->prog_flags = BPF_F_SLEEPABLE;
	return bpf_prog_load(type, "sleepable", "GPL", nothing,
		sizeof(nothing) / sizeof(nothing[0]), options);
}

/* 0, or a negative error. */
static int iterate(int btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_ITER,
		.attach_btf_id = (uint32_t)btf_id);
	int prog = load(BPF_PROG_TYPE_TRACING, &options), link = -1, iter = -1, err = -1;
	char bytes[4096];

	if (prog >= 0)
		link = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
	if (link >= 0)
		iter = bpf_iter_create(link);
	if (iter >= 0)
		err = (int)read(iter, bytes, sizeof(bytes));
	close(iter);
	close(link);
	close(prog);
	return err;
}

static int probe(uint32_t type, int64_t offset)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options);
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr),
		.config1 = (uint64_t)(uintptr_t) "/proc/self/exe", .config2 = (uint64_t)offset };
	int prog = load(BPF_PROG_TYPE_KPROBE, &options), event = -1, err = -1;

	if (prog >= 0)
		event = (int)syscall(
			SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event >= 0)
		err = ioctl(event, PERF_EVENT_IOC_SET_BPF, prog);
	if (err == 0)
		err = ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	if (err == 0)
		probed();
	close(event);
	close(prog);
	return err;
}

static uint32_t uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	uint32_t type = 0;

	if (file && fscanf(file, "%u", &type) != 1)
		type = 0;
	if (file)
		fclose(file);
	return type;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) +
		(uint64_t)atoi(argc > 1 ? argv[1] : "1") * NSEC_PER_SEC;
	uint64_t began_ns = 0, longest_ns = 0, now_ns;
	int btf_id = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);
	int64_t offset = probed_offset();
	uint32_t type = uprobe_type();
	int turns = 0;

	while ((began_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns) {
		if (btf_id < 0 || iterate(btf_id) < 0 || offset < 0 || type == 0 ||
			probe(type, offset) < 0) {
			fprintf(stderr, "iterator %d, probe %u at %lld: %s\n", btf_id, type,
				(long long)offset, strerror(errno));
			return NO_SUCH_PROGRAMS;
		}
		now_ns = clock_ns(CLOCK_MONOTONIC);
		if (now_ns - began_ns > longest_ns)
			longest_ns = now_ns - began_ns;
		turns++;
	}
	printf("turns %d longest %llu\n", turns, (unsigned long long)(longest_ns / 1000000));
	return turns == 0;
}
