/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_sizes.c - asks libbpf for the CPUs, because libbpf sizes per-CPU maps by the same
 * number. The kernel reports a map's memory only as text, under the name of the limit that it used
 * to count against. */
#include "sampler/map_sizes.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "bpf/abi.h"

#define COUNTS_MIN 8192
#define COUNTS_MAX 65536
#define COUNT_BYTES (sizeof(struct count_key) + sizeof(uint64_t) + MAP_SIZES_ENTRY_BYTES)
#define RING_BYTES_A_CPU (512 * 1024)
#define RING_BYTES_A_TICK 128 /* one with its time, and its part of a new stack now and then */
#define RING_SECONDS 2ULL     /* user space may be so late on a host with far more to run */
#define RING_BYTES_MAX (16 * 1024 * 1024)
#define PARTS 4 /* of the memory: one is for the ring, one for counts */

int map_sizes_cpus(uint32_t *out, struct why *why)
{
	libbpf_print_fn_t said = libbpf_set_print(NULL); /* the reason is in why */
	int cpus = libbpf_num_possible_cpus();

	libbpf_set_print(said);
	if (cpus < 0)
		return why_set(why, cpus,
			"cannot read /sys/devices/system/cpu (%s): mount sysfs at /sys",
			err_text(cpus));
	*out = (uint32_t)cpus;
	return 0;
}

/* Doubled from min until it is enough, or the next one would be above max. */
static uint32_t power_of_two(uint64_t at_least, uint32_t min, uint64_t max)
{
	uint32_t n = min;

	while (n < at_least && n * 2ULL <= max)
		n *= 2;
	return n;
}

uint32_t map_sizes_id_stride(uint32_t cpus)
{
	return power_of_two(cpus, 1, 1U << 31);
}

/* A second of ticks that are all different before a drain is called for, and one more before any is
 * lost. */
struct map_sizes map_sizes_pick(uint32_t cpus_online, uint64_t hz, uint64_t memory_bytes)
{
	uint64_t part = memory_bytes / PARTS, counts_max = part / (2 * COUNT_BYTES);
	uint64_t of_ticks = hz * RING_BYTES_A_TICK * RING_SECONDS;
	uint64_t ring = of_ticks > RING_BYTES_A_CPU ? of_ticks : RING_BYTES_A_CPU;

	return (struct map_sizes){
		.ring_bytes = power_of_two(cpus_online * ring, RING_BYTES_A_CPU,
			part < RING_BYTES_MAX ? part : RING_BYTES_MAX),
		.counts = power_of_two(hz * cpus_online * 2, COUNTS_MIN,
			counts_max < COUNTS_MAX ? counts_max : COUNTS_MAX),
	};
}

uint64_t map_sizes_bytes(int map_fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	if (fd_read_path(path, 65536, &text) < 0 || !text.data)
		return 0;
	line = strstr(text.data, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}
