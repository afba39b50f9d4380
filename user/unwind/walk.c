/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/walk.c - the unwinder of bpf/ compiled for the host. Memory is the held bytes and nothing
 * else: the process has gone on, or is gone. */
#include "unwind/walk.h"

#include <string.h>

#include "bpf/unwind.bpf.h"
#include "unwind/publish.h"

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	const struct event_held *held = memory;

	if (addr < held->sp || addr - held->sp > held->stack_bytes ||
		size > held->stack_bytes - (addr - held->sp))
		return -1;
	memcpy(dst, held->stack + (addr - held->sp), size);
	return 0;
}

static const struct scan_mapping *find_mapping(
	const struct scan_mapping *mappings, size_t len, uint64_t pc)
{
	size_t from = 0, to = len;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (pc < mappings[middle].start)
			to = middle;
		else if (pc >= mappings[middle].end)
			from = middle + 1;
		else
			return &mappings[middle];
	}
	return NULL;
}

static u32 step(struct publish *publish, struct unwind_regs *regs, struct unwind_window *window,
	const struct scan_mapping *m, u64 offset)
{
	const struct unwind_rule *rule;
	struct shim_rows rows;
	struct bytes data = { 0 };
	u32 end = m->object ? publish_find_page(publish, m->object, offset, &data) : END_NONE;

	if (end)
		return end;
	if (data.data) {
		rows = (struct shim_rows){ data.data, (u32)data.len };
		rule = publish_rule(publish, unwind_search(&rows, offset));
		if (rule->cfa != CFA_NONE)
			return unwind_rule_step(regs, window, rule);
	}
	return unwind_fp_step(regs, window);
}

static u32 walk_frame(struct publish *publish, struct unwind_regs *regs,
	struct unwind_window *window, const struct scan_mapping *m, struct walk_stack *out)
{
	u64 pc = regs->pc - !regs->exact;
	u64 offset = (pc - m->start + m->file_offset) & FRAME_OFFSET_MASK;
	u64 frame = m->object ? (u64)FRAME_FILE << FRAME_KIND_SHIFT |
			(u64)m->object << FRAME_OBJECT_SHIFT | offset
			      : (u64)FRAME_ANON << FRAME_KIND_SHIFT | (pc & FRAME_PAYLOAD_MASK);

	out->frames[out->frames_len++] = frame;
	out->anon |= m->object == 0;
	return step(publish, regs, window, m, offset);
}

uint32_t walk_held(struct publish *publish, const struct event_held *held,
	const struct scan_mapping *mappings, size_t mappings_len, struct walk_stack *out)
{
	struct unwind_regs regs = {
		.pc = held->pc,
		.sp = held->sp,
		.fp = held->fp,
		.exact = held->exact,
	};
	struct unwind_window window = { .memory = held };

	_Static_assert(sizeof(regs.gpr) == sizeof(held->gpr), "the same registers");
	memcpy(regs.gpr, held->gpr, sizeof(regs.gpr));
	/* The frame where BPF stopped is the last of those it walked: it is walked again. */
	memcpy(out->frames, held->frames, sizeof(held->frames));
	out->frames_len = held->frames_len > 0 ? held->frames_len - 1U : 0;
	out->anon = held->anon;
	while (out->frames_len < STACK_USER_FRAMES_MAX) {
		u64 pc = regs.pc - !regs.exact;
		const struct scan_mapping *m = find_mapping(mappings, mappings_len, pc);
		u32 end = m ? walk_frame(publish, &regs, &window, m, out) : END_NO_MAPPING;

		if (end)
			return end;
	}
	return END_DEPTH;
}
