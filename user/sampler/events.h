/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/events.h - passes an event of the ring buffer to the tally, or to its callback if the
 * agent has more to do with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "sampler/tally.h"

/* Pointers are valid during the call. A negative return: the event was not kept; -ENOMEM and
 * -ENOSPC are counted by its kind, except for kinds that a lost tick accounts for, and pages, which
 * publish counts. */
struct sampler_events {
	int (*object)(void *ctx, const struct event_object *event);
	int (*task)(void *ctx, const struct event_task *event);
	int (*stack)(void *ctx, const struct event_stack *event, const uint64_t *frames);
	int (*jit)(void *ctx, const struct event_jit *event);
	int (*exec)(void *ctx, const struct event_exec *event);
	int (*page)(void *ctx, const struct event_page *event);
	int (*deferred)(void *ctx, const struct event_deferred *event);
	/* The path ends with a NUL. Change CGROUP_LOST: BPF lost some events; all that it did send
	 * came before this one. */
	int (*cgroup)(void *ctx, const struct event_cgroup *event);
};

struct events {
	struct sampler_events callbacks;
	void *ctx;
	struct tally *tally;               /* gets leaves and ticks */
	bool pressed;                      /* a count map is half full */
	uint64_t unknown_tasks;            /* tasks so far of places that BPF did not know */
	uint64_t lost[LOST_REASONS_LEN];   /* ticks that the tally did not take */
	uint64_t dropped[EVENT_KINDS_MAX]; /* refused by callbacks without room */
	uint64_t cgroups_lost;             /* as reported to the callback */
};

/* Handles one event of the ring, of any size. Always 0, so that the next one comes. ctx: a struct
 * events. */
int events_take(void *ctx, void *data, size_t size);
/* Call it when the ring is empty: BPF has lost this many cgroup events before. */
void events_note_cgroups_lost(struct events *events, uint64_t lost);
