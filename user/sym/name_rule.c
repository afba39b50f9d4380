/* SPDX-License-Identifier: Apache-2.0 */
/* sym/name_rule.c - prefers public names: leading underscores mark a library's internals, and long
 * names are variants of short ones. The alphabet decides last, so that the choice never varies. */
#include "sym/name_rule.h"

#include <stddef.h>
#include <string.h>

static size_t underscores(struct bytes name)
{
	size_t n = 0;

	while (n < name.len && name.data[n] == '_')
		n++;
	return n;
}

bool name_rule_better(struct bytes a, struct bytes b, bool *equal)
{
	size_t ua = underscores(a), ub = underscores(b);
	int order;

	*equal = false;
	if (ua != ub)
		return ua < ub;
	if (a.len != b.len)
		return a.len < b.len;
	order = memcmp(a.data, b.data, a.len);
	*equal = order == 0;
	return order < 0;
}
