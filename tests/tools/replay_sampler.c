/* SPDX-License-Identifier: Apache-2.0 */
/* replay_sampler.c - hands a recording's events to the agent, as many at a time as it read when
 * they were recorded, and never the next ones while a table of an earlier file is being made: a
 * worker's pace decides nothing. Tables go to maps in memory (tests/made). Counts come at the
 * drain. */
#include "replay_world.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "made_maps.h"
#include "sampler/code_events.h"
#include "sampler/file_key.h"
#include "sampler/object_ids.h"
#include "sampler/places.h"
#include "sampler/sampler.h"
#include "unwind/publish.h"

struct sampler {
	struct sampler_events callbacks;
	void *ctx;
	struct made_maps *maps;
	struct publish *publish;
	int fd;         /* never readable: the agent is asked to poll */
	size_t at;      /* the next line */
	size_t end;     /* the interval's last */
	size_t coded;   /* lines whose kernel code was handed over, */
	size_t counted; /* and whose counts were */
	struct tally *tally;
	bool times;
	VEC(uint32_t) objects; /* that the agent has met */
};

static struct sampler *only; /* there is one agent */

/* ---- events -----------------------------------------------------------------------------------
 */

static const char *line_at(size_t i)
{
	return replay_world.handover.lines.data[i];
}

static uint32_t n32(const char *line, const char *key)
{
	return (uint32_t)handover_number(line, key);
}

static int give_object(struct sampler *s, const char *line)
{
	uint32_t *slot = vec_add(&s->objects);
	struct event_object e = {
		.kind = EVENT_OBJECT,
		.id = n32(line, "id"),
		/* Without the time of writing: the programs have that of the checkout. */
		.key = { .ino = handover_number(line, "ino"),
			.dev = n32(line, "dev"),
			.place = n32(line, "generation") },
		.start_ns = handover_number(line, "started"),
		.vm_start = handover_number(line, "start"),
		.vm_end = handover_number(line, "end"),
		.file_offset = handover_number(line, "offset"),
		.tgid = n32(line, "process"),
	};

	if (!slot || !made_meet(s->maps, &e.key, e.id))
		return -ENOMEM;
	*slot = e.id;
	snprintf(e.name, sizeof(e.name), "%s", handover_text(line, "name"));
	return s->callbacks.object(s->ctx, &e);
}

static int give_who(struct sampler *s, const char *line)
{
	struct event_task e = { .kind = EVENT_TASK,
		.id = n32(line, "id"),
		.key = { .start_ns = handover_number(line, "started"),
			.cgroup = handover_number(line, "cgroup"),
			.tgid = n32(line, "process"),
			.tid = n32(line, "thread") } };

	snprintf(e.key.comm, sizeof(e.key.comm), "%s", handover_text(line, "comm"));
	return s->callbacks.task(s->ctx, &e);
}

static int give_stack(struct sampler *s, const char *line)
{
	__u64 frames[STACK_USER_FRAMES_MAX];
	const struct event_stack e = {
		.kind = EVENT_STACK,
		.frames_len = (uint16_t)handover_frames(line, frames, STACK_USER_FRAMES_MAX),
		.end = (uint8_t)handover_number(line, "ended"),
		.anon = (uint8_t)handover_number(line, "anon"),
		.hash = handover_number(line, "hash"),
		.below_leaf = handover_number(line, "rest"),
	};

	return s->callbacks.stack(s->ctx, &e, (const uint64_t *)frames);
}

static int give_leaf(struct sampler *s, const char *line)
{
	__u64 frame = 0;
	const struct event_leaf e = {
		.kind = EVENT_LEAF,
		.anon = n32(line, "anon"),
		.hash = handover_number(line, "hash"),
		.below_leaf = handover_number(line, "rest"),
		.frame = handover_frames(line, &frame, 1) ? frame : 0,
	};

	return tally_leaf(s->tally, &e);
}

static int give_jit(struct sampler *s, const char *line)
{
	const struct event_jit e = { EVENT_JIT, n32(line, "process"),
		handover_number(line, "started") };

	return s->callbacks.jit(s->ctx, &e);
}

static int give_exec(struct sampler *s, const char *line)
{
	const struct event_exec e = { .kind = EVENT_EXEC, .tgid = n32(line, "process"),
		.start_ns = handover_number(line, "started") };

	return s->callbacks.exec(s->ctx, &e);
}

static void read_stack(uint8_t *piece, uint32_t bytes, const char *line)
{
	const char *hex = handover_text(line, "hex");
	unsigned int byte;

	for (uint32_t at = n32(line, "at"); at < bytes && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		piece[at++] = (uint8_t)byte;
}

/* The lines after it are its stack. */
static int give_deferred(struct sampler *s, const char *line)
{
	static struct event_deferred e;
	const char *gpr = handover_text(line, "gpr");
	char *end;

	e = (struct event_deferred){
		.kind = EVENT_DEFERRED,
		.task = n32(line, "who"),
		.kernel_stack = handover_number(line, "kernel"),
		.start_ns = handover_number(line, "started"),
		.tgid = n32(line, "process"),
		.cpu = n32(line, "cpu"),
		.pc = handover_number(line, "pc"),
		.sp = handover_number(line, "sp"),
		.fp = handover_number(line, "fp"),
		.start_stack = handover_number(line, "top"),
		.exact = n32(line, "exact"),
		.anon = (uint8_t)handover_number(line, "anon"),
		.stack_bytes = n32(line, "size"),
		.root_at = handover_number(line, "root_at"),
		.root_bytes = n32(line, "root_size"),
		.tick_cpu = n32(line, "tick_cpu"),
		.time_ns = handover_number(line, "time"),
		.at = { handover_number(line, "at_start"), handover_number(line, "at_end"),
			handover_number(line, "at_offset"), n32(line, "process"),
			n32(line, "at_object") },
	};
	for (int i = 0; i < DEFERRED_GPRS; i++, gpr = end + (*end == ','))
		e.gpr[i] = strtoull(gpr, &end, 0);
	e.frames_len = (uint16_t)handover_frames(line, deferred_frames(&e), DEFERRED_FRAMES_MAX);
	for (; handover_is(line_at(s->at), "stack_bytes"); s->at++)
		read_stack(deferred_stack(&e), e.stack_bytes, line_at(s->at));
	for (; handover_is(line_at(s->at), "root_bytes"); s->at++)
		read_stack(deferred_root(&e), e.root_bytes, line_at(s->at));
	return s->callbacks.deferred(s->ctx, &e);
}

static int give_cgroup(struct sampler *s, const char *line, enum cgroup_change change)
{
	struct event_cgroup e = {
		.kind = EVENT_CGROUP, .change = change, .id = handover_number(line, "id")
	};

	snprintf(e.path, sizeof(e.path), "%s", handover_text(line, "path"));
	return s->callbacks.cgroup(s->ctx, &e);
}

static int give_made(struct sampler *s, const char *line)
{
	return give_cgroup(s, line, CGROUP_MADE);
}

static int give_removed(struct sampler *s, const char *line)
{
	return give_cgroup(s, line, CGROUP_REMOVED);
}

static int give_renamed(struct sampler *s, const char *line)
{
	return give_cgroup(s, line, CGROUP_RENAMED);
}

static int give_tick(struct sampler *s, const char *line)
{
	const struct event_tick e = { .kind = EVENT_TICK,
		.id = n32(line, "id"),
		.time_ns = handover_number(line, "time"),
		.cpu = n32(line, "cpu") };

	return timeline_tick(&s->tally->timeline, &e);
}

static int give(struct sampler *s, const char *line)
{
	static const struct {
		const char *kind;
		int (*give)(struct sampler *s, const char *line);
	} kinds[] = {
		{ "object", give_object },
		{ "who", give_who },
		{ "stack", give_stack },
		{ "leaf", give_leaf },
		{ "jit", give_jit },
		{ "exec", give_exec },
		{ "deferred", give_deferred },
		{ "made", give_made },
		{ "removed", give_removed },
		{ "renamed", give_renamed },
		{ "tick", give_tick },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (handover_is(line, kinds[i].kind))
			return kinds[i].give(s, line);
	return 0;
}

static void find_end(struct sampler *s)
{
	s->end = s->at;
	while (s->end < replay_world.handover.lines.len && !handover_is(line_at(s->end), "profile"))
		s->end++;
}

/* ---- sampler/sampler.h ------------------------------------------------------------------------
 */

int sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return why_set(why, -ENOMEM, "out of memory");
	s->callbacks = *events;
	s->ctx = ctx;
	s->tally = tally;
	s->times = options->times;
	s->maps = made_maps_new();
	s->fd = eventfd(0, EFD_CLOEXEC);
	find_end(s);
	*out = only = s;
	return publish_new(&s->maps->maps, &s->publish);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	publish_free(s->publish);
	free(s->maps);
	fd_close(&s->fd);
	vec_done(&s->objects);
	free(s);
	only = NULL;
}

int sampler_start(struct sampler *s, struct why *why)
{
	(void)s;
	(void)why;
	return 0;
}

int sampler_set_hz(struct sampler *s, uint32_t hz)
{
	(void)s;
	(void)hz;
	return 0;
}

void sampler_stop(struct sampler *s)
{
	(void)s;
}

/* The mappings of the last scan: their addresses rise. */
/* replay_host.c opens no other files, and the recording has one root, of which nothing is known. */
int file_key_compare(struct sampler *sampler, int fd, const struct object_key *key)
{
	(void)sampler, (void)fd, (void)key;
	return 0;
}

int file_key_read(struct sampler *sampler, int fd, struct object_key *key)
{
	(void)sampler, (void)fd;
	*key = (struct object_key){ 0 };
	return 0;
}

int file_key_magic(struct sampler *sampler, int fd, uint32_t *magic)
{
	(void)sampler, (void)fd;
	*magic = TMPFS_MAGIC;
	return 0;
}

int file_key_of_child(struct sampler *sampler, pid_t child, uint64_t mapped, struct object_key *key,
	uint32_t *magic)
{
	(void)sampler, (void)child, (void)mapped;
	*key = (struct object_key){ 0 };
	*magic = TMPFS_MAGIC;
	return 0;
}

int file_key_view(struct sampler *sampler, int fd, struct file_view *view)
{
	(void)sampler, (void)fd, (void)view;
	return -ENODATA;
}

/* Recorded files have the ids that they had. */
void object_ids_give(struct sampler *s, uint32_t id)
{
	(void)s;
	(void)id;
}

void object_ids_refuse(struct sampler *s, uint64_t cgroup, uint32_t seconds)
{
	(void)s;
	(void)cgroup;
	(void)seconds;
}

int sampler_scan(struct sampler *s, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx)
{
	VEC(struct scan_mapping) found = { 0 };
	int err = 0;

	(void)s;
	vec_each (&replay_world.handover.lines, line) {
		struct scan_mapping m = { .start = handover_number(*line, "start"), .tgid = tgid },
				    *slot;

		if (!handover_is(*line, "mapping") || n32(*line, "process") != tgid)
			continue;
		if (found.len > 0 && found.data[found.len - 1].start >= m.start)
			found.len = 0;
		m.end = handover_number(*line, "end");
		m.file_offset = handover_number(*line, "offset");
		m.object = n32(*line, "object");
		slot = vec_add(&found);
		if (!slot)
			return -ENOMEM;
		*slot = m;
	}
	vec_each (&found, m)
		err = err < 0 ? err : take(ctx, m);
	vec_done(&found);
	return err;
}

struct publish *sampler_publish(struct sampler *s)
{
	return s->publish;
}

uint32_t sampler_second(struct sampler *s)
{
	return s->maps->second = (uint32_t)(clock_ns(CLOCK_MONOTONIC) >> SECOND_SHIFT) + 1;
}

uint64_t sampler_due_ns(const struct sampler *s)
{
	(void)s;
	return CLOCK_NEVER_NS;
}

int sampler_fd(const struct sampler *s)
{
	return s->fd;
}

/* A file that cannot be opened is told of again, when it is mapped again: no table is made. */
static bool tables_are_made(const struct sampler *s)
{
	vec_each (&s->objects, id) {
		bool known = false;

		for (size_t i = 0; i < s->maps->len; i++)
			known = known || s->maps->objects[i].value.id == *id;
		if (known && publish_table(s->publish, *id) == TABLE_PENDING)
			return false;
	}
	return true;
}

int sampler_poll(struct sampler *s)
{
	int err = 0;

	if (!tables_are_made(s))
		return 0;
	while (s->at < s->end && err == 0) {
		const char *line = line_at(s->at++);

		if (handover_is(line, "poll"))
			break;
		err = give(s, line);
	}
	return err;
}

bool sampler_pressed(const struct sampler *s)
{
	(void)s;
	return false;
}

int sampler_drain(struct sampler *s, bool last)
{
	int err = 0;

	for (; s->counted < s->end && err == 0; s->counted++) {
		const char *line = line_at(s->counted);
		const struct count_key key = {
			.user_stack = handover_number(line, "user"),
			.kernel_stack = handover_number(line, "kernel"),
			.task = n32(line, "who"),
			.cpu = n32(line, "cpu"),
		};

		if (!handover_is(line, "count"))
			continue;
		err = s->times ? tally_key(s->tally, &key, n32(line, "count"))
			       : tally_count(s->tally, &key, handover_number(line, "count"));
	}
	if (s->times)
		sampler_lost_ticks(s, -ENOENT, tally_resolve(s->tally, last));
	return err;
}

/* None was lost when this was recorded. */
void sampler_lost_ticks(struct sampler *s, int err, uint64_t ticks)
{
	(void)s;
	if (err >= 0 || ticks == 0)
		return;
	fprintf(stderr, "%llu ticks have no stack or task\n", (unsigned long long)ticks);
	exit(1);
}

void sampler_forget(struct sampler *s)
{
	(void)s;
}

int sampler_follow_cpus(struct sampler *s)
{
	(void)s;
	return 0;
}

void sampler_stats(struct sampler *s, struct sampler_stats *out)
{
	(void)s;
	*out = (struct sampler_stats){ 0 };
}

void places_know(struct sampler *s, const struct event_task *event)
{
	(void)s;
	(void)event;
}

void places_forget(struct sampler *s)
{
	(void)s;
}

void places_add_account(const struct sampler *s, uint64_t cgroup)
{
	(void)s;
	(void)cgroup;
}

void places_remove_account(const struct sampler *s, uint64_t cgroup)
{
	(void)s;
	(void)cgroup;
}

/* What asks for it limits ticks or asks BPF, and here is neither. */
const struct sample_bpf *sampler_skeleton(const struct sampler *s)
{
	(void)s;
	return NULL;
}

const struct clocks *sampler_clocks(const struct sampler *s)
{
	(void)s;
	return NULL;
}

const char *replay_interval(void)
{
	return only->end < replay_world.handover.lines.len ? line_at(only->end) : NULL;
}

bool replay_is_over(void)
{
	return only->at == only->end && tables_are_made(only);
}

void replay_next(void)
{
	only->at = only->end + 1;
	find_end(only);
}

/* ---- sampler/code_events.h --------------------------------------------------------------------
 */

int code_events_open(struct code_events *events, const struct clocks *clocks)
{
	(void)clocks;
	*events = (struct code_events){ 0 };
	return 0;
}

int code_events_watch(struct code_events *events, int epoll_fd)
{
	(void)events;
	(void)epoll_fd;
	return 0;
}

void code_events_close(struct code_events *events)
{
	(void)events;
}

int code_events_poll(
	struct code_events *events, int (*fn)(void *ctx, const struct code_event *event), void *ctx)
{
	int err = 0;

	(void)events;
	for (; only->coded < only->end && err == 0; only->coded++) {
		const char *line = line_at(only->coded);
		const struct code_event e = {
			.start = handover_number(line, "start"),
			.at_ns = clock_ns(CLOCK_MONOTONIC),
			.size = n32(line, "size"),
			.gone = n32(line, "gone") != 0,
			.name = handover_text(line, "name"),
		};

		if (handover_is(line, "code"))
			err = fn(ctx, &e);
	}
	return err;
}
