/* SPDX-License-Identifier: Apache-2.0 */
/* profile/events.c - a list by time. Texts are interned, as events of a kind mostly repeat
 * theirs. */
#include "profile/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* No character is cut in two. */
static size_t text_len(struct profile *p, const char *text)
{
	size_t len = strlen(text);

	if (len <= PROFILE_EVENT_BYTES_MAX)
		return len;
	p->events_cut++;
	len = PROFILE_EVENT_BYTES_MAX;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

int profile_event(struct profile *p, const struct profile_event *event, const char *text)
{
	struct profile_event *slot;

	if (p->events.len >= PROFILE_EVENTS_MAX) {
		p->events_dropped++;
		return 0;
	}
	slot = vec_add(&p->events);
	if (!slot)
		return -ENOMEM;
	*slot = *event;
	return strtab_put(&p->strings, text, text_len(p, text), &slot->text);
}

static int by_time(const void *a, const void *b)
{
	const struct profile_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->duration_ns < y->duration_ns ? -1 : x->duration_ns > y->duration_ns;
}

void profile_sort_events(struct profile *p)
{
	if (p->events.len > 1)
		qsort(p->events.data, p->events.len, sizeof(*p->events.data), by_time);
}
