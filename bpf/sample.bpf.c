/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/sample.bpf.c - the program that runs at every tick of every CPU's clock.
 * filter → kernel half → user half → task key → send → count new stacks and tasks. Each tick ends
 * as exactly one of: sample, idle, filtered, or lost with a counted reason. A process has caches
 * only: a cached mapping is checked against the mappings' generation before use. */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "bpf/event.bpf.h"
#include "bpf/known.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/walk.bpf.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/scan.bpf.h"
#include "bpf/file_key.bpf.h"
#include "bpf/kernel_name.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/pidns.bpf.h"
#include "bpf/split.bpf.h"
#include "bpf/stack_copy.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/view.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 cpus_changed = 0;  /* a CPU may have come or gone; user space sets it back */

/* ---- task key, stacks and count --------------------------------------------------------- */

static __always_inline void task_read(struct scratch *s, struct task_struct *task, u64 id)
{
	s->task.start_ns = TASK_TYPED ? task->group_leader->start_boottime
				      : BPF_CORE_READ(task, group_leader, start_boottime);
	s->task.cgroup = cgroup_of(s, task);
	s->task.tgid = id >> 32;
	s->task.tid = keep_tid ? (u32)id : 0;
	bpf_get_current_comm(s->task.comm, sizeof(s->task.comm));
}

/* Under a rest that user space has: only the leaf is new. */
static __always_inline int emit_leaf(struct scratch *s, const struct event_stack *head, u64 leaf)
{
	struct event_leaf event = {
		.kind = EVENT_LEAF,
		.anon = head->anon,
		.hash = head->hash,
		.below_leaf = head->below_leaf,
		.frame = leaf,
	};

	return emit(&event, sizeof(event), BPF_RB_NO_WAKEUP);
}

/* Sends a stack unless user space has it. 0, or -1 if it could not be sent. */
static __always_inline int emit_stack(struct scratch *s, struct event_stack *head, u64 hash,
	u64 below_leaf, u32 frames_max, u32 end)
{
	struct known_stacks *known = known_stacks_of(below_leaf);
	u64 any = s->tick_ns >> KNOWN_ANY_SHIFT;
	u32 frames = head->frames_len;

	if (hash == 0 || !known || stack_known(known, hash))
		return 0;
	if (frames > frames_max)
		frames = frames_max;
	if (!tally_allows(s, TALLY_STACK_BYTES(frames)))
		return -1;
	head->kind = EVENT_STACK;
	head->end = end;
	head->hash = hash;
	head->below_leaf = below_leaf;
	if (frames > 1 && stack_known(known, below_leaf)) {
		if (emit_leaf(s, head, *(u64 *)(head + 1)))
			return -1;
	} else {
		if (emit(head, sizeof(*head) + frames * sizeof(u64), BPF_RB_NO_WAKEUP))
			return -1;
		if (frames > 1)
			stack_note(known, below_leaf, any);
	}
	stack_note(known, hash, any);
	return 0;
}

/* Not static, as send(): the verifier checks each once. */
__noinline int emit_user_stack(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	return s ? emit_stack(s, &s->user.head, s->user_hash, s->user_below_leaf,
			   STACK_USER_FRAMES_MAX, s->end)
		 : -1;
}

__noinline int emit_kernel_stack(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	return s ? emit_stack(s, &s->kernel.head, s->kernel_hash, s->kernel_below_leaf,
			   STACK_KERNEL_FRAMES_MAX, END_NONE)
		 : -1;
}

/* One tick, if times are kept. */
static __always_inline u32 emit_tick(struct scratch *s, u32 id)
{
	struct event_tick event = {
		.kind = EVENT_TICK,
		.id = id,
		.time_ns = s->tick_ns,
		.cpu = bpf_get_smp_processor_id(),
	};

	return emit(&event, sizeof(event), BPF_RB_NO_WAKEUP) ? LOST_RING_FULL : LOST_REASONS_LEN;
}

/* The time that the tick has taken, as a part of a count's value. */
static __always_inline u64 count_time(const struct scratch *s)
{
	u64 ns = bpf_ktime_get_ns() - s->tick_ns;

	return ns >> COUNT_TIME_UNIT_SHIFT << COUNT_TIME_SHIFT;
}

/* It has been counted in this interval, so user space has its stacks. */
static __always_inline u32 count_again(struct scratch *s, u64 *count)
{
	__sync_fetch_and_add(count, count_time(s) + !keep_times);
	return keep_times ? emit_tick(s, (u32)*count) : LOST_REASONS_LEN;
}

static __always_inline u32 count_first(
	void *map, u32 which, struct scratch *s, const struct count_key *key)
{
	u64 first = 1, *count, len;

	if (!share_allows(SHARE_COUNTS, 1, counts_len[which], counts_high * 2))
		return LOST_COUNTS_FULL;
	if (keep_times)
		first = id_next(&s->key_counter, id_stride, bpf_get_smp_processor_id());

	first |= count_time(s);
	if (bpf_map_update_elem(map, key, &first, BPF_NOEXIST)) {
		/* Another CPU was first, or the map is full. */
		count = bpf_map_lookup_elem(map, key);
		return count ? count_again(s, count) : LOST_COUNTS_FULL;
	}
	/* Not the result of the addition, which 5.10 lacks: what is read may have been added to by
	 * other CPUs, but not by more of them than there are. */
	__sync_fetch_and_add(&counts_len[which], 1);
	len = *(volatile u64 *)&counts_len[which];
	if (len - counts_high < id_stride) {
		struct event_pressure event = { EVENT_PRESSURE, which };

		emit(&event, sizeof(event), BPF_RB_FORCE_WAKEUP);
	}
	return keep_times ? emit_tick(s, (u32)first) : LOST_REASONS_LEN;
}

/* LOST_REASONS_LEN: nothing was lost. */
static __always_inline u32 count(struct scratch *s)
{
	struct count_key key = {
		.user_stack = s->user_hash,
		.kernel_stack = s->kernel_hash,
		.cpu = keep_cpu ? bpf_get_smp_processor_id() + 1 : 0,
	};
	u32 which = active_counts & 1;
	u64 *counted;

	key.task = task_id(s);
	if (!key.task)
		return s->unsent;
	if (s->user.head.anon)
		emit_jit(s->task.tgid, s->task.start_ns, start_stack_of(s));
	counted =
		which ? bpf_map_lookup_elem(&counts_1, &key) : bpf_map_lookup_elem(&counts_0, &key);
	if (counted)
		return count_again(s, counted);
	if (emit_user_stack(walk_of(s)) || emit_kernel_stack(walk_of(s)))
		return s->unsent;
	return which ? count_first(&counts_1, 1, s, &key) : count_first(&counts_0, 0, s, &key);
}

/* ---- deferring: a walk that stopped at a file whose table is not there yet ------------------ */

#define DEFERRED_A_SECOND 512 /* a CPU */
#define LONG_A_SECOND 256     /* of them: 16 MiB */

/* A long copy takes time and room that are for other things, too. */
static __always_inline u64 copy_limit(struct scratch *s, u64 ring_used)
{
	u64 end_ns = s->deadline_ns + walk_limit_ns / (TICK_WALK_PARTS - 1);
	u64 now = bpf_ktime_get_ns();

	if (now > end_ns || end_ns - now < STACK_COPY_NS || s->deferred_long >= LONG_A_SECOND ||
		ring_used + STACK_COPY_ROOM > ring_bytes / 2)
		return DEFERRED_STACK_SHORT;
	return DEFERRED_STACK_BYTES;
}

static __always_inline void defer_head(struct scratch *s, struct event_deferred *deferred, u32 task)
{
	deferred->kind = EVENT_DEFERRED;
	deferred->task = task;
	deferred->kernel_stack = s->kernel_hash;
	deferred->start_ns = s->task.start_ns;
	deferred->tgid = s->task.tgid;
	deferred->cpu = keep_cpu ? bpf_get_smp_processor_id() + 1 : 0;
	deferred->time_ns = keep_times ? s->tick_ns : 0;
	deferred->tick_cpu = bpf_get_smp_processor_id();
	deferred->took_ns = bpf_ktime_get_ns() - s->tick_ns;
	deferred->pc = s->regs.pc;
	deferred->sp = s->regs.sp;
	deferred->fp = s->regs.fp;
	deferred->exact = s->regs.exact;
	deferred->start_stack = start_stack_of(s);
	deferred->frames_len = s->walked;
	deferred->anon = s->user.head.anon;
	deferred->left_how = s->left_how >> FRAME_HOW_SHIFT;
	deferred->language = s->anchor != 0;
	deferred->at.start = s->at.start;
	deferred->at.end = s->at.end;
	deferred->at.file_offset = s->at.file_offset;
	deferred->at.object = s->at.object;
	deferred->at.tgid = s->task.tgid;
	__builtin_memcpy(deferred->gpr, s->regs.gpr, sizeof(deferred->gpr));
	s->deferred_frames = s->walked * sizeof(u64);
	if (s->deferred_frames > STACK_LEAF_FRAMES * sizeof(u64)) {
		__builtin_memcpy(s->user.frames + STACK_LEAF_FRAMES, s->root, sizeof(s->root));
		s->deferred_frames = DEFERRED_FRAMES_MAX * sizeof(u64);
	}
}

/* Not static, so that what follows is checked once. */
__noinline int defer(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA), bytes, most;
	u32 task;

	if (!s)
		return -1;
	bytes = stack_mapped(s);
	most = copy_limit(s, used);
	s->root_end = 0;
	if (bytes > most) {
		u64 end = stack_end(s, s->regs.sp + bytes);

		if (!end || end - s->regs.sp > most) {
			/* With a part of the stack, user space would cut it there. */
			if (s->end == END_TIME)
				return -1;
			s->root_end = end;
		}
		bytes = most;
	}
	if (s->deferred_second != second)
		s->deferred_len = s->deferred_long = 0;
	s->deferred_second = second;
	if (s->deferred_len++ >= DEFERRED_A_SECOND) {
		event_lost(EVENT_DEFERRED);
		return -1;
	}
	/* The rest of the ring is for what is small and must not be lost. */
	if (used + bytes > ring_bytes / 2 &&
		account_refuses(SHARE_DEFERRED, bytes, used, ring_bytes / 8 * 5)) {
		event_lost(EVENT_DEFERRED);
		return -1;
	}
	task = task_id(s);
	if (!task || !tally_allows(s, TALLY_STACK_BYTES(STACK_USER_FRAMES_MAX)) ||
		emit_kernel_stack(walk_of(s)))
		return -1;
	defer_head(s, deferred_of(s), task);
	s->deferred_long += bytes > DEFERRED_STACK_SHORT;
	return stack_copy_send(s, bytes);
}

/* ---- the tick --------------------------------------------------------------------------- */

static __always_inline bool wanted(struct scratch *s, struct task_struct *task, u64 id)
{
	u32 tgid = id >> 32, tid = id;

	if (tgid == self_tgid)
		return false;
	if (filter == FILTER_TID)
		return bpf_map_lookup_elem(&targets, &tid);
	return target_has(
		filter, task, tgid, filter == FILTER_CGROUP ? cgroup_of(s, task) : 0);
}

/* The clock keeps its phase however late it is handled: a whole period late is one left out.
 * The least late of its ticks shows the phase. */
static __always_inline void note_tick(u64 now)
{
	struct cpu_ticks *ticks = &cpu_ticks[bpf_get_smp_processor_id() & (CPU_TICKS_MAX - 1)];
	u64 due = ticks->due_ns, period = period_ns;

	ticks->ticks++;
	if (!period)
		return;
	if (now - due >= period && now > due) {
		u64 skipped = (now - due) / period;

		ticks->skipped += skipped;
		due += skipped * period;
	}
	if (now < due || ticks->first)
		due = now;
	ticks->first = 0;
	ticks->due_ns = due + period;
}

/* Not static: the verifier follows its branches once. */
__noinline u32 time_slot(u64 ns)
{
	return tick_slot(ns);
}

static __always_inline void note_time(struct tick_times *times, u64 ns)
{
	u32 slot = time_slot(ns);

	if (slot < TICK_SLOTS)
		times->slots[slot]++;
	if (ns > times->longest_ns)
		times->longest_ns = ns;
}

static __always_inline void note_times(struct tick_stats *stats, const struct scratch *s)
{
	u64 now = bpf_ktime_get_ns();

	cpu_ticks[bpf_get_smp_processor_id() & (CPU_TICKS_MAX - 1)].took_ns += now - s->tick_ns;
	note_time(&stats->times[TICK_WHOLE], now - s->tick_ns);
	if (s->kernel_hash)
		note_time(&stats->times[TICK_KERNEL], s->user_ns - s->tick_ns);
	note_time(&stats->times[TICK_USER], now - s->user_ns);
}

/* Until when may the walk go on? */
static __always_inline void set_deadline(struct scratch *s)
{
	u64 limit_ns = walk_limit_ns, *own = NULL;

	if (tick_limits_len)
		own = bpf_map_lookup_elem(&tick_limits, &s->task.cgroup);
	if (own && *own < limit_ns)
		limit_ns = *own;
	s->limited = own != NULL;
	s->deadline_ns = s->tick_ns + limit_ns;
	s->late = s->user_ns >= s->deadline_ns;
}

/* Sends the sample, for user space to finish or as a count. LOST_REASONS_LEN: nothing was lost. Not
 * static, so that the stack of its events is no part of the walk's: all calls have 512 bytes. */
__noinline u32 send(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	if (!s)
		return LOST_REASONS_LEN;
	if ((s->end == END_NO_TABLE || (s->end == END_TIME && !s->code)) && defer(walk) == 0)
		return LOST_REASONS_LEN;
	return count(s);
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 cpu = bpf_get_smp_processor_id(), lost;
	struct tick_stats *stats = bpf_map_lookup_elem(&tick_counts, &cpu);
	struct scratch *s = scratch_of(0);
	struct task_struct *task;

	if (!s || !stats)
		return 0;
	stats->ticks++;
	s->tick_ns = s->user_ns = bpf_ktime_get_ns();
	note_tick(s->tick_ns);
	if (id == 0) {
		stats->idle++;
		return 0;
	}
	task = task_current();
	id = pidns_current(task, id);
	if (id == 0 || !wanted(s, task, id)) {
		stats->filtered++;
		return 0;
	}
	split(SPLIT_OTHER);
	second_set(s->tick_ns);
	task_read(s, task, id);
	s->end = END_NONE;
	s->user_hash = s->kernel_hash = s->kernel_below_leaf = 0;
	s->user_below_leaf = stacks_secret;
	s->user.head.frames_len = s->kernel.head.frames_len = s->user.head.anon = 0;
	split(SPLIT_KERNEL);
	if (keep_kernel)
		walk_kernel(s, ctx);
	if (s->kernel_hash)
		s->user_ns = bpf_ktime_get_ns();
	set_deadline(s);
	split(SPLIT_OTHER);
	if (keep_user)
		walk_user(s, ctx, task);
	split(SPLIT_SHIP);
	lost = send(walk_of(s));
	split_end();
	note_times(stats, s);
	if (lost < LOST_REASONS_LEN)
		stats->lost[lost & 7]++;
	else
		stats->samples++;
	return 0;
}

/* A program that was not met before: user space builds its table while it starts. */
SEC("raw_tp/sched_process_exec")
int BPF_PROG(exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct event_exec event = { .kind = EVENT_EXEC, .tgid = pidns_tgid(task) };
	struct object_key key = {};
	struct inode *inode;

	if (event.tgid == 0)
		return 0;
	event.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	if (object_refused(event.cgroup))
		return 0;
	if (!v1_live && !target_has(meets, task, event.tgid, event.cgroup))
		return 0;
	inode = mapping_program(BPF_CORE_READ(task, mm));
	object_read_key(&key, inode ? inode : BPF_CORE_READ(bprm, file, f_inode));
	if (bpf_map_lookup_elem(&objects, &key))
		return 0;
	event.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	event_send(&event, sizeof(event), BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* A CPU that comes or goes passes through many steps, and ends each with this. After a step user
 * space compares the list of CPUs once, however many have passed. */
SEC("raw_tp/cpuhp_exit")
int BPF_PROG(cpu_changed, unsigned int cpu, int state, int idx, int ret)
{
	if (cpus_changed)
		return 0;
	cpus_changed = 1;
	event_wake();
	return 0;
}
