/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_sizes.h - the sizes of BPF maps. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The number of CPUs in per-CPU maps: all possible ones, from sysfs; if that is not mounted, why
 * says so. */
int map_sizes_cpus(uint32_t *out, struct why *why);
/* Kernel memory of a map from /proc/self/fdinfo; 0: unknown. */
uint64_t map_sizes_bytes(int map_fd);
