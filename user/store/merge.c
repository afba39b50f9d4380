/* SPDX-License-Identifier: Apache-2.0 */
/* store/merge.c - adds up time and not samples, because segments may have different frequencies. */
#include "store/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "store/line.h"

struct sorted {
	const char *stack;
	uint32_t id;
};

int merge_init(struct merge *merge)
{
	*merge = (struct merge){ 0 };
	return strtab_init(&merge->stacks);
}

void merge_done(struct merge *merge)
{
	strtab_done(&merge->stacks);
	vec_done(&merge->ns);
}

int merge_id(struct merge *merge, struct bytes stack, uint32_t *id)
{
	int err = strtab_put(&merge->stacks, (const char *)stack.data, stack.len, id);

	if (err < 0)
		return err;
	while (merge->ns.len <= *id)
		if (!vec_add(&merge->ns))
			return -ENOMEM;
	return 0;
}

void merge_count(struct merge *merge, uint32_t id, uint64_t ns)
{
	if (__builtin_add_overflow(merge->ns.data[id], ns, &merge->ns.data[id]))
		merge->ns.data[id] = UINT64_MAX;
}

int merge_add(struct merge *merge, struct bytes stack, uint64_t ns)
{
	uint32_t id;
	int err = merge_id(merge, stack, &id);

	if (err < 0)
		return err;
	merge_count(merge, id, ns);
	return 0;
}

int merge_add_text(struct merge *merge, struct bytes text, uint64_t period_ns)
{
	struct cursor c = cursor_init(text.data, text.len);
	struct line line;

	while (cursor_left(&c) > 0) {
		uint64_t ns;
		int err;

		if (!line_read(&c, &line) || __builtin_mul_overflow(line.count, period_ns, &ns))
			return -EBADMSG;
		err = merge_add(merge, line.stack, ns);
		if (err < 0)
			return err;
	}
	return 0;
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct sorted *)a)->stack, ((const struct sorted *)b)->stack);
}

uint64_t merge_samples(const struct merge *merge, uint32_t id, uint64_t period_ns)
{
	uint64_t ns = merge->ns.data[id];
	uint64_t count = ns / period_ns + (ns % period_ns >= (period_ns + 1) / 2);

	return count > 0 ? count : 1;
}

int merge_write(const struct merge *merge, uint64_t period_ns, struct buf *out)
{
	_cleanup_(freep) struct sorted *lines = calloc(merge->ns.len + 1, sizeof(*lines));
	size_t len = 0;

	if (!lines)
		return buf_fail(out, -ENOMEM);
	for (uint32_t id = 0; id < merge->ns.len; id++)
		if (merge->ns.data[id] > 0)
			lines[len++] = (struct sorted){ strtab_get(&merge->stacks, id), id };
	if (len > 0)
		qsort(lines, len, sizeof(*lines), by_stack);
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%s %llu\n", lines[i].stack,
			(unsigned long long)merge_samples(merge, lines[i].id, period_ns));
	return buf_err(out);
}

uint64_t merge_total(const struct merge *merge)
{
	uint64_t total = 0;

	vec_each (&merge->ns, ns)
		total += *ns;
	return total;
}
