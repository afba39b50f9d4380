/* SPDX-License-Identifier: Apache-2.0 */
/* replay_visitor.c - in the place of waiting/visitor.c: a recording has no threads to visit. */
#include "waiting/visitor.h"

#include <errno.h>
#include <stddef.h>

int visitor_open(struct sampler *sampler, struct visitor **out, struct why *why)
{
	(void)sampler;
	(void)out;
	return why_set(why, -EOPNOTSUPP, "a recording has no threads");
}

void visitor_free(struct visitor *visitor)
{
	(void)visitor;
}

const char *visitor_lacks(const struct visitor *visitor)
{
	(void)visitor;
	return NULL;
}

int visitor_pass(struct visitor *visitor, visitor_fn *fn, void *ctx)
{
	(void)visitor;
	(void)fn;
	(void)ctx;
	return -EOPNOTSUPP;
}

void visitor_again(struct visitor *visitor)
{
	(void)visitor;
}

uint64_t visitor_refused(const struct visitor *visitor)
{
	(void)visitor;
	return 0;
}
