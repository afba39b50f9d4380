/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/mapping.bpf.h - address → mapping → object. The first tick or scan that meets a file gives it
 * an object id and sends one event to user space. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/object_id.bpf.h"
#include "bpf/process_slots.bpf.h"
#include "bpf/slot.bpf.h"
#include "bpf/vma.bpf.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/unwind_maps.bpf.h"

/* NULL: it is not open. No lock is taken: of another task it may be another file by now. */
static __always_inline struct file *file_of_fd(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

/* The inode's address is no other's while a process maps the file or user space has it open. The
 * numbers are not enough: a snapshot of a subvolume has them all again, and its owner may write
 * into its files; a user's file system chooses them, and its device's number comes again. */
static __always_inline void object_read_key(struct object_key *key, struct inode *inode)
{
	struct super_block *super = BPF_CORE_READ(inode, i_sb);
	u64 place = mix(stacks_secret, (u64)inode);

	place = mix(place, (u64)BPF_CORE_READ(super, s_user_ns));
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(super, s_dev);
	key->place = mix(place, BPF_CORE_READ(inode, i_generation)) >> 32;
	key->mtime_ns = vma_mtime_ns(inode);
}

/* Fills the event except for process and id. */
static __always_inline void object_describe(struct event_object *event, struct vm_area_struct *vma)
{
	const unsigned char *name = BPF_CORE_READ(vma, vm_file, f_path.dentry, d_name.name);

	event->kind = EVENT_OBJECT;
	event->vm_start = BPF_CORE_READ(vma, vm_start);
	event->vm_end = BPF_CORE_READ(vma, vm_end);
	event->file_offset = BPF_CORE_READ(vma, vm_pgoff) << page_shift;
	event->magic = (u32)BPF_CORE_READ(vma, vm_file, f_inode, i_sb, s_magic);
	if (bpf_probe_read_kernel_str(event->name, sizeof(event->name), name) < 0)
		event->name[0] = '\0';
}

static __always_inline bool object_refused(u64 cgroup)
{
	u32 *at = bpf_map_lookup_elem(&refused_cgroups, &cgroup);

	return at && *at >= second;
}

enum mapping_asker { ASKER_TICK, ASKER_SCAN };

/* An id for a new file. Not static, so that the verifier does not go on from each of the tries. */
__noinline u32 object_id_for(u32 asker)
{
	const struct object_id_range walks = WALK_OBJECT_IDS;
	const struct object_id_range scans = { OBJECT_SCAN_FIRST, 1, 0,
		OBJECT_VISIT_FIRST - OBJECT_SCAN_FIRST };
	struct scratch *s = scratch_of(0);

	if (asker == ASKER_SCAN)
		return object_id_next(&scan_counter, &scans);
	return s ? object_id_next(&s->object_counter, &walks) : OBJECT_NONE;
}

/* The file's object. A new file gets an id and an event if the asker's share of the table has room.
 * NULL: it has none, the cgroup is refused, all ids that were tried are in use, or the event could
 * not be sent; the next meeting tries again. */
static __always_inline struct object_value *object_of(struct event_object *event,
	struct vm_area_struct *vma, struct inode *inode, u32 asker)
{
	u32 most = asker == ASKER_SCAN ? objects_scan_max : OBJECTS_ANY;
	struct object_value fresh = {}, *known;

	object_read_key(&event->key, inode);
	known = bpf_map_lookup_elem(&objects, &event->key);
	if (known || objects_len >= most || object_refused(event->cgroup))
		return known;
	event->id = fresh.id = object_id_for(asker);
	if (fresh.id == OBJECT_NONE) {
		event_lost(EVENT_OBJECT);
		return NULL;
	}
	if (bpf_map_update_elem(&objects, &event->key, &fresh, BPF_NOEXIST) == 0) {
		object_describe(event, vma);
		if (emit(event, sizeof(*event), BPF_RB_FORCE_WAKEUP)) {
			bpf_map_delete_elem(&objects, &event->key);
			object_id_give(fresh.id);
			return NULL;
		}
		__sync_fetch_and_add(&objects_len, 1);
	} else {
		object_id_give(fresh.id);
	}
	return bpf_map_lookup_elem(&objects, &event->key);
}

static __always_inline void mapping_set_object(struct mapping *m, struct object_value *object)
{
	if (object && object->used != second)
		object->used = second;
	m->kind = FRAME_FILE;
	m->object = object ? object->id : 0;
	m->table = object ? object->table : TABLE_NONE;
	m->language = object ? object->language : 0;
	m->page_base = object ? object->page_base : 0;
	m->page_first = object ? object->page_first : 0;
	m->pages_len = object ? object->pages_len : 0;
}

/* ---- text that moved ------------------------------------------------------------------------
 * A program may copy its text into anonymous memory and put that in the place of the file's
 * mapping, for huge pages: Node's --use-largepages, iodlr, databases. Such memory belongs to the
 * file if the mappings on both sides are of this one file, and it fills to the byte what lies in
 * the file between them. A JIT's memory beside a library does not. */

static __always_inline struct vma_scratch *vma_scratch_of(u32 asker)
{
	u32 zero = 0;
	struct scan_scratch *scan = bpf_map_lookup_elem(&scan_scratches, &zero);
	struct scratch *s = scratch_of(0);

	if (!s || !scan)
		return NULL;
	return asker == ASKER_SCAN ? &scan->vma : &s->vma;
}

/* The file of a mapping; NULL for memory that only the kernel has a file for. */
static __always_inline struct inode *mapping_inode(struct vm_area_struct *vma)
{
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);

	return inode && !vma_is_shared_memory(inode, BPF_CORE_READ(vma, vm_flags)) ? inode : NULL;
}

struct mm_struct___entry {
	unsigned long start_stack, start_code;
} __attribute__((preserve_access_index));

/* The file that the program of this new image was mapped from; NULL: not found. On overlayfs bprm
 * has another inode than the mappings. A tick may spoil the search, as they share the scratch, but
 * the mapping's bounds show it. */
static __always_inline struct inode *mapping_program(struct mm_struct *mm)
{
	u64 start = BPF_CORE_READ((struct mm_struct___entry *)mm, start_code);
	struct vm_area_struct *vma = vma_find(mm, start, ASKER_TICK);

	if (!vma || start < BPF_CORE_READ(vma, vm_start) || start >= BPF_CORE_READ(vma, vm_end))
		return NULL;
	return mapping_inode(vma);
}

/* The mapping before start..end if the memory there is text of its file that moved, else NULL. */
static __always_inline struct vm_area_struct *mapping_moved_from(
	struct mm_struct *mm, u64 start, u64 end, u32 asker, u64 *file_offset)
{
	struct vm_area_struct *before = vma_find(mm, start - 1, asker), *after;
	struct inode *inode;
	u64 offset;

	if (!before || BPF_CORE_READ(before, vm_end) != start)
		return NULL;
	inode = mapping_inode(before);
	if (!inode)
		return NULL;
	after = vma_find(mm, end, asker);
	if (!after || BPF_CORE_READ(after, vm_start) != end || mapping_inode(after) != inode)
		return NULL;
	offset = (BPF_CORE_READ(before, vm_pgoff) << page_shift) + start -
		BPF_CORE_READ(before, vm_start);
	if (BPF_CORE_READ(after, vm_pgoff) << page_shift != offset + end - start)
		return NULL;
	*file_offset = offset;
	return before;
}

/* Reads the mapping of pc into s->fresh, and into s->owner if it is of a file. END_NONE or the
 * reason. Not static, like the next two: for 6.1 their variables are too many for one stack. */
__noinline u32 mapping_read(u64 pc)
{
	struct scratch *s = scratch_of(pc);
	struct vm_area_struct *vma;
	struct mm_struct *mm;
	struct mapping *m;
	unsigned long flags;

	if (!s)
		return END_NO_MAPPING;
	m = &s->fresh;
	mm = s->mm;
	s->owner = NULL;
	vma = vma_find(mm, pc, ASKER_TICK);
	if (!vma)
		return END_NO_MAPPING;
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	flags = BPF_CORE_READ(vma, vm_flags);
	if (pc < m->start || pc >= m->end)
		return END_VMA_READ;
	if (!(flags & VM_EXEC))
		return END_NOT_CODE;
	m->file_offset = BPF_CORE_READ(vma, vm_pgoff) << page_shift;
	m->kind = FRAME_ANON;
	m->object = m->language = 0;
	m->table = TABLE_NONE;
	s->inode = mapping_inode(vma);
	if (s->inode)
		s->owner = vma;
	return END_NONE;
}

/* s->fresh has no file: is it text that moved, or the vDSO? */
__noinline int mapping_without_file(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct mm_struct *mm;
	struct mapping *m;

	if (!s)
		return 0;
	mm = s->mm;
	m = &s->fresh;
	s->owner = mapping_moved_from(mm, m->start, m->end, ASKER_TICK, &m->file_offset);
	if (s->owner)
		s->inode = mapping_inode(s->owner);
	if (s->owner || m->start != (u64)BPF_CORE_READ(mm, context.vdso))
		return 0;
	__builtin_memset(&s->object_event.key, 0, sizeof(s->object_event.key));
	mapping_set_object(m, bpf_map_lookup_elem(&objects, &s->object_event.key));
	m->file_offset = 0;
	return 0;
}

/* Gives s->fresh the object of s->owner's file. */
__noinline int mapping_own(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	if (!s || !s->inode)
		return 0;
	s->object_event.tgid = s->task.tgid;
	s->object_event.start_ns = s->task.start_ns;
	s->object_event.cgroup = s->task.cgroup;
	mapping_set_object(&s->fresh,
		object_of(&s->object_event, s->owner, s->inode, ASKER_TICK));
	return 0;
}

/* ---- mappings that were met, in slots -------------------------------------------------------- */

#define MAPPING_PLACE_SHIFT 16
#define MAPPING_SECONDS 4 /* then it is read again, so that its file is known to be in use */

static __always_inline bool mapping_covers(const struct mapping *m, u64 pc)
{
	return pc >= m->start && pc < m->end;
}

/* Copies the mapping of pc from the slot of this hash into s->at. */
static __always_inline bool mapping_recall(struct scratch *s, u64 hash, u64 pc)
{
	struct mapping_slot *slot = mapping_slot_of(s, hash);

	return slot && second - slot->second < MAPPING_SECONDS &&
		slot_read(hash, &slot->tag, slot->words, (u64 *)&s->at, MAPPING_WORDS) &&
		mapping_covers(&s->at, pc);
}

static __always_inline void mapping_remember(struct scratch *s, u64 hash)
{
	struct mapping_slot *slot = mapping_slot_of(s, hash);

	if (!slot)
		return;
	slot_write(hash, &slot->tag, slot->words, (u64 *)&s->at, MAPPING_WORDS);
	slot->second = second;
}

/* Sets s->at to the mapping of pc, met before or new. Not static, so that the verifier checks it
 * once and the caller does not pay for its stack. */
__noinline u32 mapping_change(u64 pc)
{
	struct scratch *s = scratch_of(pc);
	u64 hash;
	u32 end;

	if (!s)
		return END_NO_MAPPING;
	hash = mix(s->mappings_hash, pc >> MAPPING_PLACE_SHIFT);
	if (mapping_recall(s, hash, pc))
		return END_NONE;
	s->at.end = 0;
	end = mapping_read(pc);
	if (end)
		return end;
	if (!s->owner)
		mapping_without_file(0);
	if (s->owner)
		mapping_own(0);
	s->at = s->fresh;
	/* There was no room for its file, but there may be at the next meeting. */
	if (s->at.kind != FRAME_FILE || s->at.object)
		mapping_remember(s, hash);
	return END_NONE;
}

static __always_inline u32 mapping_find(const struct scratch *s, u64 pc)
{
	return mapping_covers(&s->at, pc) ? END_NONE : mapping_change(pc);
}

static __always_inline u64 start_stack_in(struct mm_struct *memory)
{
	struct mm_struct___entry *mm = (void *)memory;

	return BPF_CORE_READ(mm, start_stack);
}

static __always_inline u64 start_stack_of(const struct scratch *s)
{
	return start_stack_in(s->mm);
}

/* Address of the thread's own data. 0: unknown. On arm64 it is as of the last switch of tasks: a
 * program may change it without the kernel. */
static __always_inline u64 thread_base_of(const struct scratch *s)
{
	struct task_struct___thread *task = (void *)walk_task();

#ifdef __TARGET_ARCH_x86
	return BPF_CORE_READ(task, thread.fsbase);
#else
	if (bpf_core_field_exists(task->thread.uw.tp_value))
		return BPF_CORE_READ(task, thread.uw.tp_value);
	return 0;
#endif
}

/* The content of slots is of this process image and this number of changes to its mappings. If the
 * kernel numbers none, or one is in progress, it is of this tick alone. mm must come straight from
 * the task. */
static __always_inline void mappings_begin(
	struct scratch *s, struct task_struct *task, struct mm_struct *mm)
{
	/* As a number: the verifier refuses to calculate with a pointer. */
	u64 process = *(volatile u64 *)&s->mm, generation = vma_generation(mm), hash;

	hash = mix(mix(stacks_secret, process), s->task.start_ns);
	s->process = hash >> 32;
	hash = mix(hash, (u64)(u32)TASK_READ(task, self_exec_id) << 32 | tables_epoch);
	s->mappings_hash = mix(hash, generation ? generation : ~s->tick_ns);
	s->at.end = 0;
}
