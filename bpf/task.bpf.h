/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/task.bpf.h - sends the task of a sample, and that a process has code without a file, once
 * each. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/known.bpf.h"
#include "bpf/object_id.bpf.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/view.bpf.h"

__u64 task_woken_ns = 0; /* when an EVENT_TASK woke user space last, or it read an unknown one */

static __always_inline bool place_known(struct scratch *s)
{
	u32 *known;

	s->place.cgroup = s->task_event.key.cgroup;
	s->place.view = s->task_event.view;
	known = bpf_map_lookup_elem(&known_places, &s->place);
	return known && *known == places_epoch;
}

/* The process may end, and its cgroup and root go, before user space looks: a new task wakes it if
 * it does not know them. Many new tasks do not: user space looks again TASK_WAKEUP_NS later. */
static __always_inline u64 task_wakeup(const struct scratch *s)
{
	if (s->task_event.known || s->tick_ns - task_woken_ns < TASK_WAKEUP_NS)
		return BPF_RB_NO_WAKEUP;
	task_woken_ns = s->tick_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* May the account have so many bytes more of the memory for stacks and tasks? */
static __always_inline bool tally_allows(struct scratch *s, u64 bytes)
{
	s->unsent = LOST_MEMORY;
	if (!share_allows(SHARE_TALLY, bytes, tally_bytes, TALLY_BYTES_MAX))
		return false;
	s->unsent = LOST_RING_FULL;
	__sync_fetch_and_add(&tally_bytes, bytes);
	return true;
}

/* The id of s->task; 0: it could not be sent. A task of an earlier epoch keeps its id. */
static __always_inline u32 task_id(struct scratch *s)
{
	struct event_task *event = &s->task_event;
	u64 hash = task_hash(&s->task), word;
	struct known_tasks *set = known_tasks_of(hash);
	struct known_task *slot;

	if (!set)
		return 0;
	slot = task_known(set, hash, &word);
	if (slot && word >> 32 == epoch)
		return (u32)word;
	event->kind = EVENT_TASK;
	event->id = (u32)word;
	event->key = s->task;
	view_of_task(&event->view, walk_task());
	event->known = place_known(s);
	if (!slot) {
		slot = &set->ways[s->tick_ns >> KNOWN_ANY_SHIFT & (KNOWN_WAYS - 1)];
		event->id = id_next(&s->task_counter, id_stride, walk_number());
	}
	if (!tally_allows(s, TALLY_TASK_BYTES) || emit(event, sizeof(*event), task_wakeup(s)))
		return 0;
	word = (u64)epoch << 32 | event->id;
	slot_write(hash, &slot->tag, &slot->word, &word, TASK_WORDS);
	return event->id;
}

/* Once for each program: exec keeps the start of a process, and makes a new stack, which begins at
 * start_stack. */
static __always_inline void emit_jit(u32 tgid, u64 start_ns, u64 start_stack)
{
	struct event_jit event = { .kind = EVENT_JIT, .tgid = tgid, .start_ns = start_ns };
	u64 *sent = bpf_map_lookup_elem(&jit_sent, &tgid), program = mix(start_ns, start_stack);

	if (sent && *sent == program)
		return;
	if (emit(&event, sizeof(event), BPF_RB_FORCE_WAKEUP) == 0)
		bpf_map_update_elem(&jit_sent, &tgid, &program, BPF_ANY);
}
