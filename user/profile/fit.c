/* SPDX-License-Identifier: Apache-2.0 */
/* profile/fit.c - computes the total for each limit from a table of string lengths, which is built
 * once. Names up to 96 bytes are never cut: real programs have many of those. */
#include "profile/fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static const uint32_t limits[] = { UINT32_MAX, 1024, 256, 96 };

static uint64_t text_of(const struct profile *p, const uint32_t *lens, uint32_t max)
{
	uint64_t sum = 0;

	vec_each (&p->samples, sample) {
		for (uint32_t i = 0; i < p->stacks.data[sample->stack].len; i++) {
			uint32_t len = lens[profile_stack_frame(p, sample->stack, i)->name];

			sum += (len < max ? len : max) + 1;
		}
	}
	return sum;
}

uint64_t profile_fit(struct profile *profile, uint64_t text_max)
{
	uint32_t len = profile->strings.len;
	_cleanup_(freep) uint32_t *lens = calloc(len + 1, sizeof(*lens));
	size_t i = 0;

	if (!lens)
		return 0;
	for (uint32_t id = 0; id < len; id++)
		lens[id] = (uint32_t)strlen(profile_text(profile, id));
	while (i < ARRAY_SIZE(limits) - 1 && text_of(profile, lens, limits[i]) > text_max)
		i++;
	return i > 0 ? strtab_cut(&profile->strings, limits[i]) : 0;
}
