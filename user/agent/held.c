/* SPDX-License-Identifier: Apache-2.0 */
/* agent/held.c - a list of deferred samples and a list of snapshots of mappings, one a process. A
 * snapshot is taken when a sample arrives and again when one does not fit it, because a young
 * process is still mapping its libraries. */
#include "agent/held.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "bpf/reasons.h"
#include "agent/objects.h"
#include "sampler/sampler.h"
#include "sampler/tally.h"
#include "unwind/publish.h"
#include "unwind/walk.h"

#define SNAPSHOTS_MAX 1024
#define SNAPSHOT_FRESH_NS (5 * NSEC_PER_MSEC)
#define SNAPSHOT_COST_PART 50 /* of our time at most one part is for reading mappings */

struct snapshot {
	uint32_t tgid;
	uint64_t start_ns;
	uint64_t taken_ns, cost_ns;
	VEC(struct scan_mapping) mappings;
};

struct waiting {
	struct event_held *event;
	bool looked_at;   /* its process's mappings were read when it came */
	uint32_t missing; /* the object whose table it waits for; 0: not known */
};

struct held {
	struct sampler *sampler;
	struct tally *tally;
	struct objects *objects;
	VEC(struct waiting) waiting;
	size_t waiting_bytes;
	VEC(struct snapshot) snapshots;
	struct held_stats stats;
};

int held_new(
	struct sampler *sampler, struct tally *tally, struct objects *objects, struct held **out)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	held->sampler = sampler;
	held->tally = tally;
	held->objects = objects;
	*out = held;
	return 0;
}

static void drop_snapshots(struct held *held)
{
	vec_each (&held->snapshots, snapshot)
		vec_done(&snapshot->mappings);
	held->snapshots.len = 0;
}

void held_free(struct held *held)
{
	if (!held)
		return;
	vec_each (&held->waiting, waiting)
		free(waiting->event);
	vec_done(&held->waiting);
	drop_snapshots(held);
	vec_done(&held->snapshots);
	free(held);
}

static size_t event_bytes(const struct event_held *event)
{
	return offsetof(struct event_held, stack) + event->stack_bytes;
}

/* ---- mappings ------------------------------------------------------------------------------- */

static int take_mapping(void *ctx, const struct scan_mapping *mapping)
{
	struct snapshot *snapshot = ctx;
	struct scan_mapping *slot = vec_add(&snapshot->mappings);

	if (!slot)
		return -ENOMEM;
	*slot = *mapping;
	return 0;
}

/* Reads the process's mappings now. What was known stays when the process is gone. */
static void refresh(struct held *held, struct snapshot *snapshot)
{
	struct snapshot now = { .tgid = snapshot->tgid, .start_ns = snapshot->start_ns };

	snapshot->taken_ns = clock_ns(CLOCK_MONOTONIC);
	sampler_scan(held->sampler, snapshot->tgid, take_mapping, &now);
	now.taken_ns = clock_ns(CLOCK_MONOTONIC);
	now.cost_ns = snapshot->cost_ns = now.taken_ns - snapshot->taken_ns;
	snapshot->taken_ns = now.taken_ns;
	if (now.mappings.len == 0) {
		vec_done(&now.mappings);
		return;
	}
	vec_done(&snapshot->mappings);
	*snapshot = now;
}

static struct snapshot *find_snapshot(struct held *held, uint32_t tgid, uint64_t start_ns)
{
	vec_each (&held->snapshots, snapshot)
		if (snapshot->tgid == tgid && snapshot->start_ns == start_ns)
			return snapshot;
	return NULL;
}

/* The one there is, or a new one, read now. */
static struct snapshot *snapshot_of(struct held *held, uint32_t tgid, uint64_t start_ns)
{
	struct snapshot *snapshot = find_snapshot(held, tgid, start_ns);

	if (snapshot || held->snapshots.len >= SNAPSHOTS_MAX)
		return snapshot;
	snapshot = vec_add(&held->snapshots);
	if (!snapshot)
		return NULL;
	snapshot->tgid = tgid;
	snapshot->start_ns = start_ns;
	refresh(held, snapshot);
	return snapshot;
}

void held_watch(struct held *held, uint32_t tgid, uint64_t start_ns)
{
	struct snapshot *known = find_snapshot(held, tgid, start_ns);

	/* It ran another file before. */
	if (known)
		refresh(held, known);
	else
		snapshot_of(held, tgid, start_ns);
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Adds the walked stack and its one sample to the tally, as BPF would have told them. */
static int deliver(struct held *held, const struct event_held *event,
	const struct walk_stack *walked, uint32_t end)
{
	struct event_stack stack = {
		.kind = EVENT_STACK,
		.frames_len = (uint16_t)walked->frames_len,
		.end = (uint8_t)end,
		.anon = walked->anon != 0,
	};
	struct count_key key = {
		.kernel_stack = event->kernel_stack,
		.who = event->who,
		.cpu = event->cpu,
	};
	uint64_t whose = walked->anon ? hash_mix(event->start_ns) ^ event->tgid : 0;
	int err;

	stack.hash = hash_mix(hash_bytes(walked->frames, walked->frames_len * sizeof(uint64_t)) ^
			     whose ^ (uint64_t)end << 56) |
		1;
	key.user_stack = stack.hash;
	err = tally_stack(held->tally, &stack, walked->frames);
	if (err < 0)
		return err;
	return event->time_ns ? tally_tick(held->tally, &key, event->tick_cpu, event->time_ns)
			      : tally_count(held->tally, &key, 1);
}

int held_put(struct held *held, const struct event_held *event)
{
	struct event_held *copy;
	struct waiting *slot;

	held->stats.held++;
	if (held->waiting_bytes > HELD_BYTES_MAX) {
		struct walk_stack walked = {
			.frames = (uint64_t *)event->frames,
			.frames_len = event->frames_len,
			.anon = event->anon,
		};

		return deliver(held, event, &walked, END_NO_TABLE);
	}
	copy = malloc(event_bytes(event));
	slot = copy ? vec_add(&held->waiting) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, event, event_bytes(event));
	*slot = (struct waiting){ .event = copy };
	held->waiting_bytes += event_bytes(event);
	return 0;
}

/* A process with many mappings does not take all our time. */
static void refresh_stale(struct held *held, struct snapshot *snapshot)
{
	uint64_t fresh_ns = snapshot->cost_ns * SNAPSHOT_COST_PART;

	if (fresh_ns < SNAPSHOT_FRESH_NS)
		fresh_ns = SNAPSHOT_FRESH_NS;
	if (clock_ns(CLOCK_MONOTONIC) - snapshot->taken_ns > fresh_ns)
		refresh(held, snapshot);
}

/* Code is read from its file, which is there also when the process is gone. Not from the process,
 * and only what the page cache has, as it has what just ran: a process could make us wait for its
 * memory (userfaultfd) or its files (FUSE) for ever. */
static int read_code(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	const struct object *object = m ? objects_find(ctx, m->object) : NULL;
	struct iovec to = { dst, size };

	if (!object || object->fd < 0)
		return -EFAULT;
	if (preadv2(object->fd, &to, 1, (off_t)(addr - m->start + m->file_offset), RWF_NOWAIT) !=
		(ssize_t)size)
		return -EIO;
	return 0;
}

static uint32_t walk(struct held *held, struct waiting *waiting, struct walk_stack *walked)
{
	const struct event_held *event = waiting->event;
	struct snapshot *s = snapshot_of(held, event->tgid, event->start_ns);
	struct walk_world world = { .memory = held->objects, .read = read_code };
	uint32_t end = END_NO_MAPPING;

	walk_published(sampler_publish(held->sampler), &world);
	walked->frames_len = event->frames_len;
	walked->anon = event->anon;
	memcpy(walked->frames, event->frames, sizeof(event->frames));
	if (!s)
		return END_NO_TABLE;
	/* Not only when they are needed: the process may be gone by then. */
	if (!waiting->looked_at)
		refresh_stale(held, s);
	waiting->looked_at = true;
	if (s->mappings.len > 0)
		end = walk_held(&world, event, s->mappings.data, s->mappings.len, walked);
	if (end == END_NO_MAPPING) {
		refresh_stale(held, s);
		if (s->mappings.len > 0)
			end = walk_held(&world, event, s->mappings.data, s->mappings.len, walked);
	}
	if (end == END_NO_TABLE && walked->object != waiting->missing)
		objects_want(held->objects, walked->object);
	waiting->missing = walked->object;
	return end;
}

/* It would stop where it stopped the last time. */
static bool still_waits(struct held *held, const struct waiting *waiting)
{
	return waiting->missing &&
		publish_table(sampler_publish(held->sampler), waiting->missing) == TABLE_PENDING;
}

static void finish(struct held *held, bool give_up)
{
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack walked = { .frames = frames };
	size_t kept = 0;

	for (size_t i = 0; i < held->waiting.len; i++) {
		struct waiting waiting = held->waiting.data[i];
		bool late = give_up || held->waiting_bytes > HELD_BYTES_MAX;
		uint32_t end = END_NO_TABLE;

		if (late || !still_waits(held, &waiting))
			end = walk(held, &waiting, &walked);
		if (end == END_NO_TABLE && !late) {
			held->waiting.data[kept++] = waiting;
			continue;
		}
		held->stats.finished += end != END_NO_TABLE;
		if (deliver(held, waiting.event, &walked, end) < 0)
			sampler_lost_ticks(held->sampler, 1);
		held->waiting_bytes -= event_bytes(waiting.event);
		free(waiting.event);
	}
	held->waiting.len = kept;
	publish_rest(sampler_publish(held->sampler));
}

void held_finish(struct held *held)
{
	finish(held, false);
}

void held_flush(struct held *held)
{
	finish(held, true);
	drop_snapshots(held);
}

size_t held_waiting(const struct held *held)
{
	return held->waiting.len;
}

void held_stats(const struct held *held, struct held_stats *out)
{
	*out = held->stats;
}
