/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/object_ids.c - BPF sets the bit of an id that it gives; only here it is cleared. */
#include "sampler/object_ids.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "sample.skel.h"
#include "sampler/sampler.h"

void object_ids_of_visits(struct sampler *sampler, uint64_t *bits)
{
	*sampler_visit_ids(sampler) = bits;
}

void object_ids_give(struct sampler *sampler, uint32_t id)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	uint64_t *bits = (uint64_t *)skel->bss->object_ids;

	if (id >= OBJECT_VISIT_FIRST) {
		bits = *sampler_visit_ids(sampler);
		id -= OBJECT_VISIT_FIRST;
	}
	if (bits && id <= OBJECT_ID_MAX)
		__atomic_fetch_and(&bits[id / 64], ~(1ULL << id % 64), __ATOMIC_RELAXED);
}

void object_ids_refuse(struct sampler *sampler, uint64_t cgroup, uint32_t seconds)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	uint32_t last = sampler_second(sampler) + seconds - 1;

	/* Without memory it is sent again, and refused again. */
	(void)bpf_map_update_elem(
		bpf_map__fd(skel->maps.refused_cgroups), &cgroup, &last, BPF_ANY);
}
