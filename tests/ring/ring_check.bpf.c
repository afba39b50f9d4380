/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* ring_check.bpf.c - the product's programs, and beside them some that count how many events are
 * due. Events of cgroups and execs are made by the kernel, for whoever makes or runs something
 * meanwhile. The others are made by programs that user space runs one by one. Event `number` is
 * another one each time, so that each is due. */
#include "bpf/sample.bpf.c"
#include "tests/ring/ring_check.h"

__u64 due[EVENT_KINDS_MAX] = {};
__u32 number = 0;
__u32 made_task = 0; /* its id */
__u64 stack_pointer = 0; /* with room above it */
__u64 code_at = 0;       /* of a language */
/* Of the tick and its walk that a deferred sample is from. */
__u64 deadline_ns = 0;
__u32 walked = 0, walk_end = END_NO_TABLE, long_copies = 0;

static __always_inline void is_due(u32 kind)
{
	__sync_fetch_and_add(&due[kind], 1);
}

static __always_inline struct scratch *scratch_for(u32 kind)
{
	u32 zero = 0;

	is_due(kind);
	return bpf_map_lookup_elem(&scratches, &zero);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(due_made, struct cgroup *cgroup, const char *path)
{
	if (hierarchy_of(cgroup) >= 0)
		is_due(EVENT_CGROUP);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(due_removed, struct cgroup *cgroup, const char *path)
{
	if (hierarchy_of(cgroup) >= 0)
		is_due(EVENT_CGROUP);
	return 0;
}

SEC("tp_btf/cgroup_rename")
int BPF_PROG(due_renamed, struct cgroup *cgroup, const char *path)
{
	if (hierarchy_of(cgroup) >= 0)
		is_due(EVENT_CGROUP);
	return 0;
}

/* Of the target alone. No file is known while execs are counted. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(due_exec, struct task_struct *task)
{
	u64 cgroup = bpf_get_current_cgroup_id();

	if (bpf_map_lookup_elem(&target_cgroups, &cgroup))
		is_due(EVENT_EXEC);
	return 0;
}

SEC("raw_tp")
int make_task(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_TASK);

	if (!s)
		return 0;
	s->task.start_ns = 1;
	s->task.tgid = number;
	made_task = task_id(s);
	return 0;
}

static __always_inline void set_stack(struct scratch *s)
{
	s->user.head.frames_len = 2;
	s->user.head.anon = 0;
	s->user.frames[0] = s->user.frames[1] = number;
}

SEC("raw_tp")
int make_stack(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_STACK);

	if (!s)
		return 0;
	set_stack(s);
	emit_stack(s, &s->user.head, mix(1ULL << 32, number), mix(2ULL << 32, number),
		STACK_USER_FRAMES_MAX, END_ROOT);
	return 0;
}

SEC("raw_tp")
int make_leaf(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_LEAF);
	u64 below_leaf = mix(3ULL << 32, 0);
	struct known_stacks *known = known_stacks_of(below_leaf);

	if (!s || !known)
		return 0;
	set_stack(s);
	stack_note(known, below_leaf, 0);
	emit_stack(s, &s->user.head, mix(4ULL << 32, number), below_leaf, STACK_USER_FRAMES_MAX,
		END_ROOT);
	return 0;
}

SEC("raw_tp")
int make_jit(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_JIT);

	if (!s)
		return 0;
	s->task.start_ns = 1;
	s->task.tgid = number;
	emit_jit(s->task.tgid, s->task.start_ns, 0);
	return 0;
}

SEC("raw_tp")
int make_code(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_CODE);
	struct language_scratch *c = language_scratch_of(0);
	const struct language *l = language_of(MADE_LANGUAGE);

	if (!s || !c || !l)
		return 0;
	s->language = MADE_LANGUAGE;
	s->task.start_ns = 1;
	s->task.tgid = number;
	c->base = 0;
	language_identify(walk_of(s), s, l, c, code_at);
	return 0;
}

SEC("raw_tp")
int make_tick(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_TICK);

	if (s)
		emit_tick(s, number);
	return 0;
}

SEC("raw_tp")
int make_pressure(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_PRESSURE);
	struct count_key key = { .task = number };

	counts_len[0] = counts_high; /* so each key is one too many */
	if (s)
		count_first(&counts_0, 0, s, &key);
	return 0;
}

SEC("raw_tp")
int make_page(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_PAGE);
	u32 index = number;
	struct rows_page *page = bpf_map_lookup_elem(&row_pages, &index);

	if (s && page)
		page_ask(s, page, index);
	return 0;
}

SEC("raw_tp")
int make_deferred(void *ctx)
{
	struct scratch *s = scratch_for(EVENT_DEFERRED);
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!s)
		return 0;
	s->mm = BPF_CORE_READ(task, mm);
	s->regs.sp = stack_pointer;
	s->deferred_second = second;
	s->deferred_len = 0;
	s->deferred_long = long_copies;
	s->deadline_ns = deadline_ns;
	s->end = walk_end;
	s->walked = walked;
	s->user_hash = s->kernel_hash = 0;
	defer(walk_of(s));
	return 0;
}

SEC("raw_tp")
int make_descendant(void *ctx)
{
	target_descends((void *)bpf_get_current_task_btf(), number);
	return 0;
}
