/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_events.h - reports kernel code as it is loaded and unloaded: BPF programs and
 * trampolines, with their names. One perf event on each CPU, which never ticks. Source:
 * perf_event_open(2), PERF_RECORD_KSYMBOL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clocks;

struct code_event {
	uint64_t start;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t size;
	bool gone; /* unloaded; else loaded */
	const char *name;
};

struct code_events {
	struct code_ring *rings; /* by CPU */
	int cpus, epoll_fd;      /* epoll_fd: -1: nobody waits */
	const struct clocks *clocks;
	uint64_t opened_sum; /* of the clocks, when rings were last compared with them */
};

/* For the CPUs of these clocks, which must outlive it. A CPU whose clock is opened anew gets a new
 * event, too, as the one from before its absence is dead. CPUs whose event cannot be opened report
 * nothing. -ENOMEM */
int code_events_open(struct code_events *events, const struct clocks *clocks);
void code_events_close(struct code_events *events);
/* Makes the epoll descriptor readable when many changes wait: none is lost if they are passed on.
 */
int code_events_watch(struct code_events *events, int epoll_fd);
/* Passes on the changes since the last call, in order of time. 1: some were lost, or may have been
 * as a CPU came; 0; -ENOMEM; fn's error. */
int code_events_poll(struct code_events *events,
	int (*fn)(void *ctx, const struct code_event *event), void *ctx);
