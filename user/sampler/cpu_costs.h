/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/cpu_costs.h - the time that ticks took on each CPU, and its limits for single cgroups. */
#pragma once

#include <stdint.h>

#define CPU_COSTS_CGROUPS_MAX 2048 /* cgroups with a limit of their own */

struct sampler;

/* Of all CPUs, since the start. */
uint64_t cpu_costs_ns(const struct sampler *sampler);
/* Sent by ticks and scans, since the start. */
uint64_t cpu_costs_bytes(const struct sampler *sampler);
/* The most that one CPU took since seen_ns[CPU_TICKS_MAX] was read, which is read again. */
uint64_t cpu_costs_dearest_ns(const struct sampler *sampler, uint64_t *seen_ns);
/* Time from a tick's start after which its walk ends, unless its cgroup has another limit. */
uint64_t cpu_costs_walk_limit_ns(const struct sampler *sampler);
/* 0 or -errno: -E2BIG without room. */
int cpu_costs_limit(const struct sampler *sampler, uint64_t cgroup, uint64_t walk_ns);
void cpu_costs_unlimit(const struct sampler *sampler, uint64_t cgroup);
/* The number of limits; 0: ticks do not look for one. */
void cpu_costs_limits_len(const struct sampler *sampler, uint32_t len);
