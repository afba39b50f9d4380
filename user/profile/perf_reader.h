/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_reader.h - reads the output of `perf script`, stoker's or perf's own, into a profile
 * with times:
 *     COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT:
 *     <blank>ADDRESS SYMBOL+0xOFFSET (MODULE)       leaf first
 *     <empty line>
 * PID or /TID, [CPU] and PERIOD may be missing, and the time, if no sample has it; a sample without
 * stack has one frame, in the line of EVENT:. The events that are asked for become kinds of value,
 * one each, because their samples have no common unit; else only the first event is read. Each is
 * one sample, whatever its period; a kind has a period if the event is a clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define PERF_FRAMES_MAX 4096 /* of one stack */
#define PERF_EVENTS_MAX 16

struct perf_event {
	struct bytes name; /* in the text; empty: samples without an event's name */
	uint64_t samples;
};

struct perf_counts {
	uint64_t samples; /* samples that were read */
	uint64_t lines;   /* not empty, and no comment */
	uint64_t bad;     /* skipped lines: neither the head of a sample nor a frame */
	uint64_t bad_at;  /* line number of the first, from 1 */
	struct perf_event events[PERF_EVENTS_MAX]; /* read or not, by first appearance */
	uint32_t events_len;
	uint64_t further; /* samples of events that events[] has no room for */
};

/* Does the text begin like output of perf script? */
bool perf_looks_like(struct bytes text);
/* Adds samples to out, which is empty. events: the name of one event, or several names separated by
 * commas, each a kind, by first appearance; NULL: the first event of the text. cpu is stoker's name
 * of cpu-clock. 0 or -ENOMEM. */
int perf_read(
	struct bytes text, const char *events, struct profile *out, struct perf_counts *counts);
