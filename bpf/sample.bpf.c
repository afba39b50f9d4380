/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/sample.bpf.c - the program that runs at every tick of every CPU's clock.
 * filter → kernel half → user half → who → count → tell what is new. A tick ends in exactly one of:
 * a sample, idle, filtered, or lost for a counted reason. Nothing here is kept per process; what is
 * remembered from one sample to the next is checked by the mappings' generation before it is used.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "bpf/vma.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/regs.bpf.h"
#include "bpf/sample_maps.bpf.h"

#define ANCESTORS_MAX 16

char LICENSE[] SEC("license") = "GPL";

static __always_inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __always_inline int tell(struct tick_stats *stats, void *event, u64 size, u64 flags)
{
	if (bpf_ringbuf_output(&events, event, size, flags))
		return -1;
	stats->bytes_out += size;
	return 0;
}

/* An id that no other CPU gives: no atomic fetch, which 5.10 lacks. 0 when they have run out. */
static __always_inline u32 next_id(u32 *counter)
{
	u32 id = OBJECT_FIRST + *counter * cpus + bpf_get_smp_processor_id();

	(*counter)++;
	return id;
}

/* ---- mapping → object ------------------------------------------------------------------- */

static __always_inline void tell_object(
	struct scratch *s, struct vm_area_struct *vma, struct inode *inode, u32 id)
{
	struct event_object *event = &s->object_event;
	const unsigned char *name = BPF_CORE_READ(vma, vm_file, f_path.dentry, d_name.name);

	event->kind = EVENT_OBJECT;
	event->id = id;
	event->key = s->object_key;
	event->tgid = s->who.tgid;
	event->start_ns = s->who.start_ns;
	event->vm_start = BPF_CORE_READ(vma, vm_start);
	event->vm_end = BPF_CORE_READ(vma, vm_end);
	event->file_offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_BYTES_SHIFT;
	if (bpf_probe_read_kernel_str(event->name, sizeof(event->name), name) < 0)
		event->name[0] = '\0';
	/* Not told: forget it, so that the next tick that meets it tries again. */
	if (tell(&s->stats, event, sizeof(*event), BPF_RB_FORCE_WAKEUP))
		bpf_map_delete_elem(&objects, &s->object_key);
}

/* The file's object id, given here if nobody has met it before; 0 when the table is full. */
static __always_inline u32 object_of(
	struct scratch *s, struct vm_area_struct *vma, struct inode *inode)
{
	struct object_value fresh = {}, *known;

	s->object_key.ino = BPF_CORE_READ(inode, i_ino);
	s->object_key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	s->object_key.generation = BPF_CORE_READ(inode, i_generation);
	s->object_key.mtime_ns = vma_mtime_ns(inode);
	known = bpf_map_lookup_elem(&objects, &s->object_key);
	if (known)
		return known->id;
	fresh.id = next_id(&s->object_counter);
	if (fresh.id > OBJECT_ID_MAX)
		return 0;
	if (bpf_map_update_elem(&objects, &s->object_key, &fresh, BPF_NOEXIST) == 0) {
		tell_object(s, vma, inode, fresh.id);
		return fresh.id;
	}
	known = bpf_map_lookup_elem(&objects, &s->object_key);
	return known ? known->id : 0;
}

/* Reads the mapping of pc into *m. END_NONE or why not. */
static __always_inline u32 mapping_read(struct scratch *s, struct mapping *m, u64 pc)
{
	struct mm_struct *mm = s->mm;
	struct vm_area_struct *vma = vma_find(&s->vma, mm, pc);
	unsigned long flags;
	struct inode *inode;

	if (!vma)
		return END_NO_MAPPING;
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	flags = BPF_CORE_READ(vma, vm_flags);
	if (pc < m->start || pc >= m->end)
		return END_VMA_READ;
	if (!(flags & VM_EXEC))
		return END_NOT_CODE;
	m->file_offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_BYTES_SHIFT;
	m->kind = FRAME_ANON;
	m->object = 0;
	inode = BPF_CORE_READ(vma, vm_file, f_inode);
	if (inode && !vma_is_shared_memory(inode, flags)) {
		m->kind = FRAME_FILE;
		m->object = object_of(s, vma, inode);
	} else if (m->start == (u64)BPF_CORE_READ(mm, context.vdso)) {
		m->kind = FRAME_FILE;
		m->object = OBJECT_VDSO;
		m->file_offset = 0;
	}
	return END_NONE;
}

static __always_inline bool mapping_covers(const struct mapping *m, u64 pc)
{
	return pc >= m->start && pc < m->end;
}

/* Makes s->at the mapping of pc: the last one used, a remembered one, or a new one. */
static __always_inline u32 mapping_find(struct scratch *s, u64 pc)
{
	u32 slot, end;

	if (mapping_covers(&s->at, pc))
		return END_NONE;
	for (slot = 0; slot < MAPPINGS_KEPT; slot++) {
		if (mapping_covers(&s->kept[slot], pc)) {
			s->at = s->kept[slot];
			return END_NONE;
		}
	}
	s->at.end = 0;
	slot = s->kept_next++ & (MAPPINGS_KEPT - 1);
	s->kept[slot].end = 0;
	end = mapping_read(s, &s->fresh, pc);
	if (end)
		return end;
	s->at = s->fresh;
	s->kept[slot] = s->fresh;
	return END_NONE;
}

static __always_inline void mappings_forget(struct scratch *s)
{
	s->at.end = 0;
	for (u32 i = 0; i < MAPPINGS_KEPT; i++)
		s->kept[i].end = 0;
}

/* Mappings are remembered from sample to sample as long as it is the same process image and the
 * kernel says that nothing changed. */
static __always_inline void mappings_check(
	struct scratch *s, struct task_struct *task, struct mm_struct *mm)
{
	struct mapping_tag tag = {
		.mm = (u64)mm,
		.generation = vma_generation(mm),
		.start_ns = s->who.start_ns,
		.exec_id = task->self_exec_id,
	};

	if (tag.generation == 0 || tag.mm != s->tag.mm || tag.generation != s->tag.generation ||
		tag.start_ns != s->tag.start_ns || tag.exec_id != s->tag.exec_id)
		mappings_forget(s);
	s->tag = tag;
}

/* ---- the user half ---------------------------------------------------------------------- */

static __always_inline void push(struct scratch *s, u64 frame)
{
	u32 i = s->user.head.frames_len;

	s->user.frames[i & (STACK_USER_FRAMES_MAX - 1)] = frame;
	s->user.head.frames_len = i + 1;
	s->user_hash = mix(s->user_hash, frame);
}

/* One frame: name the place, push it, step to the caller. 1 ends the loop with s->end set. */
static long walk_frame(u32 index, void *ctx)
{
	struct scratch *s = *(struct scratch **)ctx;
	u64 pc = s->regs.pc - (index > 0);
	u32 end = mapping_find(s, pc);

	if (end) {
		s->end = end;
		return 1;
	}
	if (s->at.kind == FRAME_FILE) {
		u64 offset = (pc - s->at.start + s->at.file_offset) & FRAME_OFFSET_MASK;

		push(s,
			(u64)FRAME_FILE << FRAME_KIND_SHIFT |
				(u64)s->at.object << FRAME_OBJECT_SHIFT | offset);
	} else {
		s->user.head.anon = 1;
		push(s, (u64)FRAME_ANON << FRAME_KIND_SHIFT | (pc & FRAME_PAYLOAD_MASK));
	}
	s->end = unwind_fp_step(&s->regs);
	return s->end != END_NONE;
}

static __always_inline void walk_user(
	struct scratch *s, struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct scratch *context = s;

	if (!mm || (task->flags & PF_KTHREAD))
		return;
	s->mm = mm;
	s->end = regs_user(ctx, task, &s->saved, &s->regs);
	if (s->end == END_NONE) {
		mappings_check(s, task, mm);
		bpf_loop(STACK_USER_FRAMES_MAX, walk_frame, &context, 0);
		if (s->end == END_NONE)
			s->end = END_DEPTH;
	}
	s->user_hash = mix(s->user_hash, s->end + 1);
	if (s->user.head.anon)
		s->user_hash = mix(mix(s->user_hash, s->who.tgid), s->who.start_ns);
	s->user_hash |= 1;
}

/* ---- the kernel half -------------------------------------------------------------------- */

static __always_inline void walk_kernel(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	long bytes;
	u64 hash = 0;
	u32 i, len;

	if (regs_user_mode(&ctx->regs))
		return;
	bytes = bpf_get_stack(ctx, s->kernel.frames, sizeof(s->kernel.frames), 0);
	if (bytes <= 0)
		return;
	len = (u32)bytes / sizeof(u64);
	for (i = 0; i < STACK_KERNEL_FRAMES_MAX; i++) {
		u64 frame;

		if (i >= len)
			break;
		frame = s->kernel.frames[i] - (i > 0);
		frame = (u64)FRAME_KERNEL << FRAME_KIND_SHIFT | (frame & FRAME_PAYLOAD_MASK);
		s->kernel.frames[i] = frame;
		hash = mix(hash, frame);
	}
	s->kernel.head.frames_len = i;
	s->kernel_hash = hash | 1;
}

/* ---- who, counts, and telling ----------------------------------------------------------- */

static __always_inline bool who_same(const struct who_key *a, const struct who_key *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3] && x[4] == y[4];
}

static __always_inline void who_read(struct scratch *s, struct task_struct *task, u64 id)
{
	s->who.start_ns = task->group_leader->start_boottime;
	s->who.cgroup = bpf_get_current_cgroup_id();
	s->who.tgid = id >> 32;
	s->who.tid = keep_tid ? (u32)id : 0;
	bpf_get_current_comm(s->who.comm, sizeof(s->who.comm));
}

/* The id of s->who; 0 with *lost set. */
static __always_inline u32 who_id(struct scratch *s, u32 *lost)
{
	struct event_who event = { .kind = EVENT_WHO };
	u32 *known, id;

	if (s->last_who_id && s->last_who_epoch == epoch && who_same(&s->who, &s->last_who))
		return s->last_who_id;
	known = bpf_map_lookup_elem(&whos, &s->who);
	if (known) {
		id = *known;
	} else {
		id = next_id(&s->who_counter);
		event.id = id;
		event.key = s->who;
		if (bpf_map_update_elem(&whos, &s->who, &id, BPF_ANY)) {
			*lost = LOST_WHOS_FULL;
			return 0;
		}
		if (tell(&s->stats, &event, sizeof(event), BPF_RB_NO_WAKEUP)) {
			bpf_map_delete_elem(&whos, &s->who);
			*lost = LOST_RING_FULL;
			return 0;
		}
	}
	s->last_who = s->who;
	s->last_who_id = id;
	s->last_who_epoch = epoch;
	return id;
}

/* Tells a stack unless user space has it. 0, or -1 when it could not be told. */
static __always_inline int tell_stack(
	struct scratch *s, struct event_stack *head, u64 hash, u32 frames_max, u32 end)
{
	u32 bytes, frames = head->frames_len;
	u8 told = 1;

	if (hash == 0 || bpf_map_lookup_elem(&stacks, &hash))
		return 0;
	if (frames > frames_max)
		frames = frames_max;
	head->kind = EVENT_STACK;
	head->end = end;
	head->hash = hash;
	bytes = sizeof(*head) + frames * sizeof(u64);
	if (tell(&s->stats, head, bytes, BPF_RB_NO_WAKEUP))
		return -1;
	bpf_map_update_elem(&stacks, &hash, &told, BPF_ANY);
	return 0;
}

static __always_inline void tell_jit(struct scratch *s)
{
	struct event_jit event = { .kind = EVENT_JIT, .tgid = s->who.tgid };
	u64 *start = bpf_map_lookup_elem(&jit_told, &s->who.tgid);

	if (start && *start == s->who.start_ns)
		return;
	event.start_ns = s->who.start_ns;
	if (tell(&s->stats, &event, sizeof(event), BPF_RB_FORCE_WAKEUP) == 0)
		bpf_map_update_elem(&jit_told, &s->who.tgid, &event.start_ns, BPF_ANY);
}

static __always_inline u32 count_in(
	void *map, u32 which, struct scratch *s, const struct count_key *key)
{
	u64 one = 1, *count = bpf_map_lookup_elem(map, key);

	if (!count) {
		if (bpf_map_update_elem(map, key, &one, BPF_NOEXIST) == 0) {
			u64 len = __sync_fetch_and_add(&counts_len[which], 1) + 1;

			if (len == counts_high) {
				struct event_pressure event = { EVENT_PRESSURE, which };

				tell(&s->stats, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
			}
			return LOST_REASONS_LEN;
		}
		count = bpf_map_lookup_elem(map, key);
		if (!count)
			return LOST_COUNTS_FULL;
	}
	__sync_fetch_and_add(count, 1);
	return LOST_REASONS_LEN;
}

/* LOST_REASONS_LEN: nothing was lost. */
static __always_inline u32 count(struct scratch *s)
{
	struct count_key key = {
		.user_stack = s->user_hash,
		.kernel_stack = s->kernel_hash,
	};
	u32 lost = LOST_REASONS_LEN;

	key.who = who_id(s, &lost);
	if (!key.who)
		return lost;
	if (keep_cpu)
		key.cpu = bpf_get_smp_processor_id() + 1;
	if (tell_stack(s, &s->user.head, s->user_hash, STACK_USER_FRAMES_MAX, s->end) ||
		tell_stack(s, &s->kernel.head, s->kernel_hash, STACK_KERNEL_FRAMES_MAX, END_NONE))
		return LOST_RING_FULL;
	if (s->user.head.anon)
		tell_jit(s);
	if (active_counts & 1)
		return count_in(&counts_1, 1, s, &key);
	return count_in(&counts_0, 0, s, &key);
}

/* ---- the tick --------------------------------------------------------------------------- */

/* Is one of its ancestors a target? Then it is one from now on, whoever its parent will be. */
static __always_inline bool descends(struct task_struct *task, u32 tgid)
{
	u8 one = 1;

	for (int depth = 0; depth < ANCESTORS_MAX; depth++) {
		u32 parent;

		task = task->real_parent;
		if (!task)
			return false;
		parent = task->tgid;
		if (parent <= 1)
			return false;
		if (bpf_map_lookup_elem(&targets, &parent)) {
			bpf_map_update_elem(&targets, &tgid, &one, BPF_ANY);
			return true;
		}
	}
	return false;
}

static __always_inline bool wanted(struct task_struct *task, u64 id)
{
	u32 tgid = id >> 32, tid = id;

	if (tgid == self_tgid)
		return false;
	if (filter == FILTER_TREE)
		return bpf_map_lookup_elem(&targets, &tgid) || descends(task, tgid);
	if (filter == FILTER_TGID)
		return bpf_map_lookup_elem(&targets, &tgid);
	if (filter == FILTER_TID)
		return bpf_map_lookup_elem(&targets, &tid);
	return true;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	struct task_struct *task;
	struct scratch *s;
	u32 zero = 0, lost;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	s->stats.ticks++;
	if (id == 0) {
		s->stats.idle++;
		return 0;
	}
	task = bpf_get_current_task_btf();
	if (!wanted(task, id)) {
		s->stats.filtered++;
		return 0;
	}
	who_read(s, task, id);
	s->end = END_NONE;
	s->user_hash = s->kernel_hash = 0;
	s->user.head.frames_len = s->kernel.head.frames_len = 0;
	s->user.head.anon = 0;
	if (keep_kernel)
		walk_kernel(s, ctx);
	if (keep_user)
		walk_user(s, ctx, task);
	lost = count(s);
	if (lost < LOST_REASONS_LEN)
		s->stats.lost[lost & 7]++;
	else
		s->stats.samples++;
	return 0;
}
