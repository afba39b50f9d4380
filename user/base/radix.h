/* SPDX-License-Identifier: Apache-2.0 */
/* base/radix.h - sorts large arrays by a number, in time that no order of theirs can make worse. */
#pragma once

#include <stddef.h>

/* By the uint32_t at the beginning of each item of `size` bytes; those with equal numbers stay in
 * order. -ENOMEM: items are as they were. n < 2^32 */
int radix_sort32(void *items, size_t n, size_t size);
