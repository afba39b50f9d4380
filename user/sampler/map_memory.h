/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_memory.h - the memory of a BPF map. */
#pragma once

#include <stdint.h>

/* Kernel memory of a map from /proc/self/fdinfo; 0: unknown. */
uint64_t map_memory_bytes(int map_fd);
