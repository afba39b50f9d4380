/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_events.h - reports kernel code as it is loaded and unloaded: BPF programs and
 * trampolines, with their names. One perf event on each CPU, which never ticks. Source:
 * perf_event_open(2), PERF_RECORD_KSYMBOL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_event {
	uint64_t start;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t size;
	bool gone; /* unloaded; else loaded */
	const char *name;
};

struct code_events {
	struct code_ring *rings; /* by CPU */
	int cpus;
};

/* CPUs whose event cannot be opened report nothing. -ENOMEM */
int code_events_open(struct code_events *events);
void code_events_close(struct code_events *events);
/* Makes the epoll descriptor readable when many changes wait: none is lost if they are passed on.
 */
int code_events_watch(const struct code_events *events, int epoll_fd);
/* Passes on the changes since the last call, in order of time. 1: some were lost; 0; -ENOMEM; fn's
 * error. */
int code_events_poll(struct code_events *events,
	int (*fn)(void *ctx, const struct code_event *event), void *ctx);
