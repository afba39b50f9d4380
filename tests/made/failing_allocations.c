/* SPDX-License-Identifier: Apache-2.0 */
/* failing_allocations.c - what the linker puts in place of the allocators with
 * --wrap=malloc,--wrap=calloc,--wrap=reallocarray. */
#include <stdint.h>
#include <stdlib.h>

#include "publish_driver.h"

static uint64_t failing;

uint64_t failing_allocations(uint64_t bits)
{
	uint64_t left = failing;

	failing = bits;
	return left;
}

static int fails(void)
{
	int is = failing & 1;

	failing >>= 1;
	return is;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, n, size);
}
