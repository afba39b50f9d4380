/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/walk.c - walks by user/unwind/walk.c, which is bpf/frame.bpf.h compiled for the host:
 * a stopped process is a walk that was held at its first frame. All its files have their tables. */
#include "walk.h"

#include <string.h>

#include "bpf/reasons.h"
#include "rows_find.h"
#include "unwind/walk.h"

struct walking {
	struct space *space;
	struct record *record;
};

/* Objects are numbered by their mappings here, so that a frame leads back to its address. */
static const struct mapping *mapping_of(const struct space *space, uint32_t object)
{
	return &space->mappings.data[object - 1];
}

static uint32_t table(void *ctx, uint32_t object)
{
	const struct walking *walking = ctx;

	return mapping_of(walking->space, object)->object->rows ? TABLE_READY : TABLE_NONE;
}

static uint32_t rule(void *ctx, uint32_t object, uint64_t offset, struct unwind_rule *out)
{
	const struct walking *walking = ctx;
	const struct mapping *m = mapping_of(walking->space, object);

	*out = rows_find(&m->object->rows->view, offset);
	if (walking->record)
		record_rule(walking->record, object, offset, out);
	return END_NONE;
}

static int read_memory(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	const struct walking *walking = ctx;
	int err = space_read(walking->space, addr, dst, size);

	(void)m;
	if (walking->record && err == 0)
		record_memory(walking->record, addr, dst, size);
	return err;
}

static void take_registers(const struct user_regs_struct *from, struct event_deferred *to)
{
	/* By DWARF number. */
	const unsigned long long gpr[] = { from->rax, from->rdx, from->rcx, from->rbx, from->rsi,
		from->rdi, from->rbp, from->rsp, from->r8, from->r9, from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15 };

	to->pc = from->rip;
	to->sp = from->rsp;
	to->fp = from->rbp;
	to->exact = 1;
	memcpy(to->gpr, gpr, sizeof(gpr));
}

static uint64_t address_of(const struct space *space, uint64_t frame)
{
	const struct mapping *m;

	if (FRAME_KIND(frame) != FRAME_FILE)
		return frame & FRAME_PAYLOAD_MASK;
	m = mapping_of(space, (frame & FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT);
	return m->start + ((frame - m->file_offset) & FRAME_OFFSET_MASK);
}

void walk_now(struct space *space, const struct user_regs_struct *regs, struct chain *out,
	struct record *record)
{
	static struct event_deferred deferred;
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack = { .frames = frames };
	struct walking walking = { space, record };
	const struct walk_world world = {
		.tables = &walking,
		.memory = &walking,
		.table = table,
		.rule = rule,
		.read = read_memory,
		.thread_base = regs->fs_base,
	};

	take_registers(regs, &deferred);
	deferred.start_stack = space->start_stack;
	deferred.stack_bytes = record ? 0 : space->stack_len;
	memcpy(deferred.data, space->stack, deferred.stack_bytes);
	out->end = walk_deferred(&world, &deferred, space->code.data, space->code.len, &stack);
	out->len = stack.frames_len;
	out->guessed = 0;
	for (uint32_t i = 0; i < out->len; i++) {
		out->at[i] = address_of(space, frames[i]);
		out->guessed += (frames[i] & FRAME_HOW_MASK) != 0;
	}
	if (record)
		record_end(record, space, &deferred, &stack, out->end);
}
