/* SPDX-License-Identifier: Apache-2.0 */
/* traps/narrow.c - a slice takes ticks, events and samples: it is given a profile that lacks those
 * of others, and borrows all else. */
#include "traps/narrow.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"

static bool is_of(const struct profile *p, uint32_t labels, const struct thread_pids *pids)
{
	int32_t pid = profile_label_number(p, labels, PROFILE_KEY_PID);

	vec_each (pids, wanted)
		if ((int64_t)*wanted == pid)
			return true;
	return false;
}

static bool *choose_samples(const struct profile *p, const struct thread_pids *pids)
{
	bool *chosen = calloc(p->samples.len + 1, sizeof(*chosen));

	for (size_t i = 0; chosen && i < p->samples.len; i++)
		chosen[i] = is_of(p, p->samples.data[i].labels, pids);
	return chosen;
}

int narrow_add_slice(const struct profile *p, const struct thread_pids *pids, struct slice *slice,
	struct profile *out)
{
	_cleanup_(freep) bool *chosen = choose_samples(p, pids);
	struct profile part = *p;
	int err = chosen ? 0 : -ENOMEM;

	part.ticks.data = NULL;
	part.ticks.len = part.ticks.cap = 0;
	part.events.data = NULL;
	part.events.len = part.events.cap = 0;
	part.samples.data = NULL;
	part.samples.len = part.samples.cap = 0;
	if (err == 0)
		err = vec_reserve(&part.samples, p->samples.len + 1);
	if (err == 0)
		err = vec_reserve(&part.ticks, p->ticks.len + 1);
	if (err == 0)
		err = vec_reserve(&part.events, p->events.len + 1);
	vec_each (&p->ticks, tick)
		if (err == 0 && chosen[tick->sample])
			*vec_add(&part.ticks) = *tick;
	vec_each (&p->events, event)
		if (err == 0 && is_of(p, event->labels, pids))
			*vec_add(&part.events) = *event;
	/* Ticks have their numbers, so each keeps its place. */
	for (size_t i = 0; i < p->samples.len && err == 0; i++) {
		struct profile_sample *sample = vec_add(&part.samples);

		*sample = p->samples.data[i];
		sample->value = chosen[i] ? sample->value : 0;
	}
	if (err == 0)
		err = profile_add_slice(&part, slice, out);
	vec_done(&part.ticks);
	vec_done(&part.events);
	vec_done(&part.samples);
	return err;
}

int narrow_add_waits(const struct profile *p, const struct thread_whose *whose,
	const struct thread_pids *pids, const struct slice *range, struct profile *out)
{
	struct slice slice = { .since_ns = range->since_ns,
		.until_ns = range->until_ns,
		.container = whose->container,
		.pod = whose->pod,
		.namespace_ = whose->namespace_,
		.other_kinds = true,
		.no_ticks = true };

	return whose->pid || whose->comm ? narrow_add_slice(p, pids, &slice, out)
					 : profile_add_slice(p, &slice, out);
}
