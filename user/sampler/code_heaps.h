/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_heaps.h - says to BPF how HotSpot's code in a process is walked. */
#pragma once

#include <stdint.h>

#include "bpf/abi.h"

struct sampler;

/* 0 or -errno of the map. */
int code_heaps_put(const struct sampler *sampler, const struct hotspot_key *key,
	const struct hotspot *process);
/* BPF reports the process again when it runs code without a file. */
void code_heaps_forget(const struct sampler *sampler, uint32_t tgid);
void code_heaps_drop(const struct sampler *sampler, const struct hotspot_key *key);
