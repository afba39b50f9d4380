/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vma_check.bpf.c - at each tick, what the product's walk says of some addresses of the task.
 * The pc, what a frame-pointer walk and the top of the stack hold, and the edges of the mappings
 * that these led to. Whether it is true, vma_check.c finds out. */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "bpf/vma.bpf.h"
#include "bpf/regs.bpf.h"
#include "tests/vma/vma_check.h"

#define RING_BYTES (16 << 20)
#define FRAMES_MAX 6
#define WORDS_MAX 64
#define WORDS_TAKEN 12
#define EDGES_AT 20
#define EDGES_OF 3
#define PAGE_SHIFT 12 /* x86-64; arm64 as Debian has it */
#define ADDR_MIN 0x1000
#define ADDR_MAX (1ULL << 47)

struct task_struct___comm {
	char comm[COMM_BYTES];
} CORE;

struct scratch {
	struct vma_scratch vma;
	arch_user_regs saved;
	struct unwind_regs regs;
	struct mm_struct *mm;
	u64 frames[FRAMES_MAX];
	u64 words[WORDS_MAX];
	u32 words_taken;
	u32 turn;
	u32 lost;
	struct vma_tick tick;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ticks SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

static __always_inline struct scratch *scratch_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline struct vma_scratch *vma_scratch_of(u32 asker)
{
	struct scratch *s = scratch_get();

	barrier_var(asker); /* or the compiler drops it, and the verifier refuses the call */
	return s ? &s->vma : NULL;
}

/* Looks up tick.answers[at].addr. Global, so that the verifier looks at the walk once. */
__attribute__((noinline)) int look_up(u32 at)
{
	struct scratch *s = scratch_get();
	struct vm_area_struct *vma;
	struct vma_answer *a;
	unsigned long flags;
	struct inode *inode;

	if (!s || at >= ANSWERS_MAX)
		return 0;
	a = &s->tick.answers[at];
	a->start = a->end = a->file_offset = a->ino = 0;
	a->dev = a->found = a->executable = a->shared = 0;
	vma = vma_find(s->mm, a->addr, 0);
	if (!vma)
		return 0;
	a->found = 1;
	a->start = BPF_CORE_READ(vma, vm_start);
	a->end = BPF_CORE_READ(vma, vm_end);
	flags = BPF_CORE_READ(vma, vm_flags);
	a->executable = !!(flags & VM_EXEC);
	a->shared = !!(flags & VM_MAYSHARE);
	inode = BPF_CORE_READ(vma, vm_file, f_inode);
	if (!inode)
		return 0;
	a->file_offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT;
	a->ino = BPF_CORE_READ(inode, i_ino);
	a->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	return 0;
}

static __always_inline void add(struct vma_tick *tick, u64 addr)
{
	u32 at = tick->answers_len;

	if (addr < ADDR_MIN || addr >= ADDR_MAX || at >= ANSWERS_MAX)
		return;
	tick->answers[at].addr = addr;
	tick->answers_len = at + 1;
}

/* Global for the same reason. */
__attribute__((noinline)) int take_word(u32 at)
{
	struct scratch *s = scratch_get();
	u64 word;

	if (!s || s->words_taken >= WORDS_TAKEN)
		return 0;
	word = s->words[at & (WORDS_MAX - 1)];
	if (word < ADDR_MIN || word >= ADDR_MAX)
		return 0;
	add(&s->tick, word);
	s->words_taken++;
	return 0;
}

/* The pc, the frame-pointer chain, and words of the stack, others at each tick. */
static __always_inline void gather(struct scratch *s, void *ctx)
{
	long bytes = bpf_get_stack(ctx, s->frames, sizeof(s->frames), BPF_F_USER_STACK);

	add(&s->tick, s->regs.pc);
	add(&s->tick, s->regs.sp);
	for (u32 i = 0; i < FRAMES_MAX; i++) {
		if (bytes > (long)(i * sizeof(u64)))
			add(&s->tick, s->frames[i]);
	}
	s->words_taken = 0;
	if (bpf_probe_read_user(s->words, sizeof(s->words), (void *)s->regs.sp))
		return;
	for (u32 i = 0; i < WORDS_MAX; i++)
		take_word(i + s->turn * WORDS_TAKEN);
}

/* The edges of a few of the mappings found, and what is just beyond them. */
static __always_inline void gather_edges(struct scratch *s)
{
	u32 found = s->tick.answers_len;

	if (found == 0 || found > EDGES_AT)
		return;
	for (u32 i = 0; i < EDGES_OF; i++) {
		u32 at = (s->turn + i * 7) % found;
		struct vma_answer *a;

		/* The compiler knows that it is small, the verifier does not. */
		asm volatile("" : "+r"(at));
		a = &s->tick.answers[at & (ANSWERS_MAX - 1)];
		if (!a->found)
			continue;
		add(&s->tick, a->start - 1);
		add(&s->tick, a->start);
		add(&s->tick, a->end - 1);
		add(&s->tick, a->end);
	}
}

static __always_inline void describe(struct vma_tick *tick, struct task_struct *task, u64 id)
{
	struct task_struct___comm *leader = (void *)BPF_CORE_READ(task, group_leader);

	tick->at_ns = bpf_ktime_get_ns();
	tick->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	tick->tgid = id >> 32;
	tick->exec_id = BPF_CORE_READ(task, self_exec_id);
	BPF_CORE_READ_INTO(&tick->comm, leader, comm);
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	u64 id = bpf_get_current_pid_tgid(), generation;
	struct scratch *s = scratch_get();
	struct task_struct *task;
	struct mm_struct *mm;
	u32 i;

	if (!s || id == 0)
		return 0;
	task = bpf_get_current_task_btf();
	mm = task->mm;
	if (!mm || (task->flags & PF_KTHREAD) || regs_user(ctx, task, &s->saved, &s->regs))
		return 0;
	s->mm = mm;
	s->turn++;
	s->tick.mm = (u64)mm;
	s->tick.answers_len = 0;
	describe(&s->tick, task, id);
	generation = vma_generation(mm);
	gather(s, ctx);
	for (i = 0; i < EDGES_AT && i < s->tick.answers_len; i++)
		look_up(i);
	gather_edges(s);
	for (; i < ANSWERS_MAX && i < s->tick.answers_len; i++)
		look_up(i);
	s->tick.generation = vma_generation(mm) == generation ? generation : 0;
	s->tick.lost = s->lost;
	if (bpf_ringbuf_output(&ticks, &s->tick, sizeof(s->tick), 0))
		s->lost++;
	else
		s->lost = 0;
	return 0;
}
