/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_heaps.c - a process that is not in the map is walked as one with any other runtime.
 * Its key has the time when it started, so nothing depends on when an entry is dropped. */
#include "sampler/code_heaps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sample.skel.h"
#include "sampler/sampler.h"

int code_heaps_put(const struct sampler *sampler, const struct hotspot_key *key,
	const struct hotspot *process)
{
	return bpf_map_update_elem(
		bpf_map__fd(sampler_skeleton(sampler)->maps.hotspots), key, process, BPF_ANY);
}

void code_heaps_drop(const struct sampler *sampler, const struct hotspot_key *key)
{
	(void)bpf_map_delete_elem(bpf_map__fd(sampler_skeleton(sampler)->maps.hotspots), key);
}

void code_heaps_forget(const struct sampler *sampler, uint32_t tgid)
{
	(void)bpf_map_delete_elem(bpf_map__fd(sampler_skeleton(sampler)->maps.jit_sent), &tgid);
}
