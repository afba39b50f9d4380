/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/visit.bpf.c - visits every thread of the target, and walks the stacks of those that have
 * switched since the last visit and have no CPU now: the walk is that of a tick (bpf/frame.bpf.h),
 * with memory read as bpf/pages.bpf.h does. User space reads the iterator; nothing runs when a
 * thread switches, and no thread can hold a visit up. A tick may interrupt it, so it has scratch of
 * its own; files, tables, languages and the ring are the sampler's maps (user/waiting/visitor.c).
 * A thread that ran during its walk has no stack: its switches, CPU and mm are read again after. */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The walks of bpf/shim.h are not of the task that runs the program. */
#define shim_read_user(memory, dst, size, addr) page_read(dst, size, addr)
#define walk_task() ((struct task_struct *)visited)
#define walk_number() (id_stride - 1)
#define WALK_OBJECT_IDS                              \
	{                                            \
		OBJECT_VISIT_FIRST, 1, 0, OBJECT_VISIT_IDS \
	}
#define OBJECT_IDS_WORDS (OBJECT_VISIT_IDS / 64)
#define WALK_OUTER static __always_inline

#include "bpf/abi.h"
#include "bpf/reasons.h"

__u64 visited = 0; /* address of the task */

#include "bpf/pages.bpf.h"
#include "bpf/cgroup_id.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/resource.bpf.h"
#include "bpf/walk.bpf.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define VISIT_WALK_GUESS_NS 5000 /* of a walk that is about to begin: few take less */
/* A stack is walked again after two seconds, then after four times as long, and so on up to the
 * last time, for what is known of its language may come late. Threads without a stack go first:
 * a pass walks others again for so long at most. */
#define VISIT_AGAIN_NS (VISIT_WALK_NS / 12)
#define VISIT_SECONDS(walks) (2U << 2 * (walks))
#define VISIT_WALKS_LAST 5
#define VISIT_SECONDS_SPREAD 511 /* so that not all threads do so at once */

struct visit_totals visit_totals = {};
__u64 pass_walk_ns = 0;   /* of all walks of this pass; user space begins a pass with 0 */
__s64 pass_clock_ns = 0;  /* the scheduler's clock minus CLOCK_MONOTONIC: about; 0: unknown */
__u64 visit_mark = 0;     /* of the thread: mark_of */
__u32 visit_keep = 0;     /* the thread has the stack until it switches */
__u32 visit_salt = 0;     /* raised when stacks that were sent, or their files, are lost */

/* Threads whose stacks are known, by their numbers: whoever finds no place is walked at each
 * visit. */
#define VISIT_SETS 16384 /* a power of two */
#define VISIT_WAYS 4

struct visit_slot {
	u64 mark; /* of the thread and its switches */
	u32 tid;
	u32 until : 24;  /* second, its low bits: walked again then */
	u32 walks : 8;   /* of the same stack before, VISIT_WALKS_LAST at most */
};

struct visit_set {
	struct visit_slot ways[VISIT_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VISIT_SETS);
	__type(key, u32);
	__type(value, struct visit_set);
} visit_sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct visit_record);
} visit_records SEC(".maps");

static __always_inline struct visit_record *record_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&visit_records, &zero);
}

static __always_inline u64 switches_of(struct task_struct *task)
{
	struct task_struct___counters *counted = (void *)task;

	return BPF_CORE_READ(counted, nvcsw) + BPF_CORE_READ(counted, nivcsw);
}

/* The clock of the CPU that reads the iterator, which its latest tick updated. */
static __always_inline void note_clock(u64 now_ns)
{
	struct task_struct___grouped *grouped = (void *)bpf_get_current_task();
	u64 clock;

	if (pass_clock_ns || !bpf_core_field_exists(grouped->se.cfs_rq))
		return;
	clock = BPF_CORE_READ(grouped, se.cfs_rq, rq, clock);
	if (clock)
		pass_clock_ns = clock - now_ns;
}

/* When the reader of the iterator got its CPU: the scheduler's clock. */
static __always_inline u64 reader_arrived_ns(void)
{
	struct task_struct___sched_info *own = (void *)bpf_get_current_task();

	return BPF_CORE_READ(own, sched_info.last_arrival);
}

/* A visit sees the reader's CPU as it was when the reader got it. A thread whose CPU it took has
 * the same time as the reader; another one, woken since, waited then, and still has that stack. */
static __noinline void forget_reader(
	struct visit_record *r, struct task_struct *task, u64 queued_ns)
{
	u64 arrived_ns = reader_arrived_ns();

	if (r->class != THREAD_RUNNABLE || !arrived_ns || queued_ns < arrived_ns)
		return;
	if (queued_ns == arrived_ns)
		r->flags |= VISIT_ASIDE;
	else if (cpu_of(task) == bpf_get_smp_processor_id())
		r->class = THREAD_SLEEPING;
}

static __always_inline void read_schedule(struct visit_record *r, struct task_struct *task)
{
	struct task_struct___sched_info *info = (void *)task;
	u64 queued_ns = 0, arrived_ns, clock_ns = r->now_ns + pass_clock_ns;

	if (bpf_core_field_exists(info->sched_info)) {
		r->delay_ns = BPF_CORE_READ(info, sched_info.run_delay);
		queued_ns = BPF_CORE_READ(info, sched_info.last_queued);
		arrived_ns = BPF_CORE_READ(info, sched_info.last_arrival);
		if (pass_clock_ns && arrived_ns && clock_ns > arrived_ns)
			r->waited_ns = clock_ns - arrived_ns;
		r->flags |= THREAD_DELAY_KNOWN;
	}
	r->class = class_of(task, state_of(task), queued_ns);
	forget_reader(r, task, queued_ns);
}

static __always_inline bool is_wanted(const struct visit_record *r, struct task_struct *task)
{
	u32 tid = r->tid;

	if (r->tgid == self_tgid)
		return false;
	if (meets == FILTER_TID)
		return bpf_map_lookup_elem(&targets, &tid);
	return target_has(meets, task, r->tgid, r->cgroup);
}

/* False: it is none of ours. */
static __always_inline bool read_thread(
	struct visit_record *r, struct scratch *s, struct task_struct *task)
{
	struct task_struct___counters *counted = (void *)task;
	u64 ids;

	if (task->flags & PF_KTHREAD || counted->exit_state)
		return false;
	ids = thread_ids(task);
	__builtin_memset(r, 0, sizeof(*r));
	r->tgid = ids >> 32;
	r->tid = (u32)ids;
	if (meets == FILTER_CGROUP)
		r->cgroup = cgroup_of_other(s->subsys, task);
	if (!ids || !is_wanted(r, task))
		return false;
	r->now_ns = bpf_ktime_get_ns();
	note_clock(r->now_ns);
	/* First: the rest is of the same switch, or is refused. */
	r->switches = switches_of(task);
	read_schedule(r, task);
	r->start_ns = counted->start_boottime;
	r->run_ns = counted->se.sum_exec_runtime;
	if (BPF_CORE_READ_BITFIELD(counted, in_iowait))
		r->flags |= THREAD_IN_IOWAIT;
	else if (r->class == THREAD_DISK)
		r->class = THREAD_SLEEPING; /* a lock, another thread */
	return true;
}

/* A thread that does not run may be moved to another cgroup, and get another name. */
static __noinline void read_identity(
	struct visit_record *r, struct scratch *s, struct task_struct *task)
{
	struct task_struct___counters *counted = (void *)task;

	r->process_start_ns = BPF_CORE_READ(counted, group_leader, start_boottime);
	if (meets != FILTER_CGROUP) /* else read_thread has it */
		r->cgroup = cgroup_of_other(s->subsys, task);
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), &counted->comm);
}

/* Epochs are for what ticks meet. User space keeps what stacks of threads that wait refer to, and
 * raises the salt when it could not. */
static __noinline u64 mark_of(const struct visit_record *r)
{
	const u64 *comm = (const u64 *)r->comm;
	u64 mark = mix(mix(stacks_secret, r->start_ns), r->switches);

	mark = mix(mix(mix(mark, r->cgroup), comm[0]), comm[1]);
	return mix(mark, (u64)visit_salt << 32 | r->tid);
}

static __always_inline bool slot_is_over(const struct visit_slot *slot)
{
	return slot->tid == 0 || (s32)((slot->until - second) << 8) <= 0;
}

/* The thread's slot, or one that it may have; NULL: none is free. */
static __always_inline struct visit_slot *slot_of(u32 tid)
{
	u32 at = tid & (VISIT_SETS - 1);
	struct visit_set *set = bpf_map_lookup_elem(&visit_sets, &at);
	struct visit_slot *free = NULL;

	if (!set)
		return NULL;
	UNROLL
	for (u32 i = 0; i < VISIT_WAYS; i++) {
		if (set->ways[i].tid == tid)
			return &set->ways[i];
		if (slot_is_over(&set->ways[i]))
			free = &set->ways[i];
	}
	return free;
}

/* The thread was walked. keep: its stack is the one that it has until it switches. */
static __always_inline void slot_note(u32 tid, u64 mark, bool keep)
{
	struct visit_slot *slot = slot_of(tid);
	u32 walks = 0;

	if (!slot)
		return;
	if (slot->tid == tid && slot->mark == mark)
		walks = slot->walks + 1;
	if (walks > VISIT_WALKS_LAST)
		walks = VISIT_WALKS_LAST;
	slot->tid = tid;
	slot->mark = keep ? mark : 0;
	slot->walks = walks;
	slot->until = second + VISIT_SECONDS(walks) +
		(walks == VISIT_WALKS_LAST ? tid & VISIT_SECONDS_SPREAD : 0);
}

static __always_inline void scratch_begin(struct scratch *s, const struct visit_record *r)
{
	s->tick_ns = s->user_ns = r->now_ns;
	s->deadline_ns = r->now_ns + VISIT_THREAD_NS;
	s->late = s->limited = 0;
	s->task.start_ns = r->process_start_ns;
	s->task.cgroup = r->cgroup;
	s->task.tgid = r->tgid;
	s->task.tid = keep_tid ? r->tid : 0;
	__builtin_memcpy(s->task.comm, r->comm, sizeof(s->task.comm));
	s->end = END_NONE;
	s->user_below_leaf = stacks_secret;
	s->user.head.frames_len = s->kernel.head.frames_len = s->user.head.anon = 0;
}

/* True: the registers of its entry are in the scratch, and its memory may be read. */
static __always_inline bool walk_visited(struct scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct mm_struct___pages *tables = (void *)mm;
	struct page_reader *p = page_reader_of();

	if (!mm || !p)
		return false;
	s->mm = mm;
	page_begin(p, visited, *(volatile u64 *)&s->mm, (u64)BPF_CORE_READ(tables, pgd));
	s->end = regs_at_entry(task, &s->saved, &s->regs);
	walk_registers(s, task, mm);
	return s->end != END_NO_REGS;
}

/* Has it had no CPU since? */
static __always_inline bool still_waits(
	const struct visit_record *r, const struct scratch *s, struct task_struct *task)
{
	struct task_struct___counters *counted = (void *)task;

	return !is_on_cpu(task) && switches_of(task) == r->switches &&
		!BPF_CORE_READ(counted, exit_state);
}

/* True: the record has a stack, which is the thread's until it switches. */
static __always_inline bool walk_thread(
	struct scratch *s, struct visit_record *r, struct task_struct *task, bool user)
{
	bool read = false;
	u64 now;

	/* From the first walk on: a pass always begins with the same threads. */
	if (account_refuses(SHARE_VISIT, VISIT_WALK_GUESS_NS, pass_walk_ns, VISIT_WALK_NS)) {
		visit_totals.refused++;
		return false;
	}
	scratch_begin(s, r);
	walk_kernel_addresses(s,
		bpf_get_task_stack(task, s->kernel.frames, sizeof(s->kernel.frames), 0));
	if (user)
		read = walk_visited(s, task);
	else if (task->mm)
		s->end = END_UNREAD;
	if (r->class == THREAD_SLEEPING || r->class == THREAD_DISK)
		resource_find(task, &s->saved, read);
	now = bpf_ktime_get_ns();
	pass_walk_ns += now - r->now_ns;
	visit_totals.walk_ns += now - r->now_ns;
	if (now - r->now_ns > VISIT_WALK_GUESS_NS) /* what it took is charged in any case */
		account_refuses(SHARE_VISIT, now - r->now_ns - VISIT_WALK_GUESS_NS, 0, ~0ULL);
	if (!still_waits(r, s, task)) {
		visit_totals.moved++;
		r->class = THREAD_RUNNING;
		return false;
	}
	r->kernel_len = s->kernel.head.frames_len;
	r->user_len = s->user.head.frames_len;
	r->user_end = s->end;
	r->anon = s->user.head.anon;
	r->task = task_id(s);
	if (r->anon)
		emit_jit(s->task.tgid, s->task.start_ns, start_stack_of(s));
	if (r->class == THREAD_SLEEPING || r->class == THREAD_DISK)
		r->flags |= VISIT_RESOURCE;
	visit_totals.walked++;
	if (s->end == END_STACK_READ || s->end == END_UNREAD)
		visit_totals.unread++;
	return s->end != END_NO_TABLE && s->end != END_TIME && s->end != END_VMA_READ && r->task;
}

static __always_inline int write_frames(
	struct seq_file *seq, const u64 *frames, u64 len, const u32 most)
{
	/* As the other places: the check must be of the register that is passed. */
	len *= sizeof(*frames);
	asm volatile("" : "+r"(len));
	if (len > most * sizeof(*frames))
		return 0;
	return bpf_seq_write(seq, frames, len);
}

/* 0: all is in the buffer; else it is full, and the thread comes once more. */
static __always_inline int write_record(
	struct seq_file *seq, struct scratch *s, struct visit_record *r)
{
	struct resource_reads *w = NULL;

	if (r->flags & VISIT_RESOURCE)
		w = resource_reads_of();
	if (!w || w->reads[0].kind == RESOURCE_NONE)
		r->flags &= ~VISIT_RESOURCE;
	if (bpf_seq_write(seq, r, sizeof(*r)) ||
		write_frames(seq, s->kernel.frames, r->kernel_len, STACK_KERNEL_FRAMES_MAX) ||
		write_frames(seq, s->user.frames, r->user_len, STACK_USER_FRAMES_MAX))
		return -1;
	return w && r->flags & VISIT_RESOURCE
		? bpf_seq_write(seq, &w->reads[0], sizeof(w->reads[0]))
		: 0;
}

/* The walk's calls need all of the stack but a little: so little lives here across them. */
static __always_inline int visit_task(struct bpf_iter__task *ctx, bool user)
{
	struct task_struct *task = ctx->task;
	struct scratch *s = scratch_of(0);
	struct visit_record *r = record_of();
	struct visit_slot *slot;

	if (!s || !r || !task || !read_thread(r, s, task))
		return 0;
	visited = (u64)task;
	read_identity(r, s, task);
	visit_mark = mark_of(r);
	visit_keep = 0;
	slot = r->class != THREAD_RUNNING ? slot_of(r->tid) : NULL;
	if (slot && slot->tid == r->tid && slot->mark == visit_mark &&
		(!slot_is_over(slot) || pass_walk_ns > VISIT_AGAIN_NS)) {
		r->flags |= VISIT_SAME;
	} else if (r->class != THREAD_RUNNING) {
		visit_keep = walk_thread(s, r, task, user);
	}
	if (write_record(ctx->meta->seq, s, r))
		return 0;
	visit_totals.threads++;
	if (r->flags & VISIT_SAME)
		visit_totals.same++;
	else if (r->class != THREAD_RUNNING)
		slot_note(r->tid, visit_mark, visit_keep);
	return 0;
}

SEC("iter/task")
int visit(struct bpf_iter__task *ctx)
{
	return visit_task(ctx, true);
}

/* Where the verifier refuses the above, or memory cannot be found. */
SEC("iter/task")
int visit_kernel(struct bpf_iter__task *ctx)
{
	return visit_task(ctx, false);
}

__u8 memory_answer[64] = {};
__u64 memory_root = 0; /* address of the caller's first table */
__u32 memory_answered = 0;

/* args: an address in the caller's memory, from where memory_answer is read. User space runs it. */
SEC("raw_tp")
int memory_ask(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 mm = (u64)BPF_CORE_READ(task, mm), addr = ctx->args[0];
	struct mm_struct___pages *tables = (void *)mm;
	struct page_reader *p = page_reader_of();

	memory_answered = 0;
	memory_root = (u64)BPF_CORE_READ(tables, pgd);
	if (!p)
		return 0;
	page_begin(p, (u64)task, mm, memory_root);
	memory_answered = page_read(memory_answer, sizeof(memory_answer), addr) == 0;
	return 0;
}
