/* SPDX-License-Identifier: Apache-2.0 */
/* agent/deferred.c - a list of deferred samples. */
#include "agent/deferred.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "bpf/reasons.h"
#include "files/callers.h"
#include "files/objects.h"
#include "files/row_wishes.h"
#include "client/client.h"
#include "files/snapshots.h"
#include "sampler/sampler.h"
#include "sampler/tally.h"
#include "unwind/publish.h"
#include "unwind/walk.h"

#define NO_PAGE UINT64_MAX

struct waiting {
	struct event_deferred *event;
	uint64_t account;
	bool looked_at;   /* the process's mappings were read when it came */
	uint32_t missing; /* the object whose rows it waits for; 0: not known */
	uint64_t page;    /* of them, where its walk stopped; NO_PAGE: it has none yet */
	uint64_t came_ns; /* times by CLOCK_MONOTONIC */
	uint64_t due_ns;  /* when mappings of the process are read again; 0: no need */
};

struct deferred {
	struct sampler *sampler;
	struct tally *tally;
	struct objects *objects;
	struct row_wishes wishes;
	VEC(struct waiting) waiting;
	struct share share; /* bytes of those that wait */
	struct snapshots snapshots;
	uint64_t due_ns; /* of the first that has one; CLOCK_NEVER_NS: none */
	struct deferred_stats stats;
};

int deferred_new(struct sampler *sampler, struct tally *tally, struct objects *objects,
	struct worker_client *worker, struct deferred **out)
{
	struct deferred *deferred = calloc(1, sizeof(*deferred));

	if (!deferred)
		return -ENOMEM;
	deferred->sampler = sampler;
	deferred->tally = tally;
	deferred->objects = objects;
	deferred->due_ns = CLOCK_NEVER_NS;
	deferred->snapshots.sampler = sampler;
	deferred->snapshots.time = objects_time(objects);
	deferred->wishes = (struct row_wishes){ objects, sampler_publish(sampler), worker, 0 };
	*out = deferred;
	return 0;
}

void deferred_free(struct deferred *deferred)
{
	if (!deferred)
		return;
	vec_each (&deferred->waiting, waiting)
		free(waiting->event);
	vec_done(&deferred->waiting);
	share_done(&deferred->share);
	snapshots_done(&deferred->snapshots);
	free(deferred);
}

static size_t event_bytes(const struct event_deferred *event)
{
	return offsetof(struct event_deferred, data) + deferred_frames_bytes(event) +
		deferred_copy_bytes(event);
}

void deferred_watch(struct deferred *deferred, struct event_exec event, uint64_t account)
{
	snapshots_watch(&deferred->snapshots, event, account);
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Adds the walked stack and its one sample to the tally, as BPF would have sent them. */
static int deliver(struct deferred *deferred, const struct event_deferred *event,
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
		.task = event->task,
		.cpu = event->cpu,
	};
	uint64_t whose = walked->anon ? hash_mix(event->start_ns) ^ event->tgid : 0;
	int err;

	stack.hash = hash_mix(hash_bytes(walked->frames, walked->frames_len * sizeof(uint64_t)) ^
			     whose ^ (uint64_t)end << 56) |
		1;
	key.user_stack = stack.hash;
	err = tally_stack(deferred->tally, &stack, walked->frames);
	if (err < 0)
		return err;
	err = event->time_ns ? tally_tick(deferred->tally, &key, event->tick_cpu, event->time_ns)
			     : tally_count(deferred->tally, &key, 1);
	if (err == 0)
		tally_took(deferred->tally, event->took_ns);
	return err;
}

/* The most that an account may hold. Without memory: nothing. */
static uint64_t level_of(const struct deferred *deferred)
{
	uint64_t level;

	return share_level(&deferred->share, DEFERRED_BYTES_MAX, &level) < 0 ? 0 : level;
}

/* An account that has more than it may is given no more; the others find what it must give back. */
static bool has_room(const struct deferred *deferred, uint64_t account, size_t bytes)
{
	return deferred->share.used + bytes <= DEFERRED_BYTES_MAX &&
		share_held(&deferred->share, account) <= level_of(deferred);
}

int deferred_put(
	struct deferred *deferred, const struct event_deferred *event, uint64_t account)
{
	_cleanup_(freep) struct event_deferred *copy = NULL;
	size_t bytes = event_bytes(event);
	struct waiting *slot;

	deferred->stats.deferred++;
	if (!has_room(deferred, account, bytes)) {
		uint64_t frames[STACK_USER_FRAMES_MAX];
		struct walk_stack walked = { .frames = frames };

		deferred->stats.crowded++;
		walk_copy_frames(event, &walked);
		return deliver(deferred, event, &walked, END_NO_TABLE);
	}
	copy = malloc(bytes);
	if (!copy || vec_reserve(&deferred->waiting, deferred->waiting.len + 1) < 0 ||
		share_charge(&deferred->share, account, bytes) < 0)
		return -ENOMEM;
	memcpy(copy, event, bytes);
	slot = vec_add(&deferred->waiting);
	*slot = (struct waiting){ .event = TAKE_PTR(copy),
		.account = account,
		.page = NO_PAGE,
		.came_ns = clock_ns(CLOCK_MONOTONIC) };
	return 0;
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

/* A file that was dropped and met again has several ids: its rows are published under the first. */
static uint32_t first_id(const struct deferred *deferred, uint32_t id)
{
	const struct object *object = objects_find(deferred->objects, id);

	return object ? object->id : id;
}

static uint32_t walk_snapshot(const struct deferred *deferred, const struct walk_world *world,
	struct event_deferred *event, struct snapshot *s, struct walk_stack *walked)
{
	if (s->mappings.len == 0 && event->at.end == 0)
		return END_NO_MAPPING;
	vec_each (&s->mappings, mapping)
		mapping->object = first_id(deferred, mapping->object);
	event->at.object = first_id(deferred, event->at.object);
	return walk_deferred(world, event, s->mappings.data, s->mappings.len, walked);
}

/* Requests the page where the walk stopped and, once for this file, those of likely callers. */
static void want_rows(struct deferred *deferred, struct waiting *waiting, const struct snapshot *s,
	const struct walk_stack *walked)
{
	bool no_pages = publish_table(deferred->wishes.publish, walked->object) == TABLE_PENDING;
	uint64_t page = no_pages ? NO_PAGE : walked->offset >> ROWS_PAGE_SHIFT;

	if (walked->object != waiting->missing)
		objects_want(deferred->objects, walked->object, waiting->account);
	/* Not at the interval's end: who met the file first may have no time left now. */
	publish_charge(deferred->wishes.publish, walked->object, waiting->account);
	deferred->wishes.account = waiting->account;
	row_wishes_page(&deferred->wishes, walked->object, page);
	if (walked->object != waiting->missing || waiting->page == NO_PAGE)
		callers_missing(deferred->wishes.publish, waiting->event, s->mappings.data,
			s->mappings.len, row_wishes_page, &deferred->wishes);
	waiting->page = page;
}

static uint32_t walk(struct deferred *deferred, struct waiting *waiting, struct walk_stack *walked)
{
	struct event_deferred *event = waiting->event;
	struct snapshot *s = snapshots_of(
		&deferred->snapshots, event->tgid, event->start_ns, waiting->account);
	struct walk_world world = { .memory = deferred->objects, .read = read_code };
	uint32_t end;

	walk_published(sampler_publish(deferred->sampler), &world);
	walk_copy_frames(event, walked);
	if (!s)
		return END_NO_TABLE;
	/* Not only when they are needed: the process may be gone by then. */
	if (!waiting->looked_at)
		snapshots_freshen(&deferred->snapshots, s);
	waiting->looked_at = true;
	end = walk_snapshot(deferred, &world, event, s, walked);
	if (end == END_NO_MAPPING) {
		snapshots_freshen(&deferred->snapshots, s);
		end = walk_snapshot(deferred, &world, event, s, walked);
	}
	if (end == END_NO_TABLE)
		want_rows(deferred, waiting, s, walked);
	/* A process may map its libraries faster than they are read. */
	waiting->due_ns = end == END_NO_MAPPING && s->taken_ns < waiting->came_ns
		? snapshots_stale_ns(s)
		: 0;
	waiting->missing = walked->object;
	return end;
}

/* It would stop where it stopped the last time. */
static bool still_waits(struct deferred *deferred, const struct waiting *waiting)
{
	const struct publish *publish = sampler_publish(deferred->sampler);
	uint32_t id = waiting->missing ? first_id(deferred, waiting->missing) : 0;

	if (waiting->due_ns)
		return clock_ns(CLOCK_MONOTONIC) < waiting->due_ns;
	return id &&
		(publish_table(publish, id) == TABLE_PENDING ||
			publish_lacks_page(publish, id, waiting->page));
}

/* The oldest are given up first: what they wait for takes longest. */
static void finish(struct deferred *deferred, bool give_up)
{
	uint64_t frames[STACK_USER_FRAMES_MAX], level = level_of(deferred);
	struct walk_stack walked = { .frames = frames };
	size_t kept = 0;

	deferred->due_ns = CLOCK_NEVER_NS;
	for (size_t i = 0; i < deferred->waiting.len; i++) {
		struct waiting waiting = deferred->waiting.data[i];
		bool crowded = share_held(&deferred->share, waiting.account) > level,
		     late = give_up || crowded;
		uint32_t end = END_NO_TABLE;

		if (late || !still_waits(deferred, &waiting))
			end = walk(deferred, &waiting, &walked);
		if ((end == END_NO_TABLE || waiting.due_ns) && !late) {
			deferred->waiting.data[kept++] = waiting;
			if (waiting.due_ns)
				deferred->due_ns = clock_sooner(deferred->due_ns, waiting.due_ns);
			continue;
		}
		deferred->stats.finished += end != END_NO_TABLE;
		deferred->stats.crowded += crowded && !give_up && end == END_NO_TABLE;
		sampler_lost_ticks(
			deferred->sampler, deliver(deferred, waiting.event, &walked, end), 1);
		share_return(&deferred->share, waiting.account, event_bytes(waiting.event));
		free(waiting.event);
	}
	deferred->waiting.len = kept;
	worker_client_kick(deferred->wishes.worker);
	publish_unmap(sampler_publish(deferred->sampler));
}

void deferred_finish(struct deferred *deferred)
{
	finish(deferred, false);
}

void deferred_flush(struct deferred *deferred)
{
	finish(deferred, true);
	snapshots_clear(&deferred->snapshots);
}

uint64_t deferred_due_ns(const struct deferred *deferred)
{
	return deferred->due_ns;
}

size_t deferred_waiting(const struct deferred *deferred)
{
	return deferred->waiting.len;
}

void deferred_stats(const struct deferred *deferred, struct deferred_stats *out)
{
	*out = deferred->stats;
	out->crowded += deferred->snapshots.dropped;
}
