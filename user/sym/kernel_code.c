/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_code.c - few regions come and go while we watch, so a look-up scans all. Invariant:
 * current regions never overlap: a new one ends those at its place, even if no event said so. */
#include "sym/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STAYS UINT64_MAX

void kernel_code_done(struct kernel_code *code)
{
	vec_each (&code->ranges, range)
		free(range->name);
	vec_done(&code->ranges);
}

static int put_range(struct kernel_code *code, struct kernel_code_range range, const char *name)
{
	struct kernel_code_range *added;

	if (range.size == 0 || code->ranges.len >= KERNEL_CODE_MAX) {
		code->dropped += range.size > 0;
		return 0;
	}
	range.name = strdup(name);
	added = range.name ? vec_add(&code->ranges) : NULL;
	if (!added) {
		free(range.name);
		return -ENOMEM;
	}
	*added = range;
	return 0;
}

static bool overlaps(const struct kernel_code_range *range, uint64_t start, uint32_t size)
{
	return start >= range->start ? start - range->start < range->size
				     : range->start - start < size;
}

int kernel_code_add(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns)
{
	vec_each (&code->ranges, range)
		if (range->gone_ns == STAYS && overlaps(range, start, size))
			range->gone_ns = at_ns;
	return put_range(code,
		(struct kernel_code_range){
			.start = start, .size = size, .came_ns = at_ns, .gone_ns = STAYS },
		name);
}

int kernel_code_remove(
	struct kernel_code *code, uint64_t start, uint32_t size, const char *name, uint64_t at_ns)
{
	vec_each (&code->ranges, range) {
		if (range->gone_ns != STAYS || range->start != start)
			continue;
		range->gone_ns = at_ns;
		return 0;
	}
	return put_range(code,
		(struct kernel_code_range){ .start = start, .size = size, .gone_ns = at_ns }, name);
}

static uint64_t time_in(const struct kernel_code_range *range, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t came = range->came_ns > from_ns ? range->came_ns : from_ns;
	uint64_t gone = range->gone_ns < until_ns ? range->gone_ns : until_ns;

	return gone > came ? gone - came : 0;
}

const char *kernel_code_find(const struct kernel_code *code, uint64_t addr, uint64_t from_ns,
	uint64_t until_ns, uint64_t *start)
{
	const struct kernel_code_range *best = NULL;

	vec_each (&code->ranges, range) {
		if (addr < range->start || addr - range->start >= range->size)
			continue;
		if (!best || time_in(range, from_ns, until_ns) >= time_in(best, from_ns, until_ns))
			best = range;
	}
	if (best)
		*start = best->start;
	return best ? best->name : NULL;
}

void kernel_code_next(struct kernel_code *code)
{
	size_t kept = 0;

	vec_each (&code->ranges, range) {
		if (range->gone_ns != STAYS)
			free(range->name);
		else
			code->ranges.data[kept++] = *range;
	}
	code->ranges.len = kept;
}
