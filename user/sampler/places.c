/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/places.c - fills the map of known places. A place carries the epoch in which it was put
 * there; to forget all of them begins another epoch. A place that is missing costs a wake-up. */
#include "sampler/places.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sample.skel.h"
#include "sampler/sampler.h"

void places_know(struct sampler *sampler, const struct event_task *event)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	const struct task_place place = { event->key.cgroup, event->view };
	uint32_t epoch = __atomic_load_n(&skel->bss->places_epoch, __ATOMIC_RELAXED);

	if (event->known)
		return;
	(void)bpf_map_update_elem(
		bpf_map__fd(skel->maps.known_places), &place, &epoch, BPF_ANY);
}

void places_forget(struct sampler *sampler)
{
	__atomic_add_fetch(
		&sampler_skeleton(sampler)->bss->places_epoch, 1, __ATOMIC_RELAXED);
}

void places_add_account(const struct sampler *sampler, uint64_t cgroup)
{
	const uint64_t holds[SHARES_LEN] = { 0 };

	(void)bpf_map_update_elem(bpf_map__fd(sampler_skeleton(sampler)->maps.accounts), &cgroup,
		holds, BPF_NOEXIST);
}

void places_remove_account(const struct sampler *sampler, uint64_t cgroup)
{
	(void)bpf_map_delete_elem(
		bpf_map__fd(sampler_skeleton(sampler)->maps.accounts), &cgroup);
}
