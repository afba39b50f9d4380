/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_events.h - what the kernel tells of its own code that comes and goes, while that
 * happens: BPF programs and trampolines, each with its name. One perf event a CPU, which never
 * ticks. Source: perf_event_open(2), PERF_RECORD_KSYMBOL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_event {
	uint64_t start;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t size;
	bool gone; /* else it came */
	const char *name;
};

struct code_events {
	struct code_ring *rings; /* by CPU */
	int cpus;
};

/* What cannot be had is left out: nothing is told then. -ENOMEM */
int code_events_open(struct code_events *events);
void code_events_close(struct code_events *events);
/* Tells what came since, in order of time. 1: some was lost; 0; -ENOMEM; fn's error. */
int code_events_poll(struct code_events *events,
	int (*fn)(void *ctx, const struct code_event *event), void *ctx);
