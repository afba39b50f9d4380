/* SPDX-License-Identifier: Apache-2.0 */
/* base/radix.h - sorts large arrays by a number, in a time that does not depend on their order. */
#pragma once

#include <stddef.h>

/* Sorts by the uint32_t at the start of each item of `size` bytes; equal numbers keep their order.
 * -ENOMEM: items are unchanged. n < 2^32 */
int radix_sort32(void *items, size_t n, size_t size);
