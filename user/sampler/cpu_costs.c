/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/cpu_costs.c - the program's memory is mapped here: reading what ticks took costs no
 * system call. */
#include "sampler/cpu_costs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "sample.skel.h"
#include "sampler/sampler.h"

static uint64_t took_ns(const struct sample_bpf *skel, uint32_t cpu)
{
	return __atomic_load_n(&skel->bss->cpu_ticks[cpu].took_ns, __ATOMIC_RELAXED);
}

uint64_t cpu_costs_ns(const struct sampler *sampler)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < CPU_TICKS_MAX; cpu++)
		sum += took_ns(skel, cpu);
	return sum;
}

uint64_t cpu_costs_bytes(const struct sampler *sampler)
{
	const struct cpu_ticks *cpus = sampler_skeleton(sampler)->bss->cpu_ticks;
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < CPU_TICKS_MAX; cpu++)
		sum += __atomic_load_n(&cpus[cpu].bytes_out, __ATOMIC_RELAXED);
	return sum;
}

uint64_t cpu_costs_dearest_ns(const struct sampler *sampler, uint64_t *seen_ns)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	uint64_t most = 0;

	for (uint32_t cpu = 0; cpu < CPU_TICKS_MAX; cpu++) {
		uint64_t now = took_ns(skel, cpu);

		if (now - seen_ns[cpu] > most)
			most = now - seen_ns[cpu];
		seen_ns[cpu] = now;
	}
	return most;
}

uint64_t cpu_costs_walk_limit_ns(const struct sampler *sampler)
{
	return __atomic_load_n(&sampler_skeleton(sampler)->data->walk_limit_ns, __ATOMIC_RELAXED);
}

int cpu_costs_limit(const struct sampler *sampler, uint64_t cgroup, uint64_t walk_ns)
{
	int fd = bpf_map__fd(sampler_skeleton(sampler)->maps.tick_limits);

	return bpf_map_update_elem(fd, &cgroup, &walk_ns, BPF_ANY);
}

void cpu_costs_unlimit(const struct sampler *sampler, uint64_t cgroup)
{
	bpf_map_delete_elem(bpf_map__fd(sampler_skeleton(sampler)->maps.tick_limits), &cgroup);
}

void cpu_costs_limits_len(const struct sampler *sampler, uint32_t len)
{
	__atomic_store_n(&sampler_skeleton(sampler)->bss->tick_limits_len, len, __ATOMIC_RELAXED);
}
