/* SPDX-License-Identifier: Apache-2.0 */
/* uprobed.c - burns under functions whose returns are probed, and sets the probes itself, for
 * itself alone. Usage: uprobed [SECONDS] main;probed_outer;between;probed_inner: the inner one is
 * called every few tens of microseconds and begins with an instruction that the kernel runs in a
 * copy; the frame of `between` is larger than any copy of a stack. Prints `ready`; needs
 * CAP_PERFMON.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define PMU "/sys/bus/event_source/devices/uprobe/type"
#define INNER_STEPS 10000
#define LARGE_BYTES 300000

NOINLINE uint64_t probed_inner(uint64_t x)
{
	volatile char frame[256];

	frame[x & 255] = 0;
	return burn(x, INNER_STEPS) + (uint64_t)frame[x & 255];
}

NOINLINE uint64_t between(uint64_t x, uint64_t end_ns)
{
	volatile char large[LARGE_BYTES];

	large[x % LARGE_BYTES] = 0;
	while (!is_past(end_ns))
		x = probed_inner(x);
	return x + (uint64_t)large[x % LARGE_BYTES];
}

NOINLINE uint64_t probed_outer(uint64_t x, uint64_t end_ns)
{
	return between(x, end_ns) + 1;
}

/* The offset of a function in our file; 0: not found. */
static uint64_t offset_of(uintptr_t function)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset, found = 0;
	char line[4096];

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
				3 &&
			function >= start && function < end)
			found = function - start + offset;
	if (maps)
		fclose(maps);
	return found;
}

static int probe_return(uintptr_t function)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config = 1 /* retprobe */ };
	FILE *type = fopen(PMU, "r");
	int known = type && fscanf(type, "%u", &attr.type) == 1;

	if (type)
		fclose(type);
	if (!known)
		return -1;
	attr.uprobe_path = (uintptr_t) "/proc/self/exe";
	attr.probe_offset = offset_of(function);
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = deadline_in(number_arg(argc, argv, 1, 60));

	if (probe_return((uintptr_t)probed_outer) < 0 ||
		probe_return((uintptr_t)probed_inner) < 0) {
		perror("uprobed");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	return probed_outer(2, end_ns) == 0;
}
