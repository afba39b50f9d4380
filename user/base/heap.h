/* SPDX-License-Identifier: Apache-2.0 */
/* base/heap.h - returns freed memory to the kernel. */
#pragma once

#include <malloc.h>

/* Call it once. Then malloc returns each larger block to the kernel when it is freed. Otherwise its
 * threshold rises with freed sizes, and the heap keeps the memory. */
static inline void heap_give_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}
