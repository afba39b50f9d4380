/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/walk.c - bpf/walk.bpf.h compiled for the host, from the first register to the last
 * frame: which rule is searched where, what is tried where there is none, when it ends. What the
 * BPF side has around it (mappings, maps of rows, helpers) is in fake/bpf/ and here. */
#define __TARGET_ARCH_x86

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* of callbacks */
#pragma GCC diagnostic ignored "-Wattributes"       /* those of BPF's compiler */
#include "bpf/walk.bpf.h"
#pragma GCC diagnostic pop

#include "walk.h"

/* bpf_probe_read_user() has no argument that says whose memory. */
static const struct space *sampled;

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	return space_read(memory, addr, dst, size);
}

static int read_sampled(void *dst, u32 size, u64 addr)
{
	return space_read(sampled, addr, dst, size);
}

/* As mapping_find() of bpf/mapping.bpf.h, for a process whose files all have their tables. What
 * goes for an object is the mapping here, so that a frame leads back to its address. */
static u32 mapping_find(struct scratch *s, u64 pc)
{
	const struct mapping *m = space_find(s->space, pc);

	if (!m)
		return END_NO_MAPPING;
	if (!m->executable)
		return END_NOT_CODE;
	s->at = (struct walk_mapping){
		.start = m->start,
		.file_offset = m->file_offset,
		.kind = m->object ? FRAME_FILE : FRAME_ANON,
		.table = m->object && m->object->rows ? TABLE_READY : TABLE_NONE,
		.mapping = m,
		.object = (u32)(m - s->space->mappings.data),
	};
	return END_NONE;
}

static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	const struct unwind_rows_view *view = &s->at.mapping->object->rows->view;
	u32 from = 0, to = view->head->pages_len, number = (u32)(offset >> ROWS_PAGE_SHIFT);

	*rule = NULL;
	while (from < to) {
		u32 middle = (from + to) / 2;

		if (view->pages[middle].number == number) {
			struct bytes data = unwind_rows_page_data(view, middle);
			struct shim_rows rows = { data.data, (u32)data.len };

			s->rule = view->rules[unwind_search(&rows, offset)];
			*rule = &s->rule;
			return END_NONE;
		}
		if (view->pages[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return END_NONE;
}

static void take_registers(const struct user_regs_struct *from, struct unwind_regs *to)
{
	const unsigned long long in_order[ARCH_GPRS] = { from->rax, from->rdx, from->rcx, from->rbx,
		from->rsi, from->rdi, from->rbp, from->rsp, from->r8, from->r9, from->r10,
		from->r11, from->r12, from->r13, from->r14, from->r15 };

	to->pc = from->rip;
	to->sp = from->rsp;
	to->fp = from->rbp;
	to->exact = 1;
	for (int i = 0; i < ARCH_GPRS; i++)
		to->gpr[i] = in_order[i];
}

static uint64_t address_of(const struct space *space, u64 frame)
{
	const struct mapping *m;

	if (frame >> FRAME_KIND_SHIFT != FRAME_FILE)
		return frame & FRAME_PAYLOAD_MASK;
	m = &space->mappings.data[(frame & FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT];
	return m->start + ((frame - m->file_offset) & FRAME_OFFSET_MASK);
}

void walk_now(struct space *space, const struct user_regs_struct *regs, struct chain *out)
{
	struct scratch *s = &scratches;
	struct mm_struct mm = { .start_stack = space->start_stack };
	struct task_struct task = { .mm = &mm };
	struct bpf_perf_event_data ctx = { 0 };

	s->user.head.frames_len = 0;
	s->space = space;
	s->window.memory = space;
	sampled = space;
	take_registers(regs, &ctx.regs.unwind);
	walk_user(s, &ctx, &task);
	walk_kernel(s, &ctx);
	out->end = s->end;
	out->len = s->user.head.frames_len;
	for (u32 i = 0; i < out->len; i++)
		out->at[i] = address_of(space, s->user.frames[i]);
}
