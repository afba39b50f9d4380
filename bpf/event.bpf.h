/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/event.bpf.h - sends events through the ring buffer. An event that cannot be sent is counted
 * by its kind. The counters are global, because a tick may interrupt the tracepoints and the scan.
 * Only a failure costs an atomic addition. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/share.bpf.h"

__u64 events_lost[EVENT_KINDS_MAX] = {};
__u64 targets_lost[TARGET_LOSSES_LEN] = {};

/* The result is not used: Linux 5.10 has no atomic operation that returns one. */
static __always_inline void event_lost(u32 kind)
{
	__sync_fetch_and_add(&events_lost[kind & (EVENT_KINDS_MAX - 1)], 1);
}

/* The first field of an event is its kind. User space is woken if the ring fills up. 0; -1: the
 * ring buffer, or its account's share, is full, and the loss is counted. */
static __always_inline int event_send(void *event, u64 size, u64 flags)
{
	u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);

	if (used > ring_bytes / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	if (share_allows(SHARE_EVENTS, size, used, ring_bytes) &&
		bpf_ringbuf_output(&events, event, size, flags) == 0)
		return 0;
	event_lost(*(u32 *)event);
	return -1;
}

/* Wakes user space to look at a flag in memory. */
static __always_inline void event_wake(void)
{
	void *room = bpf_ringbuf_reserve(&events, 8, 0);

	if (room)
		bpf_ringbuf_discard(room, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void event_sent(u64 size)
{
	cpu_ticks[bpf_get_smp_processor_id() & (CPU_TICKS_MAX - 1)].bytes_out += size;
}

static __always_inline int emit(void *event, u64 size, u64 flags)
{
	if (event_send(event, size, flags))
		return -1;
	event_sent(size);
	return 0;
}
