/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/walk.c - bpf/frame.bpf.h compiled for the host, and the functions that it needs.
 * The stack is the copy in the deferred sample, and other memory if the caller has a source: the
 * process may have gone on or ended. Every walk is bounded by the limit of frames, the limit of
 * searched words, and WALK_READS_MAX, whatever is on the process's stack. */
#include "unwind/walk.h"

#include <string.h>

#include "bpf/unwind.bpf.h"
#include "unwind/publish.h"

/* The members that bpf/frame.bpf.h names, and where they come from. */
struct scratch {
	struct unwind_regs regs;
	struct unwind_window window;
	u64 searched;
	struct unwind_place stepped;
	struct unwind_way way;
	struct unwind_way taken;
	u32 landing;
	u64 how, code;
	u64 user_below_leaf;
	u64 root[STACK_ROOT_FRAMES];
	u64 left_how;
	u32 walked, late, unruled;
	u64 anchor; /* 1: frames of a language are missing */
	u32 end;
	struct {
		u64 start, file_offset;
		u32 object, kind, table;
	} at;
	struct {
		struct {
			u32 frames_len, anon;
		} head;
		u64 *frames;
	} user;
	const struct walk_world *world;
	const struct event_deferred *deferred;
	const struct scan_mapping *mappings;
	size_t mappings_len;
	unsigned int reads;
	struct unwind_rule rule;
	u64 sought;
};

static struct scratch *scratch_of(u64 walk)
{
	return (struct scratch *)(uintptr_t)walk;
}

static u64 walk_of(const struct scratch *s)
{
	return (u64)(uintptr_t)s;
}

/* BPF did so in its copy of the stack. */
static void walk_unprobe(struct scratch *s)
{
	(void)s;
}

/* Bounded by reads and frames instead. */
static bool walk_late(const struct scratch *s)
{
	(void)s;
	return false;
}

static u64 start_stack_of(const struct scratch *s)
{
	return s->deferred->start_stack;
}

#ifndef ARCH_DWARF_LR
static u64 thread_base_of(const struct scratch *s)
{
	return s->world->thread_base;
}
#endif

static const struct scan_mapping *find_mapping(const struct scratch *s, uint64_t pc)
{
	size_t from = 0, to = s->mappings_len;

	if (pc >= s->deferred->at.start && pc < s->deferred->at.end)
		return &s->deferred->at;
	while (from < to) {
		size_t middle = (from + to) / 2;

		if (pc < s->mappings[middle].start)
			to = middle;
		else if (pc >= s->mappings[middle].end)
			from = middle + 1;
		else
			return &s->mappings[middle];
	}
	return NULL;
}

/* Are all bytes at addr in a piece of the copy? */
static bool piece_has(u64 start, u32 bytes, u64 addr, u32 size)
{
	return addr >= start && addr - start <= bytes && size <= bytes - (addr - start);
}

static int walk_read(u64 walk, void *dst, u32 size, u64 addr)
{
	struct scratch *s = scratch_of(walk);
	const struct event_deferred *deferred = s->deferred;
	const struct scan_mapping *m;

	if (piece_has(deferred->sp, deferred->stack_bytes, addr, size)) {
		memcpy(dst, deferred_stack(deferred) + (addr - deferred->sp), size);
		return 0;
	}
	if (piece_has(deferred->root_at, deferred->root_bytes, addr, size)) {
		memcpy(dst, deferred_root(deferred) + (addr - deferred->root_at), size);
		return 0;
	}
	if (s->reads >= WALK_READS_MAX)
		return -1;
	s->reads++;
	m = find_mapping(s, addr);
	if (m && size > m->end - addr)
		return -1;
	return s->world->read(s->world->memory, m, addr, dst, size);
}

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	return walk_read(walk_of(memory), dst, size, addr);
}

static u32 mapping_find(struct scratch *s, u64 pc)
{
	const struct scan_mapping *m = find_mapping(s, pc);

	if (!m)
		return END_NO_MAPPING;
	s->at.start = m->start;
	s->at.file_offset = m->file_offset;
	s->at.object = m->object;
	s->at.kind = m->object ? FRAME_FILE : FRAME_ANON;
	s->at.table = m->object ? s->world->table(s->world->tables, m->object) : TABLE_NONE;
	return END_NONE;
}

static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	*rule = &s->rule;
	s->sought = offset;
	return s->world->rule(s->world->tables, s->at.object, offset, &s->rule);
}

/* BPF has read the frames of languages, or nobody has. */
#define walk_language(s) ((void)(s))

static __always_inline void walk_generated(struct scratch *s, u64 pc)
{
	(void)s;
	(void)pc;
}

static __always_inline u32 walk_generated_step(struct scratch *s)
{
	(void)s;
	return END_UNSUPPORTED;
}

#include "bpf/frame.bpf.h"

static uint32_t published_table(void *tables, uint32_t object)
{
	return publish_table(tables, object);
}

/* By the search that BPF does. */
static uint32_t published_rule(
	void *tables, uint32_t object, uint64_t offset, struct unwind_rule *rule)
{
	struct bytes data;
	struct shim_rows rows;
	uint32_t end = publish_find_page(tables, object, offset, &data);

	if (end)
		return end;
	rows = (struct shim_rows){ data.data, (u32)data.len };
	*rule = *publish_rule(tables, data.data ? unwind_search(&rows, offset) : 0);
	return END_NONE;
}

void walk_published(struct publish *publish, struct walk_world *out)
{
	out->tables = publish;
	out->table = published_table;
	out->rule = published_rule;
}

void walk_copy_frames(const struct event_deferred *deferred, struct walk_stack *out)
{
	out->anon = deferred->anon;
	out->frames_len =
		deferred->frames_len < STACK_LEAF_FRAMES ? deferred->frames_len : STACK_LEAF_FRAMES;
	memcpy(out->frames, deferred->data, out->frames_len * sizeof(*out->frames));
}

/* The frame where BPF stopped. */
static u64 last_frame(const struct event_deferred *deferred)
{
	u32 at = deferred->frames_len - 1U;

	return deferred_frames(deferred)[at < STACK_LEAF_FRAMES
			? at
			: STACK_LEAF_FRAMES + at % STACK_ROOT_FRAMES];
}

uint32_t walk_deferred(const struct walk_world *world, const struct event_deferred *deferred,
	const struct scan_mapping *mappings, size_t mappings_len, struct walk_stack *out)
{
	struct scratch s = {
		.regs = { .pc = deferred->pc,
			.sp = deferred->sp,
			.fp = deferred->fp,
			.exact = deferred->exact },
		.world = world,
		.deferred = deferred,
		.mappings = mappings,
		.mappings_len = mappings_len,
		.user.frames = (u64 *)out->frames,
		.left_how = (u64)deferred->left_how << FRAME_HOW_SHIFT,
	};

	_Static_assert(sizeof(s.regs.gpr) == sizeof(deferred->gpr), "the same registers");
	memcpy(s.regs.gpr, deferred->gpr, sizeof(s.regs.gpr));
	s.window.memory = &s;
	/* The frame where BPF stopped is the last of those it walked: it is walked again. */
	walk_copy_frames(deferred, out);
	if (deferred->frames_len > STACK_LEAF_FRAMES)
		memcpy(s.root, deferred_frames(deferred) + STACK_LEAF_FRAMES, sizeof(s.root));
	s.user.head.frames_len = deferred->frames_len > 0 ? deferred->frames_len - 1U : 0;
	if (deferred->frames_len > 0)
		s.how = last_frame(deferred) & FRAME_HOW_MASK;
	s.anchor = deferred->language;
	s.user.head.anon = deferred->anon;
	walk_frames(&s);
	out->frames_len = s.user.head.frames_len;
	out->anon = s.user.head.anon;
	out->object = s.at.object;
	out->offset = s.sought;
	return s.end;
}
