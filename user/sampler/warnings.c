/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/warnings.c - a list without duplicates, because each interval may find the same again.
 * The caller prints them. */
#include "sampler/warnings.h"

#include <string.h>

void warnings_add(struct warnings *w, const char *text)
{
	struct why fresh;

	if (!text[0])
		return;
	why_set(&fresh, 0, "%s", text); /* cut as those that are kept */
	for (size_t i = 0; i < w->len; i++)
		if (strcmp(w->all[i].text, fresh.text) == 0)
			return;
	if (w->len < WARNINGS_MAX)
		w->all[w->len++] = fresh;
}

const char *warnings_find(const struct warnings *w, size_t i)
{
	return i < w->len ? w->all[i].text : NULL;
}
