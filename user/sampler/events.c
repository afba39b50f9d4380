/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/events.c - checks the length of an event and passes it to its callback. Refused events
 * are counted here, unless a later tick is lost for them: a stack or task that was not kept. */
#include "sampler/events.h"

#include <errno.h>
#include <string.h>

#include "language/code_name.h"

static int on_stack(struct events *events, const struct event_stack *e, size_t size)
{
	if (size < sizeof(*e) || size < sizeof(*e) + e->frames_len * sizeof(uint64_t))
		return 0;
	return events->callbacks.stack(events->ctx, e, (const uint64_t *)(e + 1));
}

static int on_task(struct events *events, const struct event_task *e)
{
	events->unknown_tasks += !e->known;
	return events->callbacks.task(events->ctx, e);
}

static int on_deferred(struct events *events, const struct event_deferred *e, size_t size)
{
	size_t head = offsetof(struct event_deferred, data);
	int err;

	if (size < head || e->frames_len > STACK_WALK_MAX ||
		e->root_bytes > DEFERRED_ROOT_BYTES ||
		e->stack_bytes > (e->root_bytes ? DEFERRED_ROOT_OFFSET : DEFERRED_STACK_BYTES) ||
		size < head + deferred_frames_bytes(e) + deferred_copy_bytes(e))
		return 0;
	err = events->callbacks.deferred(events->ctx, e);
	if (err < 0)
		events->lost[tally_lost(err)]++;
	return err;
}

static int on_code(struct events *events, const struct event_code *e, size_t size)
{
	return code_valid(e, size) ? tally_code(events->tally, e,
					     offsetof(struct event_code, lines) + e->lines_bytes)
				   : 0;
}

static int on_cgroup(struct events *events, const struct event_cgroup *e, size_t size)
{
	size_t head = offsetof(struct event_cgroup, path);

	/* The room is rounded up, the path is not. */
	if (size <= head || !memchr(e->path, '\0', size - head))
		return 0;
	return events->callbacks.cgroup(events->ctx, e);
}

static int on_tick(struct events *events, const struct event_tick *e)
{
	int err = timeline_tick(&events->tally->timeline, e);

	if (err < 0)
		events->lost[tally_lost(err)]++;
	return err;
}

/* Is it one that nothing else counts? */
static bool is_dropped(uint32_t kind, int err)
{
	return (err == -ENOMEM || err == -ENOSPC) &&
		(kind == EVENT_OBJECT || kind == EVENT_JIT || kind == EVENT_EXEC ||
			kind == EVENT_CGROUP || kind == EVENT_CODE);
}

int events_take(void *ctx, void *data, size_t size)
{
	struct events *events = ctx;
	const struct sampler_events *to = &events->callbacks;
	uint32_t kind = size >= sizeof(kind) ? *(const uint32_t *)data : 0;
	int err = 0;

	if (kind == EVENT_STACK)
		err = on_stack(events, data, size);
	else if (kind == EVENT_LEAF && size >= sizeof(struct event_leaf))
		err = tally_leaf(events->tally, data);
	else if (kind == EVENT_OBJECT && size >= sizeof(struct event_object))
		err = to->object(events->ctx, data);
	else if (kind == EVENT_TASK && size >= sizeof(struct event_task))
		err = on_task(events, data);
	else if (kind == EVENT_JIT && size >= sizeof(struct event_jit))
		err = to->jit(events->ctx, data);
	else if (kind == EVENT_EXEC && size >= sizeof(struct event_exec))
		err = to->exec(events->ctx, data);
	else if (kind == EVENT_TICK && size >= sizeof(struct event_tick))
		err = on_tick(events, data);
	else if (kind == EVENT_PAGE && size >= sizeof(struct event_page))
		err = to->page(events->ctx, data);
	else if (kind == EVENT_CODE && size >= offsetof(struct event_code, lines))
		err = on_code(events, data, size);
	else if (kind == EVENT_CGROUP)
		err = on_cgroup(events, data, size);
	else if (kind == EVENT_DEFERRED)
		err = on_deferred(events, data, size);
	else if (kind == EVENT_PRESSURE)
		events->pressed = true;
	if (is_dropped(kind, err))
		events->dropped[kind]++;
	return 0;
}

void events_note_cgroups_lost(struct events *events, uint64_t lost)
{
	const struct event_cgroup event = { .kind = EVENT_CGROUP, .change = CGROUP_LOST };

	if (lost == events->cgroups_lost)
		return;
	events->cgroups_lost = lost;
	(void)events->callbacks.cgroup(events->ctx, &event);
}
