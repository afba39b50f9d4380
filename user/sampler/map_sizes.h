/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_sizes.h - the sizes of BPF maps. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define MAP_SIZES_ENTRY_BYTES 96 /* of a hash map, beside key and value: about */

/* The number of CPUs in per-CPU maps: all possible ones, from sysfs; if that is not mounted, why
 * says so. */
int map_sizes_cpus(uint32_t *out, struct why *why);
/* The number of ids from one of a CPU to its next (id_next in bpf/object_id.bpf.h). */
uint32_t map_sizes_id_stride(uint32_t cpus);
/* Maps that grow with CPUs and with the rate: at most a quarter of the memory each, as tables need
 * the rest. They stay as they are when more CPUs come online. */
struct map_sizes {
	uint32_t ring_bytes; /* a power of two */
	uint32_t counts;     /* entries of each of the two count maps */
};

/* hz: the highest rate. */
struct map_sizes map_sizes_pick(uint32_t cpus_online, uint64_t hz, uint64_t memory_bytes);
/* Kernel memory of a map from /proc/self/fdinfo; 0: unknown. */
uint64_t map_sizes_bytes(int map_fd);
