/* SPDX-License-Identifier: Apache-2.0 */
/* base/heap.h - memory that is freed goes back to the kernel. */
#pragma once

#include <malloc.h>

/* Tables come and go. Said once, malloc keeps to it: each larger block is given back to the kernel
 * when it is freed. Else the bound rises with what was freed, and the heap keeps the memory. */
static inline void heap_give_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}
