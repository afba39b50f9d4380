/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/warnings.c - a ring without duplicates, because each interval may find the same again.
 * The caller prints them. */
#include "sampler/warnings.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"

static void put(struct warnings *w, const struct why *fresh)
{
	w->said_ns[w->len % WARNINGS_MAX] = clock_ns(CLOCK_MONOTONIC);
	w->all[w->len++ % WARNINGS_MAX] = *fresh;
}

static bool is_said(const struct warnings *w, const struct why *fresh)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < w->len && i < WARNINGS_MAX; i++)
		if (now_ns - w->said_ns[i] < WARNINGS_AGAIN_NS &&
			strcmp(w->all[i].text, fresh->text) == 0)
			return true;
	return false;
}

void warnings_add(struct warnings *w, const char *text)
{
	struct why fresh;

	if (!text[0])
		return;
	why_set(&fresh, 0, "%s", text); /* cut as those that are kept */
	if (is_said(w, &fresh))
		return;
	if (w->fresh == WARNINGS_AN_INTERVAL) {
		w->left_out++;
		return;
	}
	w->fresh++;
	put(w, &fresh);
}

void warnings_next(struct warnings *w)
{
	struct why text;

	if (w->left_out > 0) {
		why_set(&text, 0, "%llu more warnings of this interval are left out",
			(unsigned long long)w->left_out);
		put(w, &text);
	}
	w->fresh = 0;
	w->left_out = 0;
}

const char *warnings_find(const struct warnings *w, size_t i)
{
	return i < w->len ? w->all[i % WARNINGS_MAX].text : NULL;
}
