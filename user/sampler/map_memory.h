/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_memory.h - what a BPF map takes. */
#pragma once

#include <stdint.h>

/* Kernel memory of a map as the kernel tells it, in /proc/self/fdinfo; 0: it does not. */
uint64_t map_memory_bytes(int map_fd);
